//! Writes the messages of a request.

use super::encode_parts::{check_expressible, document_text, write_content};
use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    ir::{Block, BlockKind, Message, Role, Text},
    json::Writer,
};
use std::borrow::Cow;

const SELF: Dialect = Dialect::CohereChat;
const PARENT: &str = "messages[].content[].";

/// Stands in a tool message, which can hold texts and documents only, for what follows in a user message.
static SEE_NEXT_MESSAGE: Text = Text::fixed("[see the next user message]");

/// Where plain documents in what the user says are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Documents {
    /// In the member of the request that is for them, so that the answer can cite them.
    Apart,
    /// Where they stand, as text.
    InPlace,
}

/// Writes the array of messages, and returns the documents that are to be written apart from it. Messages without
/// anything in them are left out, as the vendor refuses them.
pub(super) fn write_messages<'r>(
    body: &mut Body<'_>,
    messages: &'r [Message],
    documents: Documents,
) -> Result<Vec<&'r Block>, Refusal> {
    let mut apart = Vec::new();
    if !body.member("messages") {
        return Ok(apart);
    }
    body.out.begin_array();
    write_system(body, messages);
    for (i, message) in messages.iter().enumerate() {
        match message.role {
            Role::System | Role::Developer => {}
            Role::User => {
                let mut user = User { body, index: i, documents, apart: &mut apart };
                user.write(message)?;
            }
            Role::Assistant => write_assistant(body, message),
        }
    }
    body.out.end_array();
    Ok(apart)
}

fn begin(out: &mut Writer, role: &str) {
    out.begin_object();
    out.key("role");
    out.string(role);
}

