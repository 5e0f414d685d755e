//! Results of tools: an object on the wire, blocks with us.

use super::{Calls, media::read_media};
use crate::{
    Dialect, Refusal,
    gemini::names::camel,
    ir::{Attachment, Block, BlockKind, Media, MediaSource, Text},
    json::{Kind, Raw, Writer, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// Stands in a response, which can hold text only, for what follows in the parts behind it.
static SEE_NEXT_PARTS: Text = Text::fixed("[see the parts that follow]");

/// Between texts that become one.
static LINE_END: Text = Text::fixed("\\n");

/// The members that hold the whole output of a tool, and the one that holds its error.
const OUTPUTS: [&str; 2] = ["result", "output"];
const ERROR: &str = "error";

/// A `functionResponse`. The name of a tool whose call is not there is kept.
pub(super) fn read_result(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    (calls, attachments): (&mut Calls, &mut Vec<Attachment>),
) -> Result<BlockKind, Refusal> {
    let (mut id, mut name, mut response, mut parts) = (None, None, None, None);
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "id" => id = Some(at.text(member.value, owner)?),
            "name" => name = Some((at.text(member.value, owner)?, member.value.json(owner))),
            "response" => {
                at.object_json(member.value, owner)?;
                response = Some(member.value);
            }
            "parts" => parts = Some(member.value),
            _ => read::attach_inner(attachments, SELF, "functionResponse", &member, owner),
        }
    }
    let (name, value) = path.required(name, "name")?;
    let (id, known) = calls.result(id, &name);
    if !known {
        attachments.push(Attachment { dialect: SELF, name: Text::fixed("functionResponse.name"), value });
    }
    let (text, is_error) =
        response.map_or((Text::default(), false), |response| read_response(response, owner));
    let text = Some(text).filter(|text| !text.is_empty());
    let mut content: Vec<Block> = text.map(|text| BlockKind::Text(text).into()).into_iter().collect();
    if let Some(parts) = parts {
        let at = path.member("parts");
        for (i, part) in at.array(parts)?.enumerate() {
            content.push(read_result_part(part, &at.element(i), owner)?);
        }
    }
    Ok(BlockKind::ToolResult { id, content, is_error })
}

/// The text of a response, and whether it is an error.
fn read_response(response: Raw<'_>, owner: &Bytes) -> (Text, bool) {
    let mut members = response.members();
    match (members.next(), members.next()) {
        (None, _) => (Text::default(), false),
        (Some(only), None) if only.is(ERROR) => (said(only.value, owner), true),
        (Some(only), None) if OUTPUTS.iter().any(|name| only.is(name)) => (said(only.value, owner), false),
        _ => (said(response, owner), false),
    }
}

/// A string, or the text of a value.
fn said(value: Raw<'_>, owner: &Bytes) -> Text {
    value.text(owner).unwrap_or_else(|| Text::new(&String::from_utf8_lossy(value.bytes())))
}

fn read_result_part(value: Raw<'_>, path: &Path<'_>, owner: &Bytes) -> Result<Block, Refusal> {
    let (mut kind, mut attachments) = (None, Vec::new());
    for member in path.object(value)? {
        let key = unescape(member.key);
        match &*camel(member.key) {
            name @ ("inlineData" | "fileData") => {
                let inner = (name, &mut attachments);
                kind = Some(read_media(member.value, &path.member(&key), owner, inner)?);
            }
            _ => read::attach(&mut attachments, SELF, &member, owner),
        }
    }
    let opaque = || BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into();
    Ok(kind.map_or_else(opaque, |kind| Block { attachments, ..kind.into() }))
}

/// Whether a block of a result is seen as a part of its own and not in the text.
pub(in crate::gemini) fn is_seen_apart(block: &Block) -> bool {
    let plain = |media: &Media| matches!(media.source, MediaSource::Plain(_));
    match &block.kind {
        BlockKind::Document(media) => !plain(media),
        BlockKind::Image(_) | BlockKind::Audio(_) | BlockKind::Video(_) | BlockKind::Opaque { .. } => true,
        _ => false,
    }
}

/// Where what is not text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gemini) enum Apart {
    /// In the response itself, or there is none.
    Inside,
    /// In the parts behind it.
    Behind,
}

/// The object `response`. A text that is a JSON object goes as that object, all others as `result` or `error`.
pub(in crate::gemini) fn write_response(
    (content, is_error): (&[Block], &bool),
    apart: Apart,
    out: &mut Writer,
) {
    let mut texts: Vec<&Text> = Vec::new();
    let mut add = |text| {
        if !texts.is_empty() {
            texts.push(&LINE_END);
        }
        texts.push(text);
    };
    for block in content {
        match &block.kind {
            BlockKind::Text(text) | BlockKind::Refusal(text) | BlockKind::Thinking(text) => add(text),
            BlockKind::Document(Media { source: MediaSource::Plain(text), title, .. }) => {
                title.iter().for_each(&mut add);
                add(text);
            }
            _ => {}
        }
    }
    if apart == Apart::Behind && content.iter().any(is_seen_apart) {
        add(&SEE_NEXT_PARTS);
    }
    if let ([text], false) = (texts.as_slice(), *is_error)
        && let plain = text.plain()
        && let Some(object) = object(&plain)
    {
        return out.raw(object.bytes());
    }
    out.begin_object();
    out.key(if *is_error { ERROR } else { "result" });
    out.texts(texts);
    out.end_object();
}

/// A text that is an object which would be read as it is.
fn object(plain: &str) -> Option<Raw<'_>> {
    let object = Raw::parse(plain.as_bytes()).ok().filter(|value| value.kind() == Kind::Object)?;
    let members = object.unique_members()?.ok()?;
    let wrapped = |name: &str| name == ERROR || OUTPUTS.contains(&name);
    match members.as_slice() {
        [] => None,
        [only] if wrapped(&unescape(only.key)) => None,
        _ => Some(object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        for (text, is_error, response) in [
            ("4 degrees", false, r#"{"result":"4 degrees"}"#),
            ("no such city", true, r#"{"error":"no such city"}"#),
            (r#"{"degrees": 4}"#, false, r#"{"degrees": 4}"#),
            (r#"{"degrees": 4}"#, true, r#"{"error":"{\"degrees\": 4}"}"#),
            (r#"{"error":"x"}"#, false, r#"{"result":"{\"error\":\"x\"}"}"#),
            ("{}", false, r#"{"result":"{}"}"#),
            ("[1]", false, r#"{"result":"[1]"}"#),
            (r#"{"a":1,"a":2}"#, false, r#"{"result":"{\"a\":1,\"a\":2}"}"#),
        ] {
            let content = [BlockKind::Text(Text::new(text)).into()];
            let mut out = Writer::with_capacity(64);
            write_response((&content, &is_error), Apart::Inside, &mut out);
            let written = String::from_utf8(out.finish()).unwrap();
            assert_eq!(written, response);
            let owner = Bytes::from(written);
            assert_eq!(read_response(Raw::parse(&owner).unwrap(), &owner), (Text::new(text), is_error));
        }
    }
}
