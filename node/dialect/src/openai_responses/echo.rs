//! What an answer repeats of its request. Clients read some of it there: what form they asked for tells them how to
//! read the text. The input, the instructions and the tools, which can be large, are not among it.

use crate::{
    Envelope,
    ir::Json,
    json::{Raw, Writer},
};

/// What is repeated, and what it is where the request does not say.
const MEMBERS: [(&str, &[u8]); 10] = [
    ("max_output_tokens", b"null"),
    ("parallel_tool_calls", b"true"),
    ("reasoning", b"null"),
    ("temperature", b"null"),
    ("text", br#"{"format":{"type":"text"}}"#),
    ("tool_choice", br#""auto""#),
    ("top_p", b"null"),
    ("truncation", br#""disabled""#),
    ("user", b"null"),
    ("metadata", b"{}"),
];

/// The members of a request that are repeated, as an object; `None` if there are none.
pub(super) fn read(envelope: &Envelope) -> Option<Json> {
    let mut out = Writer::default();
    out.begin_object();
    let mut any = false;
    for (name, _) in MEMBERS {
        if let Some(value) = envelope.get(name).filter(|value| !value.is_null()) {
            out.key(name);
            out.raw(value.bytes());
            any = true;
        }
    }
    out.end_object();
    any.then(|| Json::from_valid(out.finish().into()))
}

/// Writes a member that is repeated.
pub(super) fn write(out: &mut Writer, echo: Option<&Json>, name: &'static str) {
    let default = MEMBERS.iter().find(|(own, _)| *own == name).map_or(&b"null"[..], |(_, default)| default);
    let asked = echo.and_then(|echo| echo.raw().get(name));
    out.key(name);
    out.raw(asked.map_or(default, Raw::bytes));
}
