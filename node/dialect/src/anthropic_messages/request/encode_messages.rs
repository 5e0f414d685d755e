//! Writes `system` and `messages`.

use super::encode_blocks::{expressible, write_block};
use crate::{
    Refusal,
    body::Body,
    dropped,
    ir::{Block, BlockKind, Message, Role, Text},
    read::ROOT,
};

/// A conversation with the instructions taken out of it.
pub(super) struct Conversation<'r> {
    system: Vec<&'r Message>,
    turns: Vec<(usize, &'r Message)>,
    /// Instructions that stood behind the first turn, and so lose their place.
    late: usize,
}

impl<'r> Conversation<'r> {
    /// Sorts the messages.
    pub(super) fn of(messages: &'r [Message]) -> Self {
        let mut conversation = Self { system: Vec::new(), turns: Vec::new(), late: 0 };
        for (i, message) in messages.iter().enumerate() {
            match message.role {
                Role::System | Role::Developer => {
                    conversation.late += usize::from(!conversation.turns.is_empty());
                    conversation.system.push(message);
                }
                Role::User | Role::Assistant => conversation.turns.push((i, message)),
            }
        }
        conversation
    }

    /// The names of the tools that were called.
    pub(super) fn called(&self) -> Vec<&'r Text> {
        let mut names = Vec::new();
        for block in self.turns.iter().flat_map(|(_, message)| &message.blocks) {
            if let BlockKind::ToolUse { name, .. } = &block.kind
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    /// Writes both members. Blocks without text are left out, as the vendor refuses them, and with them messages
    /// that hold nothing else.
    pub(super) fn write(&self, body: &mut Body<'_>) -> Result<(), Refusal> {
        let mut system = Vec::new();
        for message in &self.system {
            note_message(message, body);
            for block in &message.blocks {
                match &block.kind {
                    BlockKind::Text(text) if text.is_blank() => {}
                    BlockKind::Text(_) => system.push(block),
                    other => body.drop(format!("messages[].content[].{}", other.type_name())),
                }
            }
        }
        let mut turns = Vec::with_capacity(self.turns.len());
        let messages = ROOT.member("messages");
        for (index, message) in &self.turns {
            let at = messages.element(*index);
            let at = at.member("content");
            let mut blocks = Vec::with_capacity(message.blocks.len());
            for (i, block) in message.blocks.iter().enumerate() {
                if expressible(block, message.role, &at.element(i), body)? {
                    blocks.push(block);
                }
            }
            if !blocks.is_empty() {
                turns.push((*message, blocks));
            }
        }
        // Instructions alone are not accepted: they become what the user says.
        let only_system = turns.is_empty() && !system.is_empty();
        if self.late > 0 || only_system {
            body.drop("messages[].role");
        }
        if !only_system && !system.is_empty() && body.member("system") {
            write_content(body, &system);
        }
        if !body.member("messages") {
            return Ok(());
        }
        body.out.begin_array();
        if only_system {
            begin(body, "user");
            write_content(body, &system);
            body.out.end_object();
        }
        for (message, blocks) in turns {
            begin(body, if message.role == Role::User { "user" } else { "assistant" });
            write_content(body, &blocks);
            note_message(message, body);
            body.out.end_object();
        }
        body.out.end_array();
        Ok(())
    }
}

fn begin(body: &mut Body<'_>, role: &str) {
    body.out.begin_object();
    body.out.key("role");
    body.out.string(role);
    body.out.key("content");
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

/// A string where one plain text says it all, else an array of blocks.
pub(super) fn write_content(body: &mut Body<'_>, blocks: &[&Block]) {
    if let [Block { kind: BlockKind::Text(text), cache: None, signature: None, citations, attachments }] =
        blocks
        && attachments.is_empty()
        && citations.is_empty()
    {
        return body.out.text(text);
    }
    if body.target.quirks.flatten_content && flat(blocks) {
        let mut texts = Vec::with_capacity(blocks.len());
        for block in blocks {
            dropped::bare(block, "messages[].content[].", &mut body.dropped);
            dropped::citations(block, "messages[].content[].", &mut body.dropped);
            dropped::signature(block, "messages[].content[].", &mut body.dropped);
            if let BlockKind::Text(text) = &block.kind {
                texts.push(text);
            }
        }
        let joined = Text::join(texts, "\\n");
        return body.out.text(&joined);
    }
    body.out.begin_array();
    for block in blocks {
        write_block(body, block);
    }
    body.out.end_array();
}

fn flat(blocks: &[&Block]) -> bool {
    blocks.iter().all(|block| matches!(block.kind, BlockKind::Text(_)))
}
