//! Usage of OpenAI Chat Completions and of those who speak it with an accent.

use crate::{
    ir::Usage,
    json::{Raw, Writer, unescape},
};

/// Reads a usage object; `None` if it has no count that we know.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let (mut known, mut total) = (false, None);
    for member in value.members() {
        let number = member.value.u64();
        match &*unescape(member.key) {
            "prompt_tokens" => {
                usage.input = number.unwrap_or(0);
                known |= number.is_some();
            }
            "completion_tokens" => {
                usage.output = number.unwrap_or(0);
                known |= number.is_some();
            }
            "total_tokens" => total = number,
            // Moonshot and DeepSeek.
            "cached_tokens" | "prompt_cache_hit_tokens" => {
                usage.cache_read = usage.cache_read.max(number.unwrap_or(0));
            }
            "prompt_tokens_details" => {
                let count = |name| member.value.get(name).and_then(Raw::u64).unwrap_or(0);
                usage.cache_read = usage.cache_read.max(count("cached_tokens"));
                usage.audio_input = count("audio_tokens");
                // OpenRouter, and we ourselves.
                usage.cache_write = count("cache_write_tokens");
                usage.cache_write_1h = count("cache_write_1h_tokens").min(usage.cache_write);
            }
            "completion_tokens_details" => {
                let count = |name| member.value.get(name).and_then(Raw::u64).unwrap_or(0);
                usage.reasoning = count("reasoning_tokens");
                usage.audio_output = count("audio_tokens");
            }
            _ => {}
        }
    }
    // xAI counts reasoning beside the completion; only the total tells.
    let beside = usage.input.saturating_add(usage.output).saturating_add(usage.reasoning);
    if usage.reasoning > 0 && total == Some(beside) {
        usage.output = usage.output.saturating_add(usage.reasoning);
    }
    known.then_some(usage)
}

/// Writes a usage object.
pub(super) fn encode(usage: &Usage, out: &mut Writer) {
    out.begin_object();
    for (name, count) in
        [("prompt_tokens", usage.input), ("completion_tokens", usage.output), ("total_tokens", usage.total())]
    {
        out.key(name);
        out.u64(count);
    }
    out.key("prompt_tokens_details");
    out.begin_object();
    out.key("cached_tokens");
    out.u64(usage.cache_read);
    for (name, count) in [
        ("cache_write_tokens", usage.cache_write),
        ("cache_write_1h_tokens", usage.cache_write_1h),
        ("audio_tokens", usage.audio_input),
    ] {
        if count > 0 {
            out.key(name);
            out.u64(count);
        }
    }
    out.end_object();
    out.key("completion_tokens_details");
    out.begin_object();
    out.key("reasoning_tokens");
    out.u64(usage.reasoning);
    if usage.audio_output > 0 {
        out.key("audio_tokens");
        out.u64(usage.audio_output);
    }
    out.end_object();
    out.end_object();
}
