//! The data: text that is searched by bisection and never held in any other form. After a head, one JSON object a line,
//! sorted by the bytes of its `id`, which is its first member.

use crate::{Entry, Place, Problems, entry::Line};
use serde::Deserialize;
use std::sync::Arc;

/// The version of the format.
const VERSION: u64 = 1;

/// The beginning of each line.
const OPENING: &str = "{\"id\":\"";

/// The first line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    catalog: u64,
    models: Option<usize>,
    source: Option<String>,
    #[serde(rename = "licence")]
    _licence: Option<String>,
}

/// Lines of models.
#[derive(Debug, Clone)]
pub(crate) enum Lines {
    Embedded(&'static str),
    File(Arc<str>),
}

impl Lines {
    /// The lines of a file, if all of them are right.
    pub(crate) fn checked(text: Arc<str>, problems: &mut Problems) -> Self {
        check(&text, problems);
        Self::File(text)
    }

    fn text(&self) -> &str {
        match self {
            Self::Embedded(text) => text,
            Self::File(text) => text,
        }
    }

    /// What the head says of where the data is from.
    pub(crate) fn source(&self) -> Option<String> {
        let head = self.text().lines().next()?;
        serde_json::from_str::<Head>(head).ok()?.source
    }

    /// The entry of a model.
    pub(crate) fn find(&self, id: &str) -> Option<Entry> {
        let line = self.from(id).next()?;
        if id_of(line)? != id {
            return None;
        }
        serde_json::from_str::<Line<'_>>(line).ok().map(Entry::from)
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.from(id).next().and_then(id_of) == Some(id)
    }

    /// The first id that is not below some text.
    pub(crate) fn first_from(&self, text: &str) -> Option<&str> {
        self.from(text).next().and_then(id_of)
    }

    /// The ids that begin so, in order.
    pub(crate) fn ids_under(&self, prefix: String) -> impl Iterator<Item = &str> {
        self.from(&prefix).map_while(id_of).take_while(move |id| id.starts_with(&prefix))
    }

    /// The lines whose id is not below some text.
    fn from(&self, id: &str) -> std::str::Lines<'_> {
        let text = self.text();
        let bytes = text.as_bytes();
        // Both always are beginnings of lines. The head stays below.
        let mut low = bytes.iter().position(|b| *b == b'\n').map_or(bytes.len(), |end| end + 1);
        let mut high = bytes.len();
        while low < high {
            let middle = low + (high - low) / 2;
            let before = bytes.get(low..middle).unwrap_or_default();
            let start = before.iter().rposition(|b| *b == b'\n').map_or(low, |end| low + end + 1);
            let rest = bytes.get(middle..high).unwrap_or_default();
            let next = rest.iter().position(|b| *b == b'\n').map_or(high, |end| middle + end + 1);
            let line = text.get(start..next).unwrap_or_default();
            if id_of(line).is_some_and(|found| found < id) {
                low = next;
            } else {
                high = start;
            }
        }
        text.get(low..).unwrap_or_default().lines()
    }
}

/// The id of a line, without reading the rest.
fn id_of(line: &str) -> Option<&str> {
    line.strip_prefix(OPENING)?.split('"').next()
}

/// Whether a text is `provider/model` and can stand in a line as it is.
pub(crate) fn is_id(id: &str) -> bool {
    let clean = |c: char| !c.is_control() && !c.is_whitespace() && c != '"' && c != '\\';
    id.split_once('/').is_some_and(|(provider, name)| !provider.is_empty() && !name.is_empty())
        && id.chars().all(clean)
}

fn check(text: &str, problems: &mut Problems) {
    let mut lines = text.lines().enumerate().map(|(index, line)| (Place::Line(index + 1), line));
    let head = lines.next().map_or("", |(_, line)| line);
    let (head, first) = (serde_json::from_str::<Head>(head), Place::Line(1));
    match &head {
        Ok(head) if head.catalog != VERSION => {
            let message = format!("is {}; this version reads {VERSION}", head.catalog);
            problems.add(&first, "catalog", message);
        }
        Ok(_) => {}
        Err(error) => {
            let reason = without_line(error);
            problems.add(&first, "", format!("must be a head such as {{\"catalog\":{VERSION}}}: {reason}"));
        }
    }
    let (mut before, mut count) = ("", 0);
    for (place, line) in lines {
        count += 1;
        let id = check_line(&place, line, problems).unwrap_or(before);
        if id < before {
            problems.add(
                &place,
                "id",
                format!("`{id}` must stand above `{before}`: lines are sorted by bytes"),
            );
        } else if count > 1 && id == before && id_of(line) == Some(id) {
            problems.add(&place, "id", format!("`{id}` is there twice"));
        }
        before = id;
    }
    if let Ok(Head { models: Some(models), .. }) = head
        && models != count
    {
        problems.add(&first, "models", format!("says {models}, but {count} follow; is the file whole?"));
    }
}

/// The id of a line, if it has one.
fn check_line<'l>(place: &Place, line: &'l str, problems: &mut Problems) -> Option<&'l str> {
    let Some(id) = id_of(line) else {
        problems.add(place, "", format!("must begin with {OPENING}"));
        return None;
    };
    let mut json = serde_json::Deserializer::from_str(line);
    let read: Result<Line<'_>, _> = serde_path_to_error::deserialize(&mut json);
    match read {
        Ok(read) => {
            if read.id != id || !is_id(id) {
                problems.add(place, "id", "must be `provider/model`, without escapes, spaces and quotes");
            }
            if let Err(error) = json.end() {
                problems.add(place, "", without_line(&error));
            }
            for (member, message) in Entry::from(read).wrong() {
                problems.add(place, member, message);
            }
        }
        Err(error) => {
            let path = error.path().to_string();
            // A dot is the whole, a question mark what was not read any more.
            let member = path.trim_end_matches(['.', '?']);
            problems.add(place, member, without_line(error.inner()));
        }
    }
    Some(id)
}

/// The message of an error; only its column, as each line is a text of its own.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (message, _) = text.rsplit_once(" at line 1 column ").unwrap_or((&text, ""));
    format!("{message} (column {})", error.column())
}
