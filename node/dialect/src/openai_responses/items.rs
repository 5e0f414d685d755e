//! Reads the items that have the same form in requests and answers: calls and reasoning.

use super::{parts::read_signature, proof};
use crate::{
    Dialect, Refusal,
    ir::{Block, BlockKind, Text},
    json::Kind,
    read::Fields,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// Between the parts of one reasoning, as we hold it: a blank line.
pub(super) static PART_END: Text = Text::fixed("\\n\\n");

/// A `function_call`. Its own id and status say only how the vendor keeps it. Some write the arguments themselves
/// instead of their text.
pub(super) fn read_call(mut fields: Fields<'_, '_>) -> Result<Block, Refusal> {
    let (id, name) = (fields.text("call_id")?, fields.text("name")?);
    let input = match fields.take("arguments") {
        Some(object) if object.kind() == Kind::Object => Text::new(&String::from_utf8_lossy(object.bytes())),
        Some(text) => fields.path.member("arguments").text(text, fields.owner)?,
        None => Text::default(),
    };
    let input = if input.is_empty() { Text::fixed("{}") } else { input };
    let mut block = Block::from(BlockKind::ToolUse { id, name, input });
    fields.take("id");
    fields.take("status");
    block.cache = fields.take("cache_control").map(|cache| cache.json(fields.owner));
    block.signature = read_signature(&mut fields)?;
    block.attachments = fields.rest(SELF);
    Ok(block)
}

/// A `reasoning` item as one block: the parts of its summary and of its text, with a blank line between them, and its
/// proof. Without any part only the vendor can read it; with neither part nor proof there is nothing to keep.
pub(super) fn read_reasoning(mut fields: Fields<'_, '_>) -> Result<Option<Block>, Refusal> {
    let id = fields.optional_text("id")?;
    fields.take("status");
    let mut texts = Vec::new();
    for name in ["summary", "content"] {
        let Some(list) = fields.take(name) else { continue };
        let at = fields.path.member(name);
        for (i, part) in at.array(list)?.enumerate() {
            let at = at.element(i);
            texts.push(Fields::of(part, &at, fields.owner)?.text("text")?);
        }
    }
    let encrypted = fields.optional_text("encrypted_content")?.filter(|encrypted| !encrypted.is_empty());
    let proof = encrypted.map(|encrypted| proof::read(id, encrypted));
    let text = Text::join(&texts, "\\n\\n");
    let (kind, signature) = match proof {
        Some(proof) if texts.is_empty() => (BlockKind::RedactedThinking(proof), None),
        None if text.is_empty() => return Ok(None),
        proof => (BlockKind::Thinking(text), proof),
    };
    Ok(Some(Block { signature, attachments: fields.rest(SELF), ..kind.into() }))
}