/// Writes what is attached to a message, and closes it.
fn end(body: &mut Body<'_>, message: &Message) {
    if message.name.is_some() {
        body.drop("messages[].name");
    }
    dropped::attachments(&message.attachments, SELF, "messages[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// The vendor demands that instructions come first, so those that stand later lose their place. Instructions alone
/// become what the user says.
fn write_system(body: &mut Body<'_>, messages: &[Message]) {
    let is_system = |message: &&Message| matches!(message.role, Role::System | Role::Developer);
    let mut blocks = Vec::new();
    let (mut turns, mut late) = (0, 0);
    for message in messages {
        if !is_system(&message) {
            turns += 1;
            continue;
        }
        late += usize::from(turns > 0);
        for block in &message.blocks {
            match &block.kind {
                BlockKind::Text(_) => blocks.push(block),
                other => body.drop(format!("system[].{}", other.type_name())),
            }
        }
    }
    if late > 0 || (turns == 0 && !blocks.is_empty()) {
        body.drop("messages[].role");
    }
    let systems: Vec<&Message> = messages.iter().filter(is_system).collect();
    match systems.as_slice() {
        _ if blocks.is_empty() => {}
        [only] => {
            begin(&mut body.out, if turns == 0 { "user" } else { "system" });
            body.out.key("content");
            write_content(body, &blocks);
            end(body, only);
        }
        several => {
            begin(&mut body.out, if turns == 0 { "user" } else { "system" });
            body.out.key("content");
            write_content(body, &blocks);
            body.out.end_object();
            for message in several {
                if message.name.is_some() {
                    body.drop("messages[].name");
                }
                for attachment in &message.attachments {
                    body.drop(format!("messages[].{}", attachment.name.plain()));
                }
            }
        }
    }
}

/// Writes what the user says.
struct User<'b, 't, 'r, 'a> {
    body: &'b mut Body<'t>,
    index: usize,
    documents: Documents,
    apart: &'a mut Vec<&'r Block>,
}

impl<'r> User<'_, '_, 'r, '_> {
    /// Tool results first, each as a message of its own, as they must follow the calls; then what they hold that a
    /// tool message cannot, and what the user says.
    fn write(&mut self, message: &'r Message) -> Result<(), Refusal> {
        let mut rest: Vec<&'r Block> = Vec::new();
        for block in &message.blocks {
            if let BlockKind::ToolResult { id, content, is_error } = &block.kind {
                if *is_error {
                    self.body.drop(format!("{PARENT}is_error"));
                }
                let fits = |inner: &&Block| match &inner.kind {
                    BlockKind::Document(_) => check_expressible(inner, 0).is_ok(),
                    kind => matches!(kind, BlockKind::Text(_)) || is_own(kind),
                };
                let fitting: Vec<&Block> = content.iter().filter(fits).collect();
                self.write_result(block, id, &fitting);
                rest.extend(content.iter().filter(|inner| !fits(inner)));
            }
        }
        rest.extend(
            message.blocks.iter().filter(|block| !matches!(block.kind, BlockKind::ToolResult { .. })),
        );
        for block in &rest {
            check_expressible(block, self.index)?;
        }
        let said = self.take_documents(rest);
        if !said.is_empty() {
            begin(&mut self.body.out, "user");
            self.body.out.key("content");
            write_content(self.body, &said.iter().map(AsRef::as_ref).collect::<Vec<_>>());
            end(self.body, message);
        }
        Ok(())
    }

    /// Takes out the documents that are written apart; what is left is written in place. A message of documents
    /// alone keeps them.
    fn take_documents(&mut self, blocks: Vec<&'r Block>) -> Vec<Cow<'r, Block>> {
        let is_document = |block: &&Block| matches!(block.kind, BlockKind::Document(_));
        let apart = self.documents == Documents::Apart && !blocks.iter().all(is_document);
        let mut said = Vec::with_capacity(blocks.len());
        for block in blocks {
            match document_text(block) {
                Some(_) if apart => self.apart.push(block),
                Some(text) => said.push(Cow::Owned(text)),
                None => said.push(Cow::Borrowed(block)),
            }
        }
        said
    }

    fn write_result(&mut self, block: &Block, id: &Text, fitting: &[&Block]) {
        let BlockKind::ToolResult { content: all, .. } = &block.kind else { return };
        let see: Block = BlockKind::Text(SEE_NEXT_MESSAGE.clone()).into();
        let mut content = fitting.to_vec();
        if content.len() < all.len() {
            content.push(&see);
        }
        let body = &mut *self.body;
        begin(&mut body.out, "tool");
        body.out.key("tool_call_id");
        body.out.text(id);
        body.out.key("content");
        write_content(body, &content);
        if block.cache.is_some() {
            body.drop(format!("{PARENT}cache_control"));
        }
        dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
        body.out.end_object();
    }
}

fn is_own(kind: &BlockKind) -> bool {
    matches!(kind, BlockKind::Opaque { dialect, .. } if *dialect == SELF)
}

/// Reasoning right before the first call is the plan.
fn write_assistant(body: &mut Body<'_>, message: &Message) {
    let is_call = |block: &Block| matches!(block.kind, BlockKind::ToolUse { .. });
    let plan = message.blocks.iter().position(is_call).and_then(|first| first.checked_sub(1));
    let (mut content, mut calls, mut tool_plan) = (Vec::new(), Vec::new(), None);
    for (i, block) in message.blocks.iter().enumerate() {
        let signed = block.signature.as_ref().is_some_and(|signature| signature.meant_for(SELF).is_some());
        match &block.kind {
            BlockKind::Thinking(text) if text.is_empty() => note_block(body, block),
            BlockKind::Thinking(text) if Some(i) == plan && !signed => {
                note_block(body, block);
                tool_plan = Some(text);
            }
            BlockKind::Text(text) | BlockKind::Refusal(text) if text.is_empty() => note_block(body, block),
            BlockKind::Text(_) | BlockKind::Refusal(_) | BlockKind::Thinking(_) => content.push(block),
            BlockKind::RedactedThinking(sealed) if sealed.meant_for(SELF).is_some() => content.push(block),
            kind if is_own(kind) => content.push(block),
            BlockKind::ToolUse { .. } => calls.push(block),
            other => body.drop(format!("{PARENT}{}", other.type_name())),
        }
    }
    if content.is_empty() && calls.is_empty() {
        return;
    }
    begin(&mut body.out, "assistant");
    if !content.is_empty() {
        body.out.key("content");
        write_content(body, &content);
    }
    if let Some(plan) = tool_plan {
        body.out.key("tool_plan");
        body.out.text(plan);
    }
    if !calls.is_empty() {
        body.out.key("tool_calls");
        body.out.begin_array();
        calls.iter().for_each(|call| write_call(body, call));
        body.out.end_array();
    }
    write_citations(body, message);
    end(body, message);
}

/// Names what is attached to a block that is written as bare text, or left out.
fn note_block(body: &mut Body<'_>, block: &Block) {
    if block.signature.is_some() {
        body.drop(format!("{PARENT}signature"));
    }
    dropped::bare(block, PARENT, &mut body.dropped);
}

fn write_call(body: &mut Body<'_>, block: &Block) {
    let BlockKind::ToolUse { id, name, input } = &block.kind else { return };
    write_call_open(&mut body.out, id, name, input);
    match block.signature.as_ref().map(|signature| signature.meant_for(SELF)) {
        Some(Some(signature)) => {
            body.out.key("signature");
            body.out.text(signature);
        }
        Some(None) => body.drop(format!("{PARENT}signature")),
        None => {}
    }
    if block.cache.is_some() {
        body.drop(format!("{PARENT}cache_control"));
    }
    dropped::attachments(&block.attachments, SELF, PARENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// A call, its object still open.
pub(in crate::cohere_chat) fn write_call_open(out: &mut Writer, id: &Text, name: &Text, input: &Text) {
    out.begin_object();
    out.key("id");
    out.text(id);
    out.key("type");
    out.string("function");
    out.key("function");
    out.begin_object();
    out.key("name");
    out.text(name);
    out.key("arguments");
    out.text(input);
    out.end_object();
}

/// Citations of earlier answers go back to their own vendor.
fn write_citations(body: &mut Body<'_>, message: &Message) {
    let citations = message.blocks.iter().flat_map(|block| &block.citations);
    let (own, foreign): (Vec<_>, Vec<_>) = citations.partition(|citation| citation.dialect == SELF);
    if !foreign.is_empty() {
        body.drop(format!("{PARENT}citations"));
    }
    if own.is_empty() {
        return;
    }
    body.out.key("citations");
    body.out.begin_array();
    own.iter().for_each(|citation| body.out.json(&citation.json));
    body.out.end_array();
}
