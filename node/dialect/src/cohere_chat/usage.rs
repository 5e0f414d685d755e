//! Usage of Cohere v2 Chat.
//!
//! The vendor tells two counts: `tokens` is all that the model saw and wrote, with the vendor's own preamble and the
//! marks between turns, and `billed_units` is what it charges for. The meter counts what is charged. `tokens` stands
//! in where there are no billed units, as with private deployments. `cached_tokens` counts among `tokens`. What is not
//! billed stands at the beginning of the prompt, and so is in the cache before anything else: only what is cached
//! beyond it counts, so that the meter never takes more for cached than the vendor may have.

use crate::{
    ir::Usage,
    json::{Raw, Writer},
};

/// Reads a usage object; `None` if it has no count that we know.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let (mut billed, mut seen, mut cached) = ((None, None), (None, None), 0);
    for member in value.members() {
        // Nobody escapes these names; one that did would not be counted.
        match member.key {
            b"billed_units" => billed = counts(member.value),
            b"tokens" => seen = counts(member.value),
            b"cached_tokens" => cached = member.value.u64().unwrap_or(0),
            _ => {}
        }
    }
    let (input, output) = (billed.0.or(seen.0), billed.1.or(seen.1));
    if input.is_none() && output.is_none() {
        return None;
    }
    let input = input.unwrap_or(0);
    let unbilled = seen.0.unwrap_or(0).saturating_sub(input);
    let cache_read = cached.saturating_sub(unbilled).min(input);
    Some(Usage { input, output: output.unwrap_or(0), cache_read, ..Usage::default() })
}

fn counts(value: Raw<'_>) -> (Option<u64>, Option<u64>) {
    let count = |name| value.get(name).and_then(Raw::u64);
    (count("input_tokens"), count("output_tokens"))
}

/// Writes a usage object.
pub(super) fn encode(usage: &Usage, out: &mut Writer) {
    out.begin_object();
    for name in ["billed_units", "tokens"] {
        out.key(name);
        out.begin_object();
        out.key("input_tokens");
        out.u64(usage.input);
        out.key("output_tokens");
        out.u64(usage.output);
        out.end_object();
    }
    out.key("cached_tokens");
    out.u64(usage.cache_read);
    out.end_object();
}
