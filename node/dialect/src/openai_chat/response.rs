//! Whole answers.

use super::{
    annotations, logprobs, proof,
    request::{decode_call, thinking_block, write_call_open, write_thinking},
    usage,
};
use crate::{
    Dialect, Encoded, StreamContext, dropped,
    ir::{Attachment, Block, BlockKind, Json, Response, Sealed, StopReason, Text},
    json::{Kind, Member, Raw, Writer, unescape},
    read,
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// Reads an answer. Of several choices the first one counts: who asked for more was not sent here.
pub(super) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut attachments = Vec::new();
    let (mut id, mut model, mut created, mut usage) = (None, None, None, None);
    let mut choices = None;
    for member in root.members() {
        let value = member.value;
        match &*unescape(member.key) {
            "error" if !value.is_null() => {
                let message = value.get("message").unwrap_or(value).string();
                return Err(format!("an error inside of a success: {}", message.unwrap_or_default()));
            }
            "id" => id = value.text(body),
            "model" => model = value.text(body),
            "created" => created = value.u64(),
            "choices" => choices = Some(value),
            "usage" => usage = usage::decode(value),
            "object" | "error" => {}
            _ if says_nothing(&member) => {}
            _ => read::attach(&mut attachments, SELF, &member, body),
        }
    }
    let choice = choices.and_then(|choices| choices.elements().next());
    let choice = choice.ok_or("an answer without choices")?;
    let message = choice.get("message").ok_or("a choice without a message")?;
    let id = id.unwrap_or_default();
    let mut blocks = decode_message(message, body, &mut attachments)?;
    let mut tokens = Vec::new();
    for member in choice.members() {
        match &*unescape(member.key) {
            "index" | "message" | "finish_reason" | "stop_reason" => {}
            "logprobs" => tokens = logprobs::read(member.value, body),
            _ if says_nothing(&member) => {}
            _ => read::attach_inner(&mut attachments, SELF, "choices[]", &member, body),
        }
    }
    if let Some(call) = message.get("function_call").filter(|call| !call.is_null()) {
        let call_id = Text::new(&format!("call_{}", id.plain()));
        let call = super::request::decode_function(call, call_id, body);
        blocks.push(call.ok_or("a function call without a name")?.into());
    }
    let (stop, stop_sequence) = decode_stop(choice, &blocks, body);
    Ok(Response {
        id,
        model: model.unwrap_or_default(),
        created,
        blocks,
        stop,
        stop_sequence,
        logprobs: tokens,
        usage,
        attachments,
    })
}

/// Whether a member that is not modelled is empty: vendors fill their answers with such.
fn says_nothing(member: &Member<'_>) -> bool {
    matches!(member.value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"")
}

/// The members of a message that are modelled.
#[derive(Default)]
struct Said<'v> {
    thinking: Vec<Block>,
    content: Vec<Block>,
    refusal: Option<Text>,
    calls: Vec<Block>,
    reasoning: Option<Text>,
    audio: Option<Block>,
    annotations: Option<Member<'v>>,
    proof: Option<Sealed>,
}

impl<'v> Said<'v> {
    fn member(
        &mut self,
        member: Member<'v>,
        owner: &Bytes,
        attachments: &mut Vec<Attachment>,
    ) -> Result<(), String> {
        let value = member.value;
        match &*unescape(member.key) {
            "role" | "function_call" => {}
            "content" => self.content = decode_content(value, owner),
            "refusal" => self.refusal = value.text(owner).filter(|text| !text.is_empty()),
            "reasoning_content" => self.reasoning = value.text(owner),
            "reasoning" if value.kind() == Kind::String => {
                self.reasoning = self.reasoning.take().or_else(|| value.text(owner));
            }
            "thinking_blocks" => {
                self.thinking = value.elements().filter_map(|block| thinking_block(block, owner)).collect();
            }
            "tool_calls" => {
                self.calls =
                    value.elements().map(|call| decode_call(call, owner)).collect::<Result<_, _>>()?;
            }
            _ if says_nothing(&member) => {}
            "audio" => self.audio = Some(decode_audio(value)),
            "annotations" => self.annotations = Some(member),
            "extra_content" => self.proof = proof::read(&member, owner, attachments),
            _ => read::attach_inner(attachments, SELF, "choices[].message", &member, owner),
        }
        Ok(())
    }
}

