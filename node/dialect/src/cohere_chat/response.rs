//! Whole answers.
//!
//! Reasoning that stands right before the first call is told as the plan, unless it carries another vendor's seal,
//! which only a part of the content can. In a stream nobody knows yet whether a call will follow: there all reasoning
//! is content.

use super::{
    citations::{self, Said},
    finish::{self, Finish, Has},
    logprobs,
    request::{begin_text, decode_call, read_content, write_call_open},
    usage,
};
use crate::{
    Dialect, Encoded, StreamContext, dropped,
    ir::{Attachment, Block, BlockKind, Response, Text},
    json::{Kind, Member, Raw, Writer, unescape},
    read::{self, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::CohereChat;
const PARENT: &str = "content[].";

/// Reads an answer. The vendor does not say which model gave it.
pub(super) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let [mut id, mut message, mut reason, mut usage, mut likelihoods] = [None; 5];
    let mut attachments = Vec::new();
    for member in root.members() {
        let known = match &*unescape(member.key) {
            "id" => &mut id,
            "message" => &mut message,
            "finish_reason" => &mut reason,
            "usage" => &mut usage,
            "logprobs" => &mut likelihoods,
            _ if says_nothing(&member) => continue,
            _ => {
                read::attach(&mut attachments, SELF, &member, body);
                continue;
            }
        };
        known.get_or_insert(member.value);
    }
    let message: Raw<'_> = message.ok_or("an answer without a message")?;
    if let Some(text) = message.string() {
        return Err(format!("an error inside of a success: {text}"));
    }
    if message.kind() != Kind::Object {
        return Err("a message that is no object".to_owned());
    }
    let blocks = decode_message(message, body, &mut attachments)?;
    let text = |value: Option<Raw<'_>>| value.and_then(|value| value.text(body));
    let calls = Has::any(&blocks, |kind| matches!(kind, BlockKind::ToolUse { .. }));
    let stop = match finish::decode(text(reason), calls) {
        Finish::Stop(stop) => stop,
        Finish::Failed => return Err("the generation failed".to_owned()),
        Finish::TimedOut => return Err("the generation took too long".to_owned()),
    };
    let likelihoods = likelihoods.into_iter().flat_map(|list: Raw<'_>| list.elements());
    Ok(Response {
        id: text(id).unwrap_or_default(),
        model: Text::default(),
        created: None,
        blocks,
        stop,
        stop_sequence: None,
        logprobs: likelihoods.filter_map(|item| logprobs::read(item, body)).collect(),
        usage: usage.and_then(usage::decode),
        attachments,
    })
}

/// Whether a member that is not modelled is empty.
fn says_nothing(member: &Member<'_>) -> bool {
    matches!(member.value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"")
}

/// Content, plan, calls.
fn decode_message(
    message: Raw<'_>,
    owner: &Bytes,
    attachments: &mut Vec<Attachment>,
) -> Result<Vec<Block>, String> {
    let (mut blocks, mut plan, mut calls, mut list) = (Vec::new(), None, Vec::new(), None);
    for member in message.members().filter(|member| !member.value.is_null()) {
        let value = member.value;
        match &*unescape(member.key) {
            "role" => {}
            "content" => {
                let path = ROOT.member("message");
                let content = read_content(value, &path.member("content"), owner);
                blocks = content.map_err(|refusal| refusal.message.into_owned())?;
            }
            "tool_plan" => plan = value.text(owner).filter(|plan| !plan.is_empty()),
            "tool_calls" => {
                calls = value.elements().map(|call| decode_call(call, owner)).collect::<Result<_, _>>()?;
            }
            "citations" => list = Some(member),
            _ if says_nothing(&member) => {}
            _ => read::attach_inner(attachments, SELF, "message", &member, owner),
        }
    }
    let contents = blocks.len();
    blocks.extend(plan.map(|plan| Block::from(BlockKind::Thinking(plan))));
    blocks.append(&mut calls);
    if let Some(list) = list
        && !citations::place(list.value, &mut blocks, contents, owner)
    {
        read::attach_inner(attachments, SELF, "message", &list, owner);
    }
    Ok(blocks)
}

/// Writes an answer.
pub(super) fn encode(response: &Response, context: &StreamContext) -> Encoded {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    out.key("id");
    match response.id.is_empty() {
        true => out.string(&context.request_id),
        false => out.text(&response.id),
    }
    out.key("message");
    write_message(&response.blocks, &mut out, &mut dropped);
    let refusal = Has::any(&response.blocks, |kind| matches!(kind, BlockKind::Refusal(_)));
    out.key("finish_reason");
    out.string(finish::encode(&response.stop, refusal, &mut dropped));
    if response.stop_sequence.is_some() {
        dropped::note(&mut dropped, "stop_sequence");
    }
    if !response.logprobs.is_empty() {
        out.key("logprobs");
        out.begin_array();
        response.logprobs.iter().for_each(|token| logprobs::write(token, &mut out, &mut dropped));
        out.end_array();
    }
    dropped::attachments(&response.attachments, SELF, "", &mut out, &mut dropped);
    if let Some(usage) = &response.usage {
        out.key("usage");
        usage::encode(usage, &mut out);
    }
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

fn write_message(blocks: &[Block], out: &mut Writer, dropped: &mut Vec<String>) {
    let is_call = |block: &Block| matches!(block.kind, BlockKind::ToolUse { .. });
    let before_calls = blocks.iter().position(is_call).and_then(|first| first.checked_sub(1));
    let (mut content, mut calls, mut plan) = (Vec::new(), Vec::new(), None);
    for (i, block) in blocks.iter().enumerate() {
        match &block.kind {
            BlockKind::Thinking(_) if Some(i) == before_calls && block.signature.is_none() => {
                plan = Some(block);
            }
            BlockKind::Text(_)
            | BlockKind::Refusal(_)
            | BlockKind::Thinking(_)
            | BlockKind::RedactedThinking(_) => content.push(block),
            BlockKind::Opaque { dialect, .. } if *dialect == SELF => content.push(block),
            BlockKind::ToolUse { .. } => calls.push(block),
            other => dropped::note(dropped, format!("{PARENT}{}", other.type_name())),
        }
    }
    out.begin_object();
    out.key("role");
    out.string("assistant");
    if !content.is_empty() || (calls.is_empty() && plan.is_none()) {
        out.key("content");
        out.begin_array();
        content.iter().for_each(|block| write_content(block, out, dropped));
        out.end_array();
    }
    if let Some(Block { kind: BlockKind::Thinking(text), .. }) = plan {
        out.key("tool_plan");
        out.text(text);
    }
    if !calls.is_empty() {
        out.key("tool_calls");
        out.begin_array();
        calls.iter().for_each(|call| write_call(call, out, dropped));
        out.end_array();
    }
    write_citations(&content, plan, out);
    out.end_object();
}

fn write_content(block: &Block, out: &mut Writer, dropped: &mut Vec<String>) {
    match &block.kind {
        BlockKind::Opaque { json, .. } => return out.json(json),
        BlockKind::Text(text) | BlockKind::Refusal(text) => begin_text(out, "text", text),
        BlockKind::Thinking(text) => begin_text(out, "thinking", text),
        BlockKind::RedactedThinking(sealed) => {
            begin_text(out, "thinking", &Text::default());
            out.key("redacted");
            out.text(&sealed.carried(SELF));
        }
        _ => begin_text(out, "text", &Text::default()),
    }
    end_block(block, out, dropped);
}

fn write_call(block: &Block, out: &mut Writer, dropped: &mut Vec<String>) {
    if let BlockKind::ToolUse { id, name, input } = &block.kind {
        write_call_open(out, id, name, input);
        end_block(block, out, dropped);
    }
}

/// Writes another vendor's seal, which comes back that way, and what is attached; closes the object.
fn end_block(block: &Block, out: &mut Writer, dropped: &mut Vec<String>) {
    if let Some(signature) = &block.signature {
        out.key("signature");
        out.text(&signature.carried(SELF));
    }
    dropped::attachments(&block.attachments, SELF, PARENT, out, dropped);
    out.end_object();
}

fn write_citations(content: &[&Block], plan: Option<&Block>, out: &mut Writer) {
    if content.iter().copied().chain(plan).all(|block| block.citations.is_empty()) {
        return;
    }
    out.key("citations");
    out.begin_array();
    for (index, block) in (0..).zip(content) {
        let said = match &block.kind {
            BlockKind::Text(text) | BlockKind::Refusal(text) | BlockKind::Thinking(text) => Said::Text(text),
            _ => Said::Length(0),
        };
        block.citations.iter().for_each(|citation| citations::write(citation, index, &said, out));
    }
    for citation in plan.iter().flat_map(|plan| &plan.citations) {
        out.json(&citation.json);
    }
    out.end_array();
}
