//! Usage of Anthropic Messages, which counts cached input apart.

use crate::{
    ir::{Attachment, Usage},
    json::{Raw, Writer},
};

/// Whether a member is one of the counts.
pub(super) fn counts(key: &[u8]) -> bool {
    matches!(
        key,
        b"input_tokens"
            | b"output_tokens"
            | b"cache_read_input_tokens"
            | b"cache_creation_input_tokens"
            | b"cache_creation"
            | b"output_tokens_details"
    )
}

/// Reads a usage object; `None` if it has no count that we know.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let (mut known, mut uncached) = (false, 0_u64);
    for member in value.members() {
        let number = member.value.u64();
        let count = number.unwrap_or(0);
        match member.key {
            b"input_tokens" => uncached = count,
            b"output_tokens" => usage.output = count,
            b"cache_read_input_tokens" => usage.cache_read = count,
            b"cache_creation_input_tokens" => usage.cache_write = usage.cache_write.max(count),
            b"cache_creation" => {
                let count = |name| member.value.get(name).and_then(Raw::u64).unwrap_or(0);
                let (short, long) = (count("ephemeral_5m_input_tokens"), count("ephemeral_1h_input_tokens"));
                usage.cache_write_1h = long;
                usage.cache_write = usage.cache_write.max(short.saturating_add(long));
                continue;
            }
            b"output_tokens_details" => {
                usage.reasoning = member.value.get("thinking_tokens").and_then(Raw::u64).unwrap_or(0);
                continue;
            }
            _ => continue,
        }
        known |= number.is_some();
    }
    usage.input = uncached.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    known.then_some(usage)
}

/// Writes a usage object. The members beside the counts have names like `usage.service_tier`.
pub(super) fn encode<'a>(usage: &Usage, beside: impl IntoIterator<Item = &'a Attachment>, out: &mut Writer) {
    out.begin_object();
    for (name, count) in [
        ("input_tokens", usage.input_uncached()),
        ("cache_creation_input_tokens", usage.cache_write),
        ("cache_read_input_tokens", usage.cache_read),
    ] {
        out.key(name);
        out.u64(count);
    }
    out.key("cache_creation");
    out.begin_object();
    out.key("ephemeral_5m_input_tokens");
    out.u64(usage.cache_write.saturating_sub(usage.cache_write_1h));
    out.key("ephemeral_1h_input_tokens");
    out.u64(usage.cache_write_1h);
    out.end_object();
    out.key("output_tokens");
    out.u64(usage.output);
    if usage.reasoning > 0 {
        out.key("output_tokens_details");
        out.begin_object();
        out.key("thinking_tokens");
        out.u64(usage.reasoning);
        out.end_object();
    }
    for attachment in beside {
        out.key_escaped(attachment.name.escaped().strip_prefix(b"usage.").unwrap_or_default());
        out.json(&attachment.value);
    }
    out.end_object();
}
