//! Writes the items of a request.

use super::{
    super::{parts::Whole, proof},
    encode_parts::{PHASE, check_expressible, write_cache, write_content, write_said},
};
use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    ir::{Attachment, Block, BlockKind, Message, Role, Text},
};
use std::fmt::Write as _;

const SELF: Dialect = Dialect::OpenAiResponses;
const PARENT: &str = "messages[].content[].";

/// The longest id of a call that the vendor accepts.
const CALL_ID_CHARS_MAX: usize = 64;

/// Writes the array, without so many messages at its beginning.
pub(super) fn write_items(body: &mut Body<'_>, messages: &[Message], skip: usize) -> Result<(), Refusal> {
    body.out.begin_array();
    for (i, message) in messages.iter().enumerate().skip(skip) {
        match message.role {
            Role::System => write_system(body, message, "system"),
            Role::Developer if !body.target.quirks.developer_role => write_system(body, message, "system"),
            Role::Developer => write_system(body, message, "developer"),
            Role::User => write_user(body, message, i)?,
            Role::Assistant => write_assistant(body, message),
        }
    }
    body.out.end_array();
    Ok(())
}

fn begin_message(body: &mut Body<'_>, role: &str) {
    body.out.begin_object();
    body.out.key("type");
    body.out.string("message");
    body.out.key("role");
    body.out.string(role);
    body.out.key("content");
}

fn end_message(body: &mut Body<'_>, message: &Message) {
    if message.name.is_some() {
        body.drop("messages[].name");
    }
    dropped::attachments(&message.attachments, SELF, "messages[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
}

fn write_system(body: &mut Body<'_>, message: &Message, role: &str) {
    let mut texts = Vec::with_capacity(message.blocks.len());
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text(_) => texts.push(block),
            other => body.drop(format!("system[].{}", other.type_name())),
        }
    }
    begin_message(body, role);
    write_content(body, &texts, "system[].");
    end_message(body, message);
}

/// Results of calls first, as they must follow the calls; then what the user says. Whole items stand where they stood.
fn write_user(body: &mut Body<'_>, message: &Message, index: usize) -> Result<(), Refusal> {
    let mut said: Vec<&Block> = Vec::new();
    for block in &message.blocks {
        check_expressible(block, index)?;
        match &block.kind {
            BlockKind::ToolResult { id, content, is_error } => {
                if *is_error {
                    body.drop(format!("{PARENT}is_error"));
                }
                body.out.begin_object();
                body.out.key("type");
                body.out.string("function_call_output");
                body.out.key("call_id");
                body.out.text(&call_id(id));
                body.out.key("output");
                write_content(body, &content.iter().collect::<Vec<_>>(), "messages[].content[].content[].");
                write_cache(body, block, PARENT);
                let parent = "messages[].content[].";
                dropped::attachments(&block.attachments, SELF, parent, &mut body.out, &mut body.dropped);
                body.out.end_object();
            }
            BlockKind::Opaque { json, .. } if Whole::of(json) == Whole::Item => body.out.json(json),
            _ => said.push(block),
        }
    }
    if said.is_empty() && !message.blocks.is_empty() {
        return Ok(());
    }
    begin_message(body, "user");
    write_content(body, &said, PARENT);
    end_message(body, message);
    Ok(())
}

/// What the model said becomes messages, with reasoning, calls and whole items between them as they came.
fn write_assistant(body: &mut Body<'_>, message: &Message) {
    if message.name.is_some() {
        body.drop("messages[].name");
    }
    for attachment in &message.attachments {
        body.drop(format!("messages[].{}", attachment.name.plain()));
    }
    let mut said: Vec<&Block> = Vec::new();
    for block in &message.blocks {
        let part = match &block.kind {
            BlockKind::Text(_) | BlockKind::Refusal(_) => true,
            BlockKind::Opaque { dialect, json } => *dialect == SELF && Whole::of(json) == Whole::Part,
            _ => false,
        };
        if !part || phase(block).is_some() {
            write_message(body, &mut said);
        }
        match &block.kind {
            _ if part => said.push(block),
            BlockKind::ToolUse { id, name, input } => write_call(body, block, (id, name, input)),
            BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => write_reasoning(body, block),
            BlockKind::Opaque { dialect, json } if *dialect == SELF && Whole::of(json) == Whole::Item => {
                body.out.json(json);
            }
            other => body.drop(format!("{PARENT}{}", other.type_name())),
        }
    }
    write_message(body, &mut said);
}

fn phase(block: &Block) -> Option<&Attachment> {
    block.attachments.iter().find(|attachment| attachment.dialect == SELF && attachment.name.is(PHASE))
}

/// One message of the model, if it said something.
fn write_message(body: &mut Body<'_>, said: &mut Vec<&Block>) {
    let blocks = std::mem::take(said);
    let Some(first) = blocks.first() else { return };
    begin_message(body, "assistant");
    write_said(body, &blocks, PARENT);
    if let Some(phase) = phase(first) {
        body.out.key(PHASE);
        body.out.json(&phase.value);
    }
    body.out.end_object();
}

fn write_call(body: &mut Body<'_>, block: &Block, (id, name, input): (&Text, &Text, &Text)) {
    if block.signature.is_some() {
        body.drop(format!("{PARENT}signature"));
    }
    body.out.begin_object();
    body.out.key("type");
    body.out.string("function_call");
    body.out.key("call_id");
    body.out.text(&call_id(id));
    body.out.key("name");
    body.out.text(name);
    body.out.key("arguments");
    body.out.text(input);
    write_cache(body, block, PARENT);
    dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// Reasoning that this vendor sealed. Of others it makes nothing; some providers of open models take the text itself.
fn write_reasoning(body: &mut Body<'_>, block: &Block) {
    let (sealed, text) = match &block.kind {
        BlockKind::RedactedThinking(sealed) => (Some(sealed), None),
        BlockKind::Thinking(text) => (block.signature.as_ref(), Some(text)),
        _ => return,
    };
    let proof = sealed.and_then(proof::meant_for_provider);
    let echoed = text.filter(|_| proof.is_none() && body.target.quirks.echo_reasoning);
    if proof.is_none() && echoed.is_none() {
        return body.drop(format!("{PARENT}{}", block.kind.type_name()));
    }
    body.out.begin_object();
    body.out.key("type");
    body.out.string("reasoning");
    let summary = match &proof {
        Some((id, _)) if !id.is_empty() => {
            body.out.key("id");
            body.out.text(id);
            text
        }
        Some(_) => text,
        None => None,
    };
    for (name, kind, text) in [("summary", "summary_text", summary), ("content", "reasoning_text", echoed)] {
        if name == "content" && text.is_none() {
            continue;
        }
        body.out.key(name);
        body.out.begin_array();
        if let Some(text) = text {
            body.out.begin_object();
            body.out.key("type");
            body.out.string(kind);
            body.out.key("text");
            body.out.text(text);
            body.out.end_object();
        }
        body.out.end_array();
    }
    if let Some((_, encrypted)) = &proof {
        body.out.key("encrypted_content");
        body.out.text(encrypted);
    }
    dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// The id of a call in a length that the vendor accepts; the same for a call and its result. Of a longer one the
/// beginning stays, with a checksum (FNV-1a) of the whole.
fn call_id(id: &Text) -> Text {
    let plain = id.plain();
    if plain.chars().count() <= CALL_ID_CHARS_MAX {
        return id.clone();
    }
    let sum = plain
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut short: String = plain.chars().take(CALL_ID_CHARS_MAX - 17).collect();
    let _ = write!(short, "_{sum:016x}");
    Text::new(&short)
}
