//! Encrypted content that only the account that wrote it can read. Where several accounts may answer, what a client gets
//! names the route that it came from: `trestle:@ROUTE:CONTENT`. On the way back the mark is taken off for that route; for
//! all others the content is foreign, like that of another vendor.

use crate::{
    Dialect,
    ir::{Request, Sealed, Text},
    json::string_members,
};
use bytes::Bytes;
use memchr::memmem::Finder;
use std::{ops::Range, sync::LazyLock};

/// The member that holds it, wherever it stands.
static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"encrypted_content\""));

/// What a client carries for somebody, and for a route.
const CARRIED: &[u8] = b"trestle:";
pub(crate) const MARK: &[u8] = b"trestle:@";

/// Marks of one request that are looked at.
const ROUTES_MAX: usize = 16;

/// Names the route in the encrypted content of an answer, or of a run of whole events; `None` where there is none.
pub fn mark_sealed(answer: &[u8], route: &str) -> Option<Bytes> {
    let mark = [MARK, route.as_bytes(), b":"].concat();
    let plain = |content: &[u8]| !content.starts_with(b"\"") && !content.starts_with(CARRIED);
    let places = contents(answer).filter(|at| plain(answer.get(*at..).unwrap_or_default()));
    replaced(answer, places.map(|at| (at..at, &mark[..])))
}

/// The routes that a request names, each once, the latest first.
pub fn sealed_routes(request: &[u8]) -> Vec<&str> {
    let mut routes = Vec::new();
    for at in contents(request) {
        let rest = request.get(at..).and_then(|content| content.strip_prefix(MARK)).unwrap_or_default();
        let end = memchr::memchr2(b':', b'"', rest).filter(|end| rest.get(*end) == Some(&b':'));
        let route = end.and_then(|end| std::str::from_utf8(rest.get(..end)?).ok());
        if let Some(route) = route.filter(|route| !route.is_empty()) {
            routes.retain(|other| *other != route);
            routes.push(route);
        }
    }
    routes.reverse();
    routes.truncate(ROUTES_MAX);
    routes
}

/// Takes the marks of a route off; `None` where there are none.
pub fn unmark_sealed(request: &[u8], route: &str) -> Option<Bytes> {
    let mark = [MARK, route.as_bytes(), b":"].concat();
    let places = contents(request).filter(|at| request.get(*at..).unwrap_or_default().starts_with(&mark));
    replaced(request, places.map(|at| (at..at + mark.len(), &b""[..])))
}

/// The routes that a request of another dialect names in what it carries for OpenAI Responses, the latest first.
pub fn carried_routes(request: &Request) -> Vec<&str> {
    let mut routes: Vec<&str> = Vec::new();
    for (_, route) in request.sealed().filter_map(carried) {
        routes.retain(|other| *other != route);
        routes.push(route);
    }
    routes.reverse();
    routes.truncate(ROUTES_MAX);
    routes
}

/// Takes the marks of a route off in such a request.
pub fn unmark_carried(request: &mut Request, route: &str) {
    request.each_sealed(|sealed| {
        let mark = carried(sealed).filter(|(_, own)| *own == route).map(|(mark, _)| mark);
        if let Some(mark) = mark {
            let end = sealed.data.escaped().len();
            sealed.data =
                Text::join([&sealed.data.part(0..mark.start), &sealed.data.part(mark.end..end)], "");
        }
    });
}

/// Where the mark is in `ID:trestle:@ROUTE:CONTENT`, and the route.
fn carried(sealed: &Sealed) -> Option<(Range<usize>, &str)> {
    let data = Some(sealed.data.escaped()).filter(|_| sealed.dialect == Dialect::OpenAiResponses)?;
    let start = memchr::memchr(b':', data)? + 1;
    let rest = data.get(start..)?.strip_prefix(MARK)?;
    let length = memchr::memchr(b':', rest)?;
    let route = std::str::from_utf8(rest.get(..length)?).ok().filter(|route| !route.is_empty())?;
    Some((start..start + MARK.len() + length + 1, route))
}

/// Where encrypted contents begin, behind their quotes.
fn contents(text: &[u8]) -> impl Iterator<Item = usize> {
    string_members(text, &MEMBER)
}

fn replaced<'m>(text: &[u8], places: impl Iterator<Item = (Range<usize>, &'m [u8])>) -> Option<Bytes> {
    let (mut out, mut kept) = (Vec::new(), 0);
    for (place, with) in places {
        out.extend_from_slice(text.get(kept..place.start).unwrap_or_default());
        out.extend_from_slice(with);
        kept = place.end;
    }
    if kept == 0 {
        return None;
    }
    out.extend_from_slice(text.get(kept..).unwrap_or_default());
    Some(out.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Block, BlockKind, Message, Role};

    const ANSWER: &str = r#"{"output":[{"encrypted_content" : "gAA="},{"encrypted_content":null},{"encrypted_content":""},
{"text":"\"encrypted_content\":\"no\""},{"encrypted_content":"trestle:gemini:x"},{"encrypted_content":"gBB"}]}"#;

    #[test]
    fn marks_come_off_where_they_were_put_on() {
        let marked = mark_sealed(ANSWER.as_bytes(), "r1").unwrap();
        let expected = ANSWER.replace("gAA=", "trestle:@r1:gAA=").replace("gBB", "trestle:@r1:gBB");
        assert_eq!(marked, expected);
        assert_eq!(mark_sealed(&marked, "r2"), None, "once");
        assert_eq!(unmark_sealed(&marked, "r1").unwrap(), ANSWER);
        assert_eq!(unmark_sealed(&marked, "r"), None);
        assert_eq!(sealed_routes(&marked), ["r1"]);
        assert_eq!((mark_sealed(b"{}", "r"), unmark_sealed(b"{}", "r")), (None, None));
    }

    #[test]
    fn other_dialects_carry_the_mark() {
        let block = |data: &str| {
            let sealed = Sealed { dialect: Dialect::OpenAiResponses, data: Text::new(data) };
            Block::from(BlockKind::RedactedThinking(sealed))
        };
        let of = ["rs_1:trestle:@a:x:y", "rs_2:trestle:@b:x", ":trestle:@a:z", "rs_3:plain", "none"];
        let message = Message {
            role: Role::Assistant,
            blocks: of.map(block).into(),
            name: None,
            attachments: Vec::new(),
        };
        let mut request = Request { messages: vec![message], ..Request::default() };
        assert_eq!(carried_routes(&request), ["a", "b"]);
        unmark_carried(&mut request, "a");
        let left: Vec<_> = request.sealed().map(|sealed| sealed.data.plain().into_owned()).collect();
        assert_eq!(left, ["rs_1:x:y", "rs_2:trestle:@b:x", ":z", "rs_3:plain", "none"]);
    }

    #[test]
    fn the_latest_route_comes_first() {
        let item = |route: &str| format!(r#"{{"encrypted_content":"trestle:@{route}x"}}"#);
        let text = ["a:", "b:", "a:", "", ":"].map(item).concat();
        assert_eq!(sealed_routes(text.as_bytes()), ["a", "b"]);
        assert!(sealed_routes(br#"{"encrypted_content":"trestle:@cut"#).is_empty());
    }
}
