//! Reads parts.

use super::{Calls, arguments::read_arguments, media::read_media, results::read_result};
use crate::{
    Dialect, Refusal,
    gemini::{names::camel, seal},
    ir::{Attachment, Block, BlockKind, Json, Text},
    json::{Raw, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// One part; `None` for one that is empty. What is not modelled is kept whole.
pub(in crate::gemini) fn read_part(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    calls: &mut Calls,
) -> Result<Option<Block>, Refusal> {
    let members = path.object(value)?;
    if members.is_empty() {
        return Ok(None);
    }
    let (mut kind, mut thought, mut signature) = (None, false, None);
    let mut attachments: Vec<Attachment> = Vec::new();
    for member in &members {
        let key = unescape(member.key);
        let at = path.member(&key);
        let value = member.value;
        let data = match &*camel(member.key) {
            "text" => BlockKind::Text(at.text(value, owner)?),
            name @ ("inlineData" | "fileData") => read_media(value, &at, owner, (name, &mut attachments))?,
            "functionCall" => read_call(value, &at, owner, (calls, &mut attachments))?,
            "functionResponse" => read_result(value, &at, owner, (calls, &mut attachments))?,
            "thought" => {
                thought = at.boolean(value)?;
                continue;
            }
            "thoughtSignature" => {
                signature = Some(at.text(value, owner)?).filter(|text| !text.is_empty());
                continue;
            }
            _ => {
                read::attach(&mut attachments, SELF, member, owner);
                continue;
            }
        };
        // Some writers put an empty text beside the data.
        let is_empty = |kind: &BlockKind| matches!(kind, BlockKind::Text(text) if text.is_empty());
        kind = match kind {
            Some(known) if is_empty(&data) => Some(known),
            Some(known) if !is_empty(&known) => return Err(path.refuse("must hold one kind of data")),
            _ => Some(data),
        };
    }
    let kind = match (kind, signature.as_ref()) {
        (Some(BlockKind::Text(text)), _) if thought => BlockKind::Thinking(text),
        (Some(kind), _) => {
            // A sketch of a picture, for one.
            if thought {
                let (name, value) = (Text::fixed("thought"), Json::fixed("true"));
                attachments.push(Attachment { dialect: SELF, name, value });
            }
            kind
        }
        (None, Some(text)) if thought && attachments.is_empty() => {
            return Ok(Some(BlockKind::RedactedThinking(seal::read(text.clone())).into()));
        }
        (None, Some(_)) if attachments.is_empty() => BlockKind::Text(Text::default()),
        // Code that the vendor ran, and whatever else is new.
        (None, _) => return Ok(Some(BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into())),
    };
    Ok(Some(Block { signature: signature.map(seal::read), attachments, ..kind.into() }))
}

fn read_call(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
    (calls, attachments): (&mut Calls, &mut Vec<Attachment>),
) -> Result<BlockKind, Refusal> {
    let (mut id, mut name, mut args) = (None, None, None);
    for member in path.object(value)? {
        let key = unescape(member.key);
        let at = path.member(&key);
        match &*camel(member.key) {
            "id" => id = Some(at.text(member.value, owner)?),
            "name" => name = Some(at.text(member.value, owner)?),
            "args" => {
                at.object_json(member.value, owner)?;
                args = Some(member.value);
            }
            _ => read::attach_inner(attachments, SELF, "functionCall", &member, owner),
        }
    }
    let name = path.required(name, "name")?;
    Ok(BlockKind::ToolUse { id: calls.call(id, &name), name, input: read_arguments(args) })
}
