//! Usage of OpenAI Responses: `input_tokens` counts cached ones, `output_tokens` reasoning.

use crate::{
    ir::Usage,
    json::{Raw, Writer},
};

/// Reads a usage object; `None` if it has no count that we know.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let mut known = false;
    for member in value.members() {
        let number = member.value.u64();
        // Nobody escapes these names; one that did would not be counted.
        match member.key {
            b"input_tokens" => {
                usage.input = number.unwrap_or(0);
                known |= number.is_some();
            }
            b"output_tokens" => {
                usage.output = number.unwrap_or(0);
                known |= number.is_some();
            }
            b"input_tokens_details" => {
                for detail in member.value.members() {
                    let count = detail.value.u64().unwrap_or(0);
                    match detail.key {
                        b"cached_tokens" => usage.cache_read = count,
                        b"cache_write_tokens" => usage.cache_write = count,
                        // We ourselves.
                        b"cache_write_1h_tokens" => usage.cache_write_1h = count,
                        b"audio_tokens" => usage.audio_input = count,
                        _ => {}
                    }
                }
                usage.cache_write_1h = usage.cache_write_1h.min(usage.cache_write);
            }
            b"output_tokens_details" => {
                for detail in member.value.members() {
                    let count = detail.value.u64().unwrap_or(0);
                    match detail.key {
                        b"reasoning_tokens" => usage.reasoning = count,
                        b"audio_tokens" => usage.audio_output = count,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    known.then_some(usage)
}

/// Writes a usage object.
pub(super) fn encode(usage: &Usage, out: &mut Writer) {
    out.begin_object();
    count(out, "input_tokens", usage.input);
    out.key("input_tokens_details");
    out.begin_object();
    count(out, "cached_tokens", usage.cache_read);
    count(out, "cache_write_tokens", usage.cache_write);
    some(out, "cache_write_1h_tokens", usage.cache_write_1h);
    some(out, "audio_tokens", usage.audio_input);
    out.end_object();
    count(out, "output_tokens", usage.output);
    out.key("output_tokens_details");
    out.begin_object();
    count(out, "reasoning_tokens", usage.reasoning);
    some(out, "audio_tokens", usage.audio_output);
    out.end_object();
    count(out, "total_tokens", usage.total());
    out.end_object();
}

fn count(out: &mut Writer, name: &str, count: u64) {
    out.key(name);
    out.u64(count);
}

/// A count that the vendor does not have, and that is there only where it says something.
fn some(out: &mut Writer, name: &str, number: u64) {
    if number > 0 {
        count(out, name, number);
    }
}
