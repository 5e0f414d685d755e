//! Arguments of calls: an object on the wire, a text with us.

use crate::{
    dropped,
    ir::Text,
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;

/// Holds the text of arguments that are no JSON object. Reading takes the text out again, so nothing is lost on the
/// way there and back.
const MALFORMED: &str = "_malformed_arguments";

/// The text of an object; none is `{}`.
pub(super) fn read_arguments(value: Option<Raw<'_>>) -> Text {
    let Some(value) = value else { return Text::fixed("{}") };
    let mut members = value.members();
    if let (Some(first), None) = (members.next(), members.next())
        && first.is(MALFORMED)
        && let Some(escaped) = first.value.escaped()
    {
        return Text::from_escaped(Bytes::copy_from_slice(escaped));
    }
    Text::new(&String::from_utf8_lossy(value.bytes()))
}

/// The object of a text. One that is no JSON object is wrapped as it stands and named.
pub(in crate::gemini) fn write_arguments(
    input: &Text,
    path: &str,
    out: &mut Writer,
    dropped: &mut Vec<String>,
) {
    let plain = input.plain();
    match Raw::parse(plain.as_bytes()) {
        Ok(object) if object.kind() == Kind::Object => out.raw(object.bytes()),
        _ if plain.trim().is_empty() => out.raw(b"{}"),
        _ => {
            dropped::note(dropped, path);
            out.begin_object();
            out.key(MALFORMED);
            out.text(input);
            out.end_object();
        }
    }
}
