//! Reads an answer.

use super::super::{items, logprobs, parts::read_content, usage};
use crate::{
    Dialect, Refusal,
    ir::{Block, BlockKind, Response, StopReason, Text, TokenLogprob},
    json::{Raw, unescape},
    read::{self, Fields, Path, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiResponses;

/// Members that repeat the request or the answer itself, or say who pays.
const ECHOES: [&str; 29] = [
    "background",
    "billing",
    "completed_at",
    "conversation",
    "frequency_penalty",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "object",
    "output_text",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "store",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// Reads an answer.
pub(in crate::openai_responses) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let [mut id, mut model, mut created, mut output, mut usage, mut status, mut error] = [None; 7];
    let mut attachments = Vec::new();
    for member in root.members() {
        let known = match &*unescape(member.key) {
            "id" => &mut id,
            "model" => &mut model,
            "created_at" => &mut created,
            "output" => &mut output,
            "usage" => &mut usage,
            "status" => &mut status,
            "error" => &mut error,
            "incomplete_details" => continue,
            name if ECHOES.contains(&name) => continue,
            _ => {
                if !matches!(member.value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"") {
                    read::attach(&mut attachments, SELF, &member, body);
                }
                continue;
            }
        };
        known.get_or_insert(member.value);
    }
    if let Some(error) = error.filter(|error: &Raw<'_>| !error.is_null()) {
        let message = error.get("message").unwrap_or(error).string();
        return Err(format!("an error inside of a success: {}", message.unwrap_or_default()));
    }
    if let Some(status @ ("failed" | "cancelled" | "queued" | "in_progress")) =
        status.and_then(|status: Raw<'_>| status.string()).as_deref()
    {
        return Err(format!("an answer that is {status}"));
    }
    let output = output.ok_or("an answer without output")?;
    let (mut blocks, mut logprobs) = (Vec::new(), Vec::new());
    let path = ROOT.member("output");
    for (i, item) in output.elements().enumerate() {
        let (mut said, mut tokens) =
            read_item(item, &path.element(i), body).map_err(|refusal| refusal.message.into_owned())?;
        blocks.append(&mut said);
        logprobs.append(&mut tokens);
    }
    let text = |value: Option<Raw<'_>>| value.and_then(|value| value.text(body)).unwrap_or_default();
    Ok(Response {
        id: text(id),
        model: text(model),
        created: created.and_then(Raw::u64),
        stop: stop_reason(root, blocks.iter().map(|block| &block.kind), body),
        blocks,
        stop_sequence: None,
        logprobs,
        usage: usage.and_then(usage::decode),
        attachments,
    })
}

/// The blocks of an item, and how likely its tokens were.
fn read_item(
    value: Raw<'_>,
    path: &Path<'_>,
    owner: &Bytes,
) -> Result<(Vec<Block>, Vec<TokenLogprob>), Refusal> {
    let mut fields = Fields::of(value, path, owner)?;
    let kind = fields.text("type")?;
    let blocks = match &*kind.plain() {
        "message" => {
            let Some(content) = fields.take("content") else { return Ok((Vec::new(), Vec::new())) };
            let mut blocks = read_content(content, &path.member("content"), owner)?;
            for name in ["id", "status", "role"] {
                fields.take(name);
            }
            if let Some(first) = blocks.first_mut() {
                first.attachments.extend(fields.rest(SELF));
            }
            let tokens = content.elements().filter_map(|part| part.get("logprobs"));
            return Ok((blocks, tokens.flat_map(|list| logprobs::read(list, owner)).collect()));
        }
        "function_call" => vec![items::read_call(fields)?],
        "reasoning" => items::read_reasoning(fields)?.into_iter().collect(),
        _ => vec![BlockKind::Opaque { dialect: SELF, json: value.json(owner) }.into()],
    };
    Ok((blocks, Vec::new()))
}

/// Why an answer of these blocks ended, by its status.
pub(in crate::openai_responses) fn stop_reason<'b>(
    response: Raw<'_>,
    mut blocks: impl Iterator<Item = &'b BlockKind>,
    owner: &Bytes,
) -> StopReason {
    if response.get("status").is_some_and(|status| status.is_str("incomplete")) {
        let details = response.get("incomplete_details");
        let reason = details.and_then(|details| details.get("reason")?.text(owner));
        return match reason {
            Some(reason) if reason.is("max_output_tokens") => StopReason::MaxTokens,
            Some(reason) if reason.is("content_filter") => StopReason::ContentFilter,
            Some(reason) => StopReason::Other(reason),
            None => StopReason::Other(Text::fixed("incomplete")),
        };
    }
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
