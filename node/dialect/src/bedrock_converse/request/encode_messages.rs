//! Writes `system` and `messages`.
//!
//! The vendor wants turns that alternate and begin with the user's: messages of one speaker become one, and a
//! conversation that begins with the model gets a first word of the user.

use super::encode_blocks::{Blocks, expressible, write_mark};
use crate::{
    Dialect, Refusal,
    bedrock_converse::family::Family,
    body::Body,
    dropped,
    ir::{Block, BlockKind, Message, Role, Text},
};

const SELF: Dialect = Dialect::BedrockConverse;

/// What the user says where the model begins.
const BEGINNING: &str = "[the conversation begins]";

/// What stands beside documents, which may not stand alone.
const SEE_DOCUMENT: &str = "[see the document]";

/// A conversation as it will stand on the wire.
pub(super) struct Conversation<'r> {
    family: Family,
    system: Vec<&'r Block>,
    turns: Vec<Turn<'r>>,
}

struct Turn<'r> {
    role: Role,
    blocks: Vec<&'r Block>,
}

impl<'r> Conversation<'r> {
    /// Sorts the messages, and leaves out what carries no text, as the vendor refuses it.
    pub(super) fn of(messages: &'r [Message], family: Family, body: &mut Body<'_>) -> Result<Self, Refusal> {
        let mut conversation = Self { family, system: Vec::new(), turns: Vec::new() };
        for (i, message) in messages.iter().enumerate() {
            note_message(message, body);
            match message.role {
                Role::System | Role::Developer => conversation.instruct(message, body),
                Role::User | Role::Assistant => {
                    let mut blocks = Vec::with_capacity(message.blocks.len());
                    for block in &message.blocks {
                        if expressible(block, message.role, i, (body, family))? {
                            blocks.push(block);
                        }
                    }
                    conversation.say(message.role, blocks);
                }
            }
        }
        // Instructions alone are not accepted: they become what the user says.
        if conversation.turns.is_empty() && !conversation.system.is_empty() {
            body.drop("messages[].role");
            let blocks = std::mem::take(&mut conversation.system);
            conversation.turns.push(Turn { role: Role::User, blocks });
        }
        Ok(conversation)
    }

    /// Instructions behind the first turn lose their place: most models take none there.
    fn instruct(&mut self, message: &'r Message, body: &mut Body<'_>) {
        if !self.turns.is_empty() {
            body.drop("messages[].role");
        }
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Text(text) if text.is_blank() => {}
                BlockKind::Text(_) => self.system.push(block),
                other => body.drop(format!("messages[].content[].{}", other.type_name())),
            }
        }
    }

    fn say(&mut self, role: Role, mut blocks: Vec<&'r Block>) {
        if blocks.is_empty() {
            return;
        }
        match self.turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => {
                turn.blocks.append(&mut blocks);
                // Results must follow their calls at once.
                turn.blocks.sort_by_key(|block| !matches!(block.kind, BlockKind::ToolResult { .. }));
            }
            None => self.turns.push(Turn { role, blocks }),
        }
    }

    /// The names of the tools that were called.
    pub(super) fn called(&self) -> Vec<&'r Text> {
        let mut names = Vec::new();
        for block in self.turns.iter().flat_map(|turn| &turn.blocks) {
            if let BlockKind::ToolUse { name, .. } = &block.kind
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    /// Writes both members. A prompt that lies with the vendor needs no messages.
    pub(super) fn write(&self, body: &mut Body<'_>) {
        if !self.system.is_empty() && body.member("system") {
            self.write_system(body);
        }
        if self.turns.is_empty() || !body.member("messages") {
            return;
        }
        body.out.begin_array();
        if self.turns.first().is_some_and(|turn| turn.role == Role::Assistant) {
            begin(body, Role::User);
            write_text(body, BEGINNING);
            end(body);
        }
        let mut blocks = Blocks::new(self.family);
        for turn in &self.turns {
            begin(body, turn.role);
            turn.blocks.iter().for_each(|block| blocks.write(body, block));
            let is_document = |block: &&Block| matches!(block.kind, BlockKind::Document(_));
            let is_text = |block: &&Block| matches!(block.kind, BlockKind::Text(_));
            if turn.blocks.iter().any(is_document) && !turn.blocks.iter().any(is_text) {
                write_text(body, SEE_DOCUMENT);
            }
            end(body);
        }
        body.out.end_array();
    }

    fn write_system(&self, body: &mut Body<'_>) {
        body.out.begin_array();
        for block in &self.system {
            let BlockKind::Text(text) = &block.kind else { continue };
            body.out.begin_object();
            let guarded = block.attachments.iter().find(|a| a.dialect == SELF && a.name.is("guardContent"));
            match guarded {
                Some(guarded) => {
                    body.out.key("guardContent");
                    body.out.json(&guarded.value);
                }
                None => {
                    body.out.key("text");
                    body.out.text(text);
                    let list = &block.attachments;
                    dropped::attachments(list, SELF, "system[].", &mut body.out, &mut body.dropped);
                }
            }
            body.out.end_object();
            write_mark(body, block.cache.as_ref(), self.family, "system[].");
        }
        body.out.end_array();
    }
}

fn begin(body: &mut Body<'_>, role: Role) {
    body.out.begin_object();
    body.out.key("role");
    body.out.string(if role == Role::User { "user" } else { "assistant" });
    body.out.key("content");
    body.out.begin_array();
}

fn end(body: &mut Body<'_>) {
    body.out.end_array();
    body.out.end_object();
}

fn write_text(body: &mut Body<'_>, plain: &str) {
    body.out.begin_object();
    body.out.key("text");
    body.out.string(plain);
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