/// Blocks in the order that the other vendors demand: reasoning, text, refusal, tool calls.
fn decode_message(
    message: Raw<'_>,
    owner: &Bytes,
    attachments: &mut Vec<Attachment>,
) -> Result<Vec<Block>, String> {
    let mut said = Said::default();
    for member in message.members().filter(|member| !member.value.is_null()) {
        said.member(member, owner, attachments)?;
    }
    if let (true, Some(text)) = (said.thinking.is_empty(), said.reasoning.filter(|text| !text.is_empty())) {
        said.thinking.push(BlockKind::Thinking(text).into());
    }
    if let Some(member) = said.annotations
        && !annotations::place(member.value, &mut said.content, owner)
    {
        read::attach_inner(attachments, SELF, "choices[].message", &member, owner);
    }
    let mut blocks = said.thinking;
    blocks.append(&mut said.content);
    let last_text = blocks.iter_mut().rev().find(|block| matches!(block.kind, BlockKind::Text(_)));
    if let (Some(block), Some(proof)) = (last_text, said.proof) {
        block.signature = Some(proof);
    }
    blocks.extend(said.audio);
    blocks.extend(said.refusal.map(|text| Block::from(BlockKind::Refusal(text))));
    blocks.append(&mut said.calls);
    Ok(blocks)
}

/// A spoken answer, which only who asked for one can get.
fn decode_audio(value: Raw<'_>) -> Block {
    let json = [br#"{"type":"audio","audio":"#.as_slice(), value.bytes(), b"}"].concat();
    BlockKind::Opaque { dialect: SELF, json: Json::from_valid(json.into()) }.into()
}

/// A string; some providers answer in parts.
fn decode_content(value: Raw<'_>, owner: &Bytes) -> Vec<Block> {
    if let Some(text) = value.text(owner) {
        return if text.is_empty() { Vec::new() } else { vec![BlockKind::Text(text).into()] };
    }
    let text = |part: Raw<'_>| part.get("text").and_then(|text| text.text(owner));
    let part = |part: Raw<'_>| match (text(part), part.get("thinking")) {
        (Some(text), _) => BlockKind::Text(text),
        // Mistral's reasoning.
        (None, Some(thinking)) if thinking.kind() == Kind::Array => {
            BlockKind::Thinking(Text::join(&thinking.elements().filter_map(text).collect::<Vec<_>>(), ""))
        }
        _ => BlockKind::Opaque { dialect: SELF, json: part.json(owner) },
    };
    value.elements().map(|raw| part(raw).into()).collect()
}

fn decode_stop(choice: Raw<'_>, blocks: &[Block], owner: &Bytes) -> (StopReason, Option<Text>) {
    let reason = choice.get("finish_reason").and_then(|reason| reason.text(owner));
    let stop = stop_reason(reason.unwrap_or_default(), blocks.iter().map(|block| &block.kind));
    // vLLM names the stop text.
    let sequence = choice.get("stop_reason").and_then(|sequence| sequence.text(owner));
    match (stop, sequence) {
        (StopReason::EndTurn, Some(sequence)) => (StopReason::StopSequence, Some(sequence)),
        (stop, _) => (stop, None),
    }
}

/// What a `finish_reason` means after these blocks.
pub(super) fn stop_reason<'b>(reason: Text, mut blocks: impl Iterator<Item = &'b BlockKind>) -> StopReason {
    match &*reason.plain() {
        "stop" | "eos" | "" => {
            let mut refused = false;
            let called = blocks.any(|kind| {
                refused |= matches!(kind, BlockKind::Refusal(_));
                matches!(kind, BlockKind::ToolUse { .. })
            });
            match (called, refused) {
                (true, _) => StopReason::ToolUse,
                (_, true) => StopReason::Refusal,
                _ => StopReason::EndTurn,
            }
        }
        "length" => StopReason::MaxTokens,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "content_filter" => StopReason::ContentFilter,
        _ => StopReason::Other(reason),
    }
}

/// The `finish_reason` for a reason. `refused`: the answer says so in a refusal of its own.
pub(super) fn finish_reason(
    stop: &StopReason,
    has_refusal: HasRefusal,
    dropped: &mut Vec<String>,
) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::MaxTokens => "length",
        StopReason::ToolUse => "tool_calls",
        StopReason::ContentFilter => "content_filter",
        StopReason::Refusal => match has_refusal {
            HasRefusal::Yes => "stop",
            HasRefusal::No => "content_filter",
        },
        StopReason::Other(word) if word.is("model_context_window_exceeded") => "length",
        StopReason::Pause | StopReason::Other(_) => {
            dropped::note(dropped, "choices[].finish_reason");
            "stop"
        }
    }
}

/// Whether an answer holds a refusal of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasRefusal {
    Yes,
    No,
}

