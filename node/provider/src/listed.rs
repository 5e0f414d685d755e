//! A vendor that is fully described by its row.

use crate::{
    Auth, Operation, Origin, Provider, Row,
    headers::{cannot_forward, cannot_present, cannot_set},
    url::{Base, Path},
    variables,
};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION, uri::PathAndQuery};
use std::fmt;
use trestle_dialect::{Dialect, Quirks};

/// A vendor that is fully described by its row. `Debug` shows where it is, no header.
pub struct Listed {
    origin: Origin,
    host: HeaderValue,
    base_path: Box<str>,
    presents: Presents,
    headers: Vec<(HeaderName, HeaderValue)>,
    paths: Vec<(Operation, Path)>,
}

/// How a key is presented, checked.
enum Presents {
    Bearer,
    Header(HeaderName),
    Nothing,
}

impl Presents {
    /// Whether a key is presented in this header.
    fn by(&self, name: &HeaderName) -> bool {
        matches!(self, Self::Header(own) if own == name)
    }
}

impl Listed {
    /// Checks the row: URL, paths, headers. All problems, each `member: what is wrong, and how to mend it`.
    pub fn new(row: Row) -> Result<Self, Vec<String>> {
        let mut problems = Vec::new();
        let row = variables::expand(row, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        if row.dialects.is_empty() {
            problems.push(format!("dialects: is empty; name at least one of {}", dialect_names()));
        }
        let presents = presents(&row.auth, &mut problems);
        let headers = fixed_headers(&row, &presents, &mut problems);
        check_forwarded(&row, &presents, &mut problems);
        check_quirks(&row.quirks, &mut problems);
        let base = Base::parse(&row.base_url).map_err(|why| problems.push(format!("base_url: {why}"))).ok();
        let paths = base.as_ref().map(|base| paths(base, &row, &mut problems)).unwrap_or_default();
        match base {
            Some(Base { origin, host, path }) if problems.is_empty() => {
                Ok(Self { origin, host, base_path: path.into(), presents, headers, paths })
            }
            _ => Err(problems),
        }
    }
}

/// The path of every operation that the vendor has.
fn paths(base: &Base, row: &Row, problems: &mut Vec<String>) -> Vec<(Operation, Path)> {
    let mut made = Vec::new();
    for operation in Operation::ALL {
        let (name, dialect) = (operation.name(), operation.dialect());
        let speaks = row.dialects.contains(&dialect);
        let usual = (speaks && operation.is_usual()).then_some(operation.path());
        let set = |operation| row.endpoints.0.get(&operation).map(String::as_str);
        let own = set(operation).or_else(|| operation.wider().and_then(set));
        match base.endpoint(own.or(usual).unwrap_or_default()) {
            Ok(None) if speaks && operation.is_needed() && set(operation).is_some() => {
                problems.push(format!(
                    "endpoints.{name}: is empty, but `dialects` has `{}`; remove one of the two",
                    dialect.name()
                ))
            }
            Ok(None) => {}
            Ok(Some(path)) => made.push((operation, path)),
            Err(why) => problems.push(format!("endpoints.{name}: {why}")),
        }
    }
    made
}

impl fmt::Debug for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listed").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Provider for Listed {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn host(&self) -> &HeaderValue {
        &self.host
    }

    fn endpoint(&self, operation: Operation, model: &str) -> Option<PathAndQuery> {
        let (_, path) = self.paths.iter().find(|(own, _)| *own == operation)?;
        path.of(model)
    }

    fn base_path(&self) -> &str {
        &self.base_path
    }

    fn credential(&self, key: &str) -> Result<Option<(HeaderName, HeaderValue)>, &'static str> {
        let (name, text) = match &self.presents {
            Presents::Nothing => return Ok(None),
            Presents::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            Presents::Header(name) => (name.clone(), key.to_owned()),
        };
        if key.is_empty() {
            return Err("is empty");
        }
        if !key.bytes().all(|b| b.is_ascii_graphic()) {
            return Err("has white space or characters that a header cannot carry");
        }
        let mut value = HeaderValue::from_str(&text).map_err(|_| "cannot be sent in a header")?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    fn sign(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.entry(name).or_insert_with(|| value.clone());
        }
    }
}

fn dialect_names() -> String {
    Dialect::ALL.map(|dialect| format!("`{}`", dialect.name())).join(", ")
}

fn header_name(member: &str, text: &str, problems: &mut Vec<String>) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(text.as_bytes());
    name.map_err(|_| problems.push(format!("{member}: `{}` is not a header name", text.escape_debug()))).ok()
}

fn presents(auth: &Auth, problems: &mut Vec<String>) -> Presents {
    match auth {
        Auth::Bearer => Presents::Bearer,
        Auth::None => Presents::Nothing,
        Auth::Header(text) => {
            let Some(name) = header_name("auth.header", text, problems) else { return Presents::Nothing };
            if let Some(why) = cannot_present(&name) {
                problems.push(format!("auth.header: `{name}` {why}"));
            }
            Presents::Header(name)
        }
    }
}

fn fixed_headers(
    row: &Row,
    presents: &Presents,
    problems: &mut Vec<String>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut made: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for (name, value) in &row.headers {
        let Some(name) = header_name("headers", name, problems) else { continue };
        let presenting = presents.by(&name).then_some("presents the key; set one of the two");
        if let Some(why) = cannot_set(&name).or(presenting) {
            problems.push(format!("headers: `{name}` {why}"));
        }
        if made.iter().any(|(other, _)| *other == name) {
            problems.push(format!("headers: `{name}` is there twice; remove one"));
        }
        match HeaderValue::from_str(value) {
            Ok(mut value) => {
                // An operator may have put a secret into it.
                value.set_sensitive(true);
                made.push((name, value));
            }
            Err(_) => problems.push(format!("headers: the value of `{name}` cannot be sent in a header")),
        }
    }
    made
}

fn check_forwarded(row: &Row, presents: &Presents, problems: &mut Vec<String>) {
    for name in &row.forward_headers {
        let Some(name) = header_name("forward_headers", name, problems) else { continue };
        let presenting = presents.by(&name).then_some("presents the provider's key; leave it out");
        if let Some(why) = cannot_forward(&name).or(presenting) {
            problems.push(format!("forward_headers: `{name}` {why}"));
        }
    }
}

fn check_quirks(quirks: &Quirks, problems: &mut Vec<String>) {
    // Without these there is no request.
    let needed = |name: &&String| matches!(name.as_str(), "messages" | "model" | "stream");
    for name in quirks.drop.iter().filter(needed) {
        problems.push(format!("quirks.drop: `{name}` is always needed; leave it out"));
    }
    for name in quirks.rename.iter().flat_map(|(from, to)| [from, to]).filter(needed) {
        problems.push(format!("quirks.rename: `{name}` has its own meaning; leave it out"));
    }
    if quirks.default_max_tokens == 0 {
        problems.push("quirks.default_max_tokens: is 0; set at least 1".to_owned());
    }
}

#[cfg(test)]
mod tests;
