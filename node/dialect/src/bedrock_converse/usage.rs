//! Usage of Bedrock Converse, which counts cached input apart.

use crate::{
    ir::Usage,
    json::{Raw, Writer},
};

/// Reads a usage object; `None` if it has no count that we know.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let (mut known, mut uncached) = (false, 0_u64);
    for member in value.members() {
        let number = member.value.u64();
        let count = number.unwrap_or(0);
        match member.key {
            b"inputTokens" => uncached = count,
            b"outputTokens" => usage.output = count,
            // The longer names stood beside these for a while.
            b"cacheReadInputTokens" | b"cacheReadInputTokenCount" => {
                usage.cache_read = usage.cache_read.max(count);
            }
            b"cacheWriteInputTokens" | b"cacheWriteInputTokenCount" => {
                usage.cache_write = usage.cache_write.max(count);
            }
            b"cacheDetails" => {
                let (short, long) = details(member.value);
                usage.cache_write_1h = long;
                usage.cache_write = usage.cache_write.max(short.saturating_add(long));
                continue;
            }
            _ => continue,
        }
        known |= number.is_some();
    }
    usage.input = uncached.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    known.then_some(usage)
}

/// Tokens written to a cache for five minutes, and for an hour.
fn details(value: Raw<'_>) -> (u64, u64) {
    let (mut short, mut long) = (0_u64, 0_u64);
    for detail in value.elements() {
        let count = detail.get("inputTokens").and_then(Raw::u64).unwrap_or(0);
        match detail.get("ttl").is_some_and(|ttl| ttl.is_str("1h")) {
            true => long = long.saturating_add(count),
            false => short = short.saturating_add(count),
        }
    }
    (short, long)
}

/// Writes a usage object.
pub(super) fn encode(usage: &Usage, out: &mut Writer) {
    out.begin_object();
    for (name, count) in [
        ("inputTokens", usage.input_uncached()),
        ("outputTokens", usage.output),
        ("totalTokens", usage.total()),
        ("cacheReadInputTokens", usage.cache_read),
        ("cacheWriteInputTokens", usage.cache_write),
    ] {
        out.key(name);
        out.u64(count);
    }
    if usage.cache_write > 0 {
        out.key("cacheDetails");
        out.begin_array();
        // The longer lifetime comes first.
        let short = usage.cache_write.saturating_sub(usage.cache_write_1h);
        for (ttl, count) in [("1h", usage.cache_write_1h), ("5m", short)] {
            if count > 0 {
                out.begin_object();
                out.key("ttl");
                out.string(ttl);
                out.key("inputTokens");
                out.u64(count);
                out.end_object();
            }
        }
        out.end_array();
    }
    out.end_object();
}