/// Writes an answer.
pub(super) fn encode(response: &Response, context: &StreamContext) -> Encoded {
    let mut dropped = Vec::new();
    let mut out = Writer::with_capacity(1024);
    out.begin_object();
    out.key("id");
    match response.id.is_empty() {
        true => out.string(&format!("chatcmpl-{}", context.request_id)),
        false => out.text(&response.id),
    }
    out.key("object");
    out.string("chat.completion");
    out.key("created");
    out.u64(response.created.unwrap_or(context.created));
    out.key("model");
    match response.model.is_empty() {
        true => out.string(&context.model),
        false => out.text(&response.model),
    }
    out.key("choices");
    out.begin_array();
    write_choice(response, &mut out, &mut dropped);
    out.end_array();
    if let Some(usage) = &response.usage {
        out.key("usage");
        usage::encode(usage, &mut out);
    }
    dropped::members(&response.attachments, SELF, &mut out, &mut dropped);
    out.end_object();
    Encoded { body: out.finish(), dropped }
}

/// The blocks of an answer by their places in a message.
#[derive(Default)]
struct Places<'b> {
    texts: Vec<&'b Text>,
    refusals: Vec<&'b Text>,
    thinking: Vec<&'b Block>,
    calls: Vec<&'b Block>,
    audio: Option<Raw<'b>>,
    proof: Option<&'b Text>,
}

impl<'b> Places<'b> {
    fn of(blocks: &'b [Block], dropped: &mut Vec<String>) -> Self {
        let mut places = Self::default();
        for block in blocks {
            match &block.kind {
                BlockKind::Text(text) => {
                    places.texts.push(text);
                    let proof = proof::own(block.signature.as_ref(), "content[].", dropped);
                    if let Some(proof) = proof
                        && places.proof.replace(proof).is_some()
                    {
                        dropped::note(dropped, "content[].signature");
                    }
                }
                BlockKind::Refusal(text) => places.refusals.push(text),
                BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => places.thinking.push(block),
                BlockKind::ToolUse { .. } => places.calls.push(block),
                BlockKind::Opaque { dialect, json } if *dialect == SELF => match json.raw().get("audio") {
                    Some(audio) => places.audio = Some(audio),
                    None if json.raw().get("id").is_some() => places.calls.push(block),
                    None => dropped::note(dropped, format!("content[].{}", block.kind.type_name())),
                },
                other => dropped::note(dropped, format!("content[].{}", other.type_name())),
            }
            dropped::bare(block, "content[].", dropped);
        }
        places
    }
}

fn write_choice(response: &Response, out: &mut Writer, dropped: &mut Vec<String>) {
    let places = Places::of(&response.blocks, dropped);
    let has = |texts: &[&Text]| if texts.is_empty() { HasRefusal::No } else { HasRefusal::Yes };
    out.begin_object();
    out.key("index");
    out.u64(0);
    out.key("message");
    out.begin_object();
    out.key("role");
    out.string("assistant");
    for (name, texts) in [("content", &places.texts), ("refusal", &places.refusals)] {
        out.key(name);
        match texts.is_empty() {
            true => out.null(),
            false => out.texts(texts.iter().copied()),
        }
    }
    annotations::write_all(&response.blocks, out, dropped);
    write_thinking(&places.thinking, |sealed| Some(sealed.carried(super::request::THINKING)), out);
    if let Some(audio) = places.audio {
        out.key("audio");
        out.raw(audio.bytes());
    }
    if let Some(proof) = places.proof {
        proof::write(proof, out);
    }
    write_calls(&places.calls, out, dropped);
    out.end_object();
    out.key("logprobs");
    match response.logprobs.is_empty() {
        true => out.null(),
        false => {
            let refused = if places.texts.is_empty() { has(&places.refusals) } else { HasRefusal::No };
            logprobs::write(&response.logprobs, refused, out);
        }
    }
    out.key("finish_reason");
    out.string(finish_reason(&response.stop, has(&places.refusals), dropped));
    out.end_object();
}

fn write_calls(calls: &[&Block], out: &mut Writer, dropped: &mut Vec<String>) {
    if calls.is_empty() {
        return;
    }
    out.key("tool_calls");
    out.begin_array();
    for block in calls {
        match &block.kind {
            BlockKind::ToolUse { id, name, input } => {
                write_call_open(out, id, name, input);
                if let Some(proof) = proof::own(block.signature.as_ref(), "content[].", dropped) {
                    proof::write(proof, out);
                }
                out.end_object();
            }
            BlockKind::Opaque { json, .. } => out.json(json),
            _ => {}
        }
    }
    out.end_array();
}
