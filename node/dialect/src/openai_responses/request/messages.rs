//! Reads the items of a request into messages.
//!
//! What the model said, reasoned and called in a row is one message, and so are the results of calls with the user
//! message behind them: that is how the other vendors hold a turn, and the encoder takes it apart again.

use super::super::{items, parts::read_content};
use crate::{
    Dialect, Refusal,
    ir::{Attachment, Block, BlockKind, Message, Role},
    json::Raw,
    read::{Fields, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiResponses;

/// Reads one item after the other.
pub(super) struct Messages<'a> {
    owner: &'a Bytes,
    out: Vec<Message>,
    /// The last message consists of results, and more may join.
    gathering: bool,
}

impl<'a> Messages<'a> {
    /// No messages yet; `owner` is the body that they lie in.
    pub(super) fn new(owner: &'a Bytes) -> Self {
        Self { owner, out: Vec::new(), gathering: false }
    }

    /// What has been read.
    pub(super) fn finish(self) -> Vec<Message> {
        self.out
    }

    /// A message of one text.
    pub(super) fn say(&mut self, role: Role, text: crate::ir::Text) {
        let blocks = if text.is_empty() { Vec::new() } else { vec![BlockKind::Text(text).into()] };
        self.push(role, blocks, Vec::new());
    }

    /// Reads the next item. A message need not say that it is one.
    pub(super) fn read(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let mut fields = Fields::of(value, path, self.owner)?;
        let kind = fields.optional_text("type")?;
        let kind = kind.as_ref().map(|kind| kind.plain());
        match kind.as_deref() {
            Some("message") => self.message(fields, path),
            None if value.get("role").is_some_and(|role| !role.is_null()) => self.message(fields, path),
            Some("function_call") => {
                self.assistant(vec![items::read_call(fields)?]);
                Ok(())
            }
            Some("reasoning") => {
                self.assistant(items::read_reasoning(fields)?.into_iter().collect());
                Ok(())
            }
            Some("function_call_output") => self.output(fields, path),
            kind => {
                let block = BlockKind::Opaque { dialect: SELF, json: value.json(self.owner) }.into();
                match said_by(kind.unwrap_or_default()) {
                    Role::Assistant => self.assistant(vec![block]),
                    _ => self.result(block),
                }
                Ok(())
            }
        }
    }

    fn message(&mut self, mut fields: Fields<'_, '_>, path: &Path<'_>) -> Result<(), Refusal> {
        let role = match &*fields.text("role")?.plain() {
            "system" => Role::System,
            "developer" => Role::Developer,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return Err(path.member("role").refuse("must be system, developer, user or assistant")),
        };
        let content = path.required(fields.take("content"), "content")?;
        let mut blocks = read_content(content, &path.member("content"), self.owner)?;
        fields.take("id");
        fields.take("status");
        let attachments = fields.rest(SELF);
        if role != Role::Assistant {
            self.push(role, blocks, attachments);
            return Ok(());
        }
        // The message may be one of several in a turn, so what belongs to it goes with its first block.
        if let Some(first) = blocks.first_mut() {
            first.attachments.extend(attachments);
        }
        self.assistant(blocks);
        Ok(())
    }

    fn push(&mut self, role: Role, mut blocks: Vec<Block>, attachments: Vec<Attachment>) {
        let gathering = std::mem::take(&mut self.gathering);
        match self.out.last_mut() {
            Some(last) if gathering && role == Role::User => {
                last.blocks.append(&mut blocks);
                last.attachments = attachments;
            }
            _ => self.out.push(Message { role, blocks, name: None, attachments }),
        }
    }

    fn assistant(&mut self, mut blocks: Vec<Block>) {
        self.gathering = false;
        match self.out.last_mut() {
            Some(last) if last.role == Role::Assistant => last.blocks.append(&mut blocks),
            _ if blocks.is_empty() => {}
            _ => {
                self.out.push(Message { role: Role::Assistant, blocks, name: None, attachments: Vec::new() })
            }
        }
    }

    fn output(&mut self, mut fields: Fields<'_, '_>, path: &Path<'_>) -> Result<(), Refusal> {
        let id = fields.text("call_id")?;
        let content = path.required(fields.take("output"), "output")?;
        let content = read_content(content, &path.member("output"), self.owner)?;
        fields.take("id");
        fields.take("status");
        let mut block = Block::from(BlockKind::ToolResult { id, content, is_error: false });
        block.cache = fields.take("cache_control").map(|cache| cache.json(self.owner));
        block.attachments = fields.rest(SELF);
        self.result(block);
        Ok(())
    }

    fn result(&mut self, block: Block) {
        match self.out.last_mut() {
            Some(last) if self.gathering => last.blocks.push(block),
            _ => self.push(Role::User, vec![block], Vec::new()),
        }
        self.gathering = true;
    }
}

/// Who an item that is not modelled comes from. What the vendor's tools did may be left out for another vendor; what
/// the application says, and what stands for earlier turns (`item_reference`, `compaction`), may not: in a user
/// message it is refused.
fn said_by(kind: &str) -> Role {
    let own =
        kind.ends_with("_call") || matches!(kind, "mcp_list_tools" | "mcp_approval_request" | "program");
    if own { Role::Assistant } else { Role::User }
}
