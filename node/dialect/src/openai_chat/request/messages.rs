//! Reads the messages of a request.
//!
//! Tool messages in a row become one user message with their results, and a user message behind them joins it: that
//! is how the other vendors hold a turn, and the encoder takes it apart again.

use super::parts::{self, decode_call, read_content};
use crate::{
    Dialect, Refusal,
    ir::{Attachment, Block, BlockKind, Json, Message, Role, Sealed, Text},
    json::{Kind, Member, Raw, unescape},
    openai_chat::{annotations, proof},
    read::{self, Path},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// Reads one message after the other.
pub(super) struct Messages<'a> {
    owner: &'a Bytes,
    out: Vec<Message>,
    /// The last message consists of tool results, and more may join.
    gathering: bool,
    /// How many calls of the older kind, which have no id, have been seen.
    legacy_calls: usize,
}

/// A message as it lies on the wire.
#[derive(Default)]
struct Wire<'v> {
    role: Option<Raw<'v>>,
    content: Option<Raw<'v>>,
    name: Option<Text>,
    tool_call_id: Option<Text>,
    tool_calls: Option<Raw<'v>>,
    function_call: Option<Raw<'v>>,
    refusal: Option<Text>,
    reasoning: Option<Text>,
    thinking_blocks: Option<Raw<'v>>,
    annotations: Option<Member<'v>>,
    proof: Option<Sealed>,
    cache: Option<Json>,
    attachments: Vec<Attachment>,
}

impl<'v> Wire<'v> {
    fn read(value: Raw<'v>, path: &Path<'_>, owner: &Bytes) -> Result<Self, Refusal> {
        let mut wire = Self::default();
        for member in path.object(value)? {
            wire.member(&member, path, owner)?;
        }
        Ok(wire)
    }

    fn member(&mut self, member: &Member<'v>, path: &Path<'_>, owner: &Bytes) -> Result<(), Refusal> {
        let key = unescape(member.key);
        let at = path.member(&key);
        let value = member.value;
        match &*key {
            "role" => self.role = Some(value),
            "content" => self.content = Some(value),
            "name" => self.name = Some(at.text(value, owner)?),
            "tool_call_id" => self.tool_call_id = Some(at.text(value, owner)?),
            "tool_calls" => self.tool_calls = Some(value),
            "function_call" => self.function_call = Some(value),
            "refusal" => self.refusal = Some(at.text(value, owner)?),
            "reasoning_content" => self.reasoning = Some(at.text(value, owner)?),
            "reasoning" if value.kind() == Kind::String && self.reasoning.is_none() => {
                self.reasoning = value.text(owner);
            }
            "thinking_blocks" => self.thinking_blocks = Some(value),
            "annotations" => self.annotations = Some(*member),
            "extra_content" => self.proof = proof::read(member, owner, &mut self.attachments),
            "cache_control" => self.cache = Some(value.json(owner)),
            _ => read::attach(&mut self.attachments, SELF, member, owner),
        }
        Ok(())
    }
}

impl<'a> Messages<'a> {
    /// No messages yet; `owner` is the body that they lie in.
    pub(super) fn new(owner: &'a Bytes) -> Self {
        Self { owner, out: Vec::new(), gathering: false, legacy_calls: 0 }
    }

    /// What has been read.
    pub(super) fn finish(self) -> Vec<Message> {
        self.out
    }

    /// Reads the next message.
    pub(super) fn read(&mut self, value: Raw<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let wire = Wire::read(value, path, self.owner)?;
        let role = path.required(wire.role, "role")?.string();
        match role.as_deref() {
            Some("system") => self.plain(Role::System, wire, path),
            Some("developer") => self.plain(Role::Developer, wire, path),
            Some("user") => self.plain(Role::User, wire, path),
            Some("assistant") => self.assistant(wire, path),
            Some("tool") => self.tool(wire, path),
            Some("function") => self.function(wire, path),
            _ => Err(path
                .member("role")
                .refuse("must be system, developer, user, assistant, tool or function")),
        }
    }

    fn plain(&mut self, role: Role, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let content = path.required(wire.content, "content")?;
        let mut blocks = read_content(content, &path.member("content"), self.owner)?;
        mark_last(&mut blocks, wire.cache);
        let gathering = std::mem::take(&mut self.gathering);
        match self.out.last_mut() {
            Some(last) if gathering && role == Role::User => {
                last.blocks.append(&mut blocks);
                last.name = wire.name;
                last.attachments = wire.attachments;
            }
            _ => self.out.push(Message { role, blocks, name: wire.name, attachments: wire.attachments }),
        }
        Ok(())
    }

