//! Usage of OpenAI Chat Completions, of OpenAI's endpoints for sound and pictures, and of those who speak it with an
//! accent.

use crate::{
    ir::Usage,
    json::{Raw, Writer},
};

/// Reads a usage object; `None` if it has no count that we know.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let (mut known, mut total) = (false, None);
    for member in value.members() {
        let number = member.value.u64();
        // Nobody escapes these names; one that did would not be counted.
        match member.key {
            // Sound and pictures have the names of Responses.
            b"prompt_tokens" | b"input_tokens" => {
                usage.input = usage.input.max(number.unwrap_or(0));
                known |= number.is_some();
            }
            b"completion_tokens" | b"output_tokens" => {
                usage.output = usage.output.max(number.unwrap_or(0));
                known |= number.is_some();
            }
            // The second one is Mistral's.
            b"seconds" | b"prompt_audio_seconds" => {
                usage.audio_ms = millis(member.value).unwrap_or(0);
                known |= usage.audio_ms > 0;
            }
            b"total_tokens" => total = number,
            // Moonshot and DeepSeek.
            b"cached_tokens" | b"prompt_cache_hit_tokens" => {
                usage.cache_read = usage.cache_read.max(number.unwrap_or(0));
            }
            b"prompt_tokens_details" | b"input_tokens_details" | b"input_token_details" => {
                for detail in member.value.members() {
                    let count = detail.value.u64().unwrap_or(0);
                    match detail.key {
                        b"cached_tokens" => usage.cache_read = usage.cache_read.max(count),
                        b"audio_tokens" => usage.audio_input = count,
                        b"image_tokens" => usage.image_input = count,
                        // OpenRouter, and we ourselves.
                        b"cache_write_tokens" => usage.cache_write = count,
                        b"cache_write_1h_tokens" => usage.cache_write_1h = count,
                        _ => {}
                    }
                }
                usage.cache_write_1h = usage.cache_write_1h.min(usage.cache_write);
            }
            b"completion_tokens_details" | b"output_tokens_details" => {
                for detail in member.value.members() {
                    let count = detail.value.u64().unwrap_or(0);
                    match detail.key {
                        b"reasoning_tokens" => usage.reasoning = count,
                        b"audio_tokens" => usage.audio_output = count,
                        b"image_tokens" => usage.image_output = count,
                        _ => {}
                    }
                }
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

/// Seconds as milliseconds; some write them as text.
pub(super) fn millis(seconds: Raw<'_>) -> Option<u64> {
    let seconds = seconds.f64().or_else(|| seconds.string()?.parse().ok())?;
    // What is no time at all becomes none.
    Some((seconds * 1000.0).round() as u64).filter(|millis| *millis > 0)
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
