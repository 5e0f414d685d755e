//! Writes `systemInstruction` and `contents`.

use super::encode_parts::{Parts, expressible};
use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    ir::{Block, BlockKind, Message, Role},
};

const SELF: Dialect = Dialect::Gemini;

/// A content: neighbouring messages of one speaker, because calls and their results must follow each other.
struct Turn<'r> {
    role: Role,
    blocks: Vec<&'r Block>,
    messages: Vec<&'r Message>,
}

/// Writes both members. Instructions that stand behind the first turn lose their place, and are named.
pub(super) fn write_contents(body: &mut Body<'_>, messages: &[Message]) -> Result<(), Refusal> {
    let (mut system, mut turns, mut late): (Vec<&Block>, Vec<Turn<'_>>, _) = (Vec::new(), Vec::new(), false);
    for (i, message) in messages.iter().enumerate() {
        let mut blocks = Vec::with_capacity(message.blocks.len());
        match message.role {
            Role::System | Role::Developer => {
                note_message(message, body);
                late |= !turns.is_empty();
                for block in &message.blocks {
                    match &block.kind {
                        BlockKind::Text(text) if text.is_empty() => {}
                        BlockKind::Text(_) => system.push(block),
                        BlockKind::Opaque { dialect: SELF, .. } => system.push(block),
                        other => body.drop(format!("messages[].content[].{}", other.type_name())),
                    }
                }
                continue;
            }
            Role::User | Role::Assistant => {
                for block in &message.blocks {
                    if expressible(block, message.role, i, body)? {
                        blocks.push(block);
                    }
                }
            }
        }
        match turns.last_mut() {
            _ if blocks.is_empty() => note_message(message, body),
            Some(turn) if turn.role == message.role => {
                turn.blocks.append(&mut blocks);
                turn.messages.push(message);
            }
            _ => turns.push(Turn { role: message.role, blocks, messages: vec![message] }),
        }
    }
    // Instructions alone are not accepted: they become what the user says.
    let only_system = turns.is_empty() && !system.is_empty();
    if late || only_system {
        body.drop("messages[].role");
    }
    if only_system {
        turns.push(Turn { role: Role::User, blocks: std::mem::take(&mut system), messages: Vec::new() });
    }
    let parts = Parts::of(messages, body.target.model);
    if !system.is_empty() && body.member("systemInstruction") {
        body.out.begin_object();
        body.out.key("parts");
        parts.write(body, Role::System, &system);
        body.out.end_object();
    }
    if body.member("contents") {
        body.out.begin_array();
        turns.iter().for_each(|turn| write_turn(body, turn, &parts));
        body.out.end_array();
    }
    Ok(())
}

fn write_turn(body: &mut Body<'_>, turn: &Turn<'_>, parts: &Parts<'_>) {
    body.out.begin_object();
    body.out.key("role");
    body.out.string(if turn.role == Role::Assistant { "model" } else { "user" });
    body.out.key("parts");
    parts.write(body, turn.role, &turn.blocks);
    if let [only] = turn.messages.as_slice() {
        if only.name.is_some() {
            body.drop("messages[].name");
        }
        dropped::attachments(&only.attachments, SELF, "messages[].", &mut body.out, &mut body.dropped);
    } else {
        turn.messages.iter().for_each(|message| note_message(message, body));
    }
    body.out.end_object();
}

/// Names what a message holds besides its blocks.
fn note_message(message: &Message, body: &mut Body<'_>) {
    if message.name.is_some() {
        body.drop("messages[].name");
    }
    for attachment in &message.attachments {
        body.drop(format!("messages[].{}", attachment.name.plain()));
    }
}
