//! The held beginning of a form: its fields, and the edits that a target needs.

use super::{Part, Scanner, flat::flatten};
use crate::{Pieces, Refusal, RefusalKind, Target, ir::Json, json::Raw};
use bytes::{BufMut, Bytes, BytesMut};
use std::ops::Range;

/// The beginning of a form, or all of it.
#[derive(Debug)]
pub struct Form {
    body: Bytes,
    parts: Vec<Part>,
    dash: Bytes,
}

/// Whether a part is read or changed on its way to a target with these params, so that it must be among the held ones.
pub fn is_early(part: &str, params: &[(String, Json)]) -> bool {
    part == "model" || is_of(part, "fallbacks") || params.iter().any(|(param, _)| is_of(part, param))
}

/// Whether a part is a member of that name, or a piece of one (`name[]`, `name[key]`).
fn is_of(part: &str, name: &str) -> bool {
    part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

impl Form {
    /// The bytes that a scanner was fed, and what it found in them.
    pub fn new(body: Bytes, scanner: &Scanner) -> Self {
        Self { body, parts: scanner.parts().to_vec(), dash: Bytes::copy_from_slice(scanner.dash()) }
    }

    /// The bytes that are held.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The text of the one field of that name.
    pub fn field(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut named = self.parts.iter().filter(|part| &*part.name == name);
        let Some(part) = named.next() else { return Ok(None) };
        if named.next().is_some() {
            return Err(Refusal::invalid(name, format!("there are two parts `{name}`")));
        }
        self.text(part).map(Some)
    }

    /// The content of the one file of that name.
    pub fn file(&self, name: &str) -> Result<Bytes, Refusal> {
        self.file_at(name).map(|range| self.body.slice(range))
    }

    /// The whole form with another content of that file, which must have the boundary at the begin of none of its lines.
    pub fn with_file(&self, name: &str, content: Bytes) -> Result<Pieces, Refusal> {
        let Range { start, end } = self.file_at(name)?;
        Ok(Pieces::from_iter([self.body.slice(..start), content, self.body.slice(end..)]))
    }

    fn file_at(&self, name: &str) -> Result<Range<usize>, Refusal> {
        let mut named = self.parts.iter().filter(|part| &*part.name == name);
        match (named.next(), named.next()) {
            (Some(Part { file: true, content, end: Some(end), .. }), None) => Ok(within(*content..*end)),
            _ => {
                Err(Refusal::invalid(name, format!("there must be one part `{name}`, and it must be a file")))
            }
        }
    }

    /// The texts of all fields of a list: `name`, `name[]`.
    pub fn list(&self, name: &str) -> Result<Option<Vec<&str>>, Refusal> {
        let of = self.parts.iter().filter(|part| is_of(&part.name, name));
        let texts = of.map(|part| self.text(part)).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(texts).filter(|texts| !texts.is_empty()))
    }

    fn text(&self, part: &Part) -> Result<&str, Refusal> {
        let bad = |what: &str| Refusal::invalid(&*part.name, format!("the part `{}` {what}", part.name));
        if part.file {
            return Err(bad("must be a field, not a file"));
        }
        let end = part.end.ok_or_else(|| bad("is too large"))?;
        std::str::from_utf8(self.slice(part.content..end)).map_err(|_| bad("is not UTF-8"))
    }

    fn slice(&self, range: Range<u64>) -> &[u8] {
        self.body.get(within(range)).unwrap_or_default()
    }

    /// What is sent to a target: the client's bytes with the target's model, its params set, and without what is for us.
    /// Parts behind the held ones that would have to be changed are not looked for: see [`is_early`].
    pub fn edit(&self, target: &Target<'_>) -> Result<Pieces, Refusal> {
        let set = |name: &str| target.params.iter().any(|(param, _)| is_of(name, param));
        let mut edit = Edit { form: self, pieces: Pieces::new(), at: 0 };
        if let Some(first) = self.parts.first() {
            let mut added = Vec::new();
            if !set("model") && !self.parts.iter().any(|part| &*part.name == "model") {
                added.push(("model".to_owned(), target.model.to_owned()));
            }
            for (name, value) in target.params {
                flatten(name, Raw::from_valid(value.bytes()), &mut added);
            }
            edit.put(first.begin..first.begin, self.written(&added)?);
        }
        for part in &self.parts {
            let open = || Refusal::invalid(&*part.name, format!("the part `{}` is too large", part.name));
            if set(&part.name) || is_of(&part.name, "fallbacks") {
                edit.put(part.begin..part.end.ok_or_else(open)? + 2, Bytes::new());
            } else if &*part.name == "model" {
                self.allow(target.model)?;
                let model = Bytes::copy_from_slice(target.model.as_bytes());
                edit.put(part.content..part.end.ok_or_else(open)?, model);
            }
        }
        let (mut pieces, at) = (edit.pieces, edit.at);
        pieces.push(self.body.slice(within(at..self.body.len() as u64)));
        Ok(pieces)
    }

    /// Parts with these texts, each with its boundary before it.
    fn written(&self, fields: &[(String, String)]) -> Result<Bytes, Refusal> {
        let mut out = BytesMut::new();
        for (name, text) in fields {
            let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
            self.allow(&name)?;
            self.allow(text)?;
            out.put_slice(&self.dash);
            out.put_slice(b"\r\nContent-Disposition: form-data; name=\"");
            out.put_slice(name.as_bytes());
            out.put_slice(b"\"\r\n\r\n");
            out.put_slice(text.as_bytes());
            out.put_slice(b"\r\n");
        }
        Ok(out.freeze())
    }

    /// What is put into a form must not hold its boundary.
    fn allow(&self, text: &str) -> Result<(), Refusal> {
        match memchr::memmem::find(text.as_bytes(), &self.dash) {
            None => Ok(()),
            Some(_) => Err(Refusal::new(
                RefusalKind::InvalidRequest,
                "the boundary of the body stands in what the target needs to be told",
            )),
        }
    }
}

/// The changes to a form, from its begin to its end.
struct Edit<'f> {
    form: &'f Form,
    pieces: Pieces,
    at: u64,
}

impl Edit<'_> {
    /// Puts bytes in the place of others.
    fn put(&mut self, range: Range<u64>, bytes: Bytes) {
        self.pieces.push(self.form.body.slice(within(self.at..range.start)));
        self.pieces.push(bytes);
        self.at = range.end;
    }
}

/// Offsets in what is held.
fn within(range: Range<u64>) -> Range<usize> {
    range.start as usize..range.end as usize
}