    fn assistant(&mut self, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let mut blocks = self.thoughts(&wire, path)?;
        let mut attachments = wire.attachments;
        if let Some(content) = wire.content {
            blocks.append(&mut read_content(content, &path.member("content"), self.owner)?);
        }
        if let Some(member) = wire.annotations {
            path.member("annotations").array(member.value).map(drop)?;
            if !annotations::place(member.value, &mut blocks, self.owner) {
                read::attach(&mut attachments, SELF, &member, self.owner);
            }
        }
        let last_text = blocks.iter_mut().rev().find(|block| matches!(block.kind, BlockKind::Text(_)));
        if let (Some(block), Some(proof)) = (last_text, wire.proof) {
            block.signature = Some(proof);
        }
        if let Some(text) = wire.refusal.filter(|text| !text.is_empty()) {
            blocks.push(BlockKind::Refusal(text).into());
        }
        if let Some(calls) = wire.tool_calls {
            let at = path.member("tool_calls");
            for (i, call) in at.array(calls)?.enumerate() {
                blocks.push(decode_call(call, self.owner).map_err(|what| at.element(i).refuse(what))?);
            }
        }
        if let Some(call) = wire.function_call {
            self.legacy_calls += 1;
            let id = legacy_id(self.legacy_calls);
            let at = path.member("function_call");
            let kind =
                parts::decode_function(call, id, self.owner).ok_or_else(|| at.refuse("must have a name"))?;
            blocks.push(kind.into());
        }
        mark_last(&mut blocks, wire.cache);
        self.gathering = false;
        self.out.push(Message { role: Role::Assistant, blocks, name: wire.name, attachments });
        Ok(())
    }

    fn thoughts(&self, wire: &Wire<'_>, path: &Path<'_>) -> Result<Vec<Block>, Refusal> {
        let Some(list) = wire.thinking_blocks else {
            let text = wire.reasoning.clone().filter(|text| !text.is_empty());
            return Ok(text.map(|text| BlockKind::Thinking(text).into()).into_iter().collect());
        };
        let at = path.member("thinking_blocks");
        let read = |(i, block)| {
            parts::thinking_block(block, self.owner)
                .ok_or_else(|| at.element(i).refuse("must be a thinking block"))
        };
        at.array(list)?.enumerate().map(read).collect()
    }

    fn tool(&mut self, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        let id = path.required(wire.tool_call_id, "tool_call_id")?;
        let content = match wire.content {
            Some(content) => read_content(content, &path.member("content"), self.owner)?,
            None => Vec::new(),
        };
        self.result(id, content, wire.cache, wire.attachments);
        Ok(())
    }

    /// The result of a call of the older kind belongs to the last such call.
    fn function(&mut self, wire: Wire<'_>, path: &Path<'_>) -> Result<(), Refusal> {
        if self.legacy_calls == 0 {
            return Err(path.refuse("answers no function_call of an earlier message"));
        }
        let content = match wire.content {
            Some(content) => read_content(content, &path.member("content"), self.owner)?,
            None => Vec::new(),
        };
        self.result(legacy_id(self.legacy_calls), content, wire.cache, wire.attachments);
        Ok(())
    }

    fn result(&mut self, id: Text, content: Vec<Block>, cache: Option<Json>, attachments: Vec<Attachment>) {
        let kind = BlockKind::ToolResult { id, content, is_error: false };
        let block = Block { cache, attachments, ..kind.into() };
        match self.out.last_mut() {
            Some(last) if self.gathering => last.blocks.push(block),
            _ => {
                let (name, attachments) = (None, Vec::new());
                self.out.push(Message { role: Role::User, blocks: vec![block], name, attachments });
            }
        }
        self.gathering = true;
    }
}

/// A mark on a whole message is one on its last block.
fn mark_last(blocks: &mut [Block], cache: Option<Json>) {
    if let (Some(last), Some(cache)) = (blocks.last_mut(), cache) {
        last.cache.get_or_insert(cache);
    }
}

fn legacy_id(count: usize) -> Text {
    Text::new(&format!("call_function_{count}"))
}
