//! What clients may call at a provider as it is: a list of methods and paths, and whether a call is on it.
//!
//! A path is looked at as it will be sent: not decoded and written anew, but refused where a reader of another mind
//! could take it for another one.

use crate::pattern;
use http::{Method, uri::PathAndQuery};
use percent_encoding::percent_decode_str;

/// Methods that a rule can name.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// What clients may call at a provider as it is. Empty is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passthrough {
    rules: Box<[Rule]>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    /// `None` is each of `METHODS`.
    method: Option<Method>,
    from: From,
    segments: Box<[Box<str>]>,
    /// Whatever follows, but at least one segment.
    rest: bool,
}

/// What the path of a rule is below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// The base URL.
    Base,
    /// The root of the host.
    Root,
}

/// Why a call may not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAllowed {
    /// No rule is for it.
    NoRule,
    /// The path or query could be taken for another one; what is wrong with it.
    Unclear(&'static str),
}

impl Passthrough {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        Self { rules: rules.into() }
    }

    /// Where an allowed call goes. `path` is below a base URL whose own path is `base`, and may repeat that; or, for rules
    /// that say so, it begins at the root of the host.
    pub fn find(
        &self,
        method: &Method,
        (path, query): (&str, Option<&str>),
        base: &str,
    ) -> Result<PathAndQuery, NotAllowed> {
        let whole = segments(path).map_err(NotAllowed::Unclear)?;
        let repeated = path.strip_prefix(base).filter(|below| below.starts_with('/'));
        let below = repeated.unwrap_or(path);
        let skipped = if repeated.is_some() { base.matches('/').count() } else { 0 };
        let allowed = |from, segments: &[String]| {
            self.rules.iter().any(|rule| rule.from == from && rule.allows(method, segments))
        };
        let mut target = if allowed(From::Base, whole.get(skipped..).unwrap_or_default()) {
            format!("{base}{below}")
        } else if allowed(From::Root, &whole) {
            path.to_owned()
        } else {
            return Err(NotAllowed::NoRule);
        };
        if let Some(query) = query {
            target.push('?');
            target.push_str(query);
        }
        // What is behind it would be cut off in silence.
        let good = target.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
        let parsed = good.then(|| target.parse().ok()).flatten();
        parsed.ok_or(NotAllowed::Unclear("it has characters that a URL cannot have: percent-encode them"))
    }
}

impl Rule {
    /// Reads `METHOD /path`. The error says what is wrong and how to mend it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((method, path)) = text.split_once(' ').filter(|(method, _)| !method.is_empty()) else {
            return Err("must be a method and a path, such as `GET /files/*`".to_owned());
        };
        let method = match METHODS.iter().find(|known| known.as_str() == method) {
            None if method != "*" => {
                let known: Vec<_> = METHODS.iter().map(Method::as_str).collect();
                return Err(format!(
                    "has a method that is not passed on; use {} or `*` for all",
                    known.join(", ")
                ));
            }
            known => known.cloned(),
        };
        let (from, path) = match (path.strip_prefix("//"), path.strip_prefix('/')) {
            (Some(path), _) => (From::Root, path),
            (None, Some(path)) => (From::Base, path),
            (None, None) => {
                return Err("must have a path that begins with `/` (below `base_url`) or `//` (from the root of the host)"
                    .to_owned());
            }
        };
        if let Some(wrong) =
            path.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '?' | '#' | '%' | '\\'))
        {
            let wrong = wrong.escape_default();
            return Err(format!(
                "must have a path without `{wrong}`: queries go on whatever they say, and paths are compared decoded"
            ));
        }
        let (path, rest) = match path {
            "**" => (None, true),
            _ => path.strip_suffix("/**").map_or((Some(path), false), |path| (Some(path), true)),
        };
        let segments: Box<[Box<str>]> =
            path.into_iter().flat_map(|path| path.split('/')).map(Into::into).collect();
        if segments.iter().any(|segment| matches!(&**segment, "" | "." | "..")) {
            return Err("must not have an empty segment, `.` or `..` in its path".to_owned());
        }
        if segments.iter().any(|segment| segment.contains("**")) {
            return Err("can have `**` only as its last segment; `*` stands for a run within one".to_owned());
        }
        Ok(Self { method, from, segments, rest })
    }

    fn allows(&self, method: &Method, path: &[String]) -> bool {
        let known = match &self.method {
            Some(own) => own == method,
            None => METHODS.contains(method),
        };
        let (own, sent) = (self.segments.len(), path.len());
        let long = if self.rest { sent > own } else { sent == own };
        // An encoded slash is one to some and none to others: it may stand only where there may be any number.
        let fits = |(pattern, sent): (&str, &String)| !sent.contains('/') && pattern::matches(pattern, sent);
        known && long && self.segments.iter().map(|segment| &**segment).zip(path).all(fits)
    }
}

/// The segments of a path, decoded; or why it could be taken for another path.
fn segments(path: &str) -> Result<Vec<String>, &'static str> {
    let path = path.strip_prefix('/').ok_or("it does not begin with a slash")?;
    path.split('/').map(segment).collect()
}

fn segment(raw: &str) -> Result<String, &'static str> {
    if has_bad_escape(raw) {
        return Err("it has a `%` that encodes nothing");
    }
    let decoded = percent_decode_str(raw).decode_utf8().map_err(|_| "what it encodes is not text")?;
    if decoded.contains('\\') || decoded.chars().any(char::is_control) {
        return Err("it has a backslash or a control character");
    }
    if decoded.contains('%') && !has_bad_escape(&decoded) {
        return Err("it is encoded twice");
    }
    // Some cut parameters off (`..;x`) before they climb.
    let mut parts = decoded.split('/').map(|part| part.split(';').next().unwrap_or_default());
    if parts.any(|part| matches!(part, "" | "." | "..")) {
        return Err("it has `.`, `..` or nothing between two slashes");
    }
    Ok(decoded.into_owned())
}

fn has_bad_escape(text: &str) -> bool {
    let mut parts = text.split('%');
    parts.next();
    parts.any(|part| !part.as_bytes().get(..2).is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit)))
}

#[cfg(test)]
mod tests;
