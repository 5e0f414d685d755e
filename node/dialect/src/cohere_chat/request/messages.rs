//! Reads the messages of a request.
//!
//! Tool messages in a row become one user message with their results, and a user message behind them joins it: that
//! is how the other vendors hold a turn, and the encoder takes it apart again. The plan before tool calls is
//! reasoning: the vendor shows it to its models in the same place.

use super::parts::{decode_call, read_content, read_document};
use crate::{
    Dialect, Refusal,
    cohere_chat::citations,
    ir::{Attachment, Block, BlockKind, Message, Role, Text},
    json::{Member, Raw, unescape},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::CohereChat;

/// Reads one message after the other.
pub(super) struct Messages<'a> {
    owner: &'a Bytes,
    out: Vec<Message>,
    /// The last message consists of tool results, and more may join.
    gathering: bool,
}

/// A message as it lies on the wire.
#[derive(Default)]
struct Wire<'v> {
    role: Option<Raw<'v>>,
    content: Option<Raw<'v>>,
    tool_call_id: Option<Text>,
    tool_calls: Option<Raw<'v>>,
    tool_plan: Option<Text>,
    citations: Option<Member<'v>>,
    attachments: Vec<Attachment>,
}

impl<'v> Wire<'v> {
    fn read(value: Raw<'v>, path: &Path<'_>, owner: &Bytes) -> Result<Self, Refusal> {
        let mut wire = Self::default();
        for member in path.object(value)? {
            let key = unescape(member.key);
            let at = path.member(&key);
            match &*key {
                "role" => wire.role = Some(member.value),
                "content" => wire.content = Some(member.value),
                "tool_call_id" => wire.tool_call_id = Some(at.text(member.value, owner)?),
                "tool_calls" => wire.tool_calls = Some(member.value),
                "tool_plan" => wire.tool_plan = Some(at.text(member.value, owner)?),
                "citations" => wire.citations = Some(member),
                _ => read::attach(&mut wire.attachments, SELF, &member, owner),
            }
        }
        Ok(wire)
    }
}

impl<'a> Messages<'a> {
    /// No messages yet; `owner` is the body that they lie in.
    pub(super) fn new(owner: &'a Bytes) -> Self {
        Self { owner, out: Vec::new(), gathering: false }
    }

    /// Reads the next message.
    pub(super) fn read(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let wire = Wire::read(value, path, self.owner)?;
        let role = path.required(wire.role, "role")?.string();
        match role.as_deref() {
            Some("system") => self.plain(Role::System, wire, path),
            Some("user") => self.plain(Role::User, wire, path),
            Some("assistant") => self.assistant(wire, path),
            Some("tool") => self.tool(wire, path),
            _ => Err(path.member("role").refuse("must be system, user, assistant or tool")),
        }
    }

    fn plain(&mut self, role: Role, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let content = path.required(wire.content, "content")?;
        let mut blocks = read_content(content, &path.member("content"), self.owner)?;
        let gathering = std::mem::take(&mut self.gathering);
        match self.out.last_mut() {
            Some(last) if gathering && role == Role::User => {
                last.blocks.append(&mut blocks);
                last.attachments = wire.attachments;
            }
            _ => self.out.push(Message { role, blocks, name: None, attachments: wire.attachments }),
        }
        Ok(())
    }

    fn assistant(&mut self, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let owner = self.owner;
        let mut blocks = match wire.content {
            Some(content) => read_content(content, &path.member("content"), owner)?,
            None => Vec::new(),
        };
        let contents = blocks.len();
        let plan = wire.tool_plan.filter(|plan| !plan.is_empty());
        blocks.extend(plan.map(|plan| Block::from(BlockKind::Thinking(plan))));
        if let Some(calls) = wire.tool_calls {
            let at = path.member("tool_calls");
            for (i, call) in at.array(calls)?.enumerate() {
                blocks.push(decode_call(call, owner).map_err(|what| at.element(i).refuse(what))?);
            }
        }
        let mut attachments = wire.attachments;
        if let Some(list) = wire.citations
            && !citations::place(list.value, &mut blocks, contents, owner)
        {
            read::attach(&mut attachments, SELF, &list, owner);
        }
        self.gathering = false;
        self.out.push(Message { role: Role::Assistant, blocks, name: None, attachments });
        Ok(())
    }

    fn tool(&mut self, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let id = path.required(wire.tool_call_id, "tool_call_id")?;
        let content = match wire.content {
            Some(content) => read_content(content, &path.member("content"), self.owner)?,
            None => Vec::new(),
        };
        let kind = BlockKind::ToolResult { id, content, is_error: false };
        let block = Block { attachments: wire.attachments, ..kind.into() };
        match self.out.last_mut() {
            Some(last) if self.gathering => last.blocks.push(block),
            _ => self.out.push(user(vec![block])),
        }
        self.gathering = true;
        Ok(())
    }

    /// What has been read, and the request's documents with the last thing that the user says: that is what they are
    /// for, and where other vendors want them.
    pub(super) fn finish(self, documents: Option<Raw<'_>>, path: &Path<'_>) -> Result<Vec<Message>, Refusal> {
        let mut messages = self.out;
        let Some(documents) = documents else { return Ok(messages) };
        let read = |(i, document): (usize, Raw<'_>)| read_document(document, &path.element(i), self.owner);
        let blocks = path.array(documents)?.enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        if blocks.is_empty() {
            return Ok(messages);
        }
        let said = |block: &Block| !matches!(block.kind, BlockKind::ToolResult { .. });
        let says = |message: &&mut Message| message.role == Role::User && message.blocks.iter().any(said);
        match messages.iter_mut().rev().find(says) {
            Some(message) => {
                let at = message.blocks.iter().position(said).unwrap_or(0);
                message.blocks.splice(at..at, blocks);
            }
            None => messages.push(user(blocks)),
        }
        Ok(messages)
    }
}

fn user(blocks: Vec<Block>) -> Message {
    Message { role: Role::User, blocks, name: None, attachments: Vec::new() }
}
