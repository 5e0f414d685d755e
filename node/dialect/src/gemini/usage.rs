//! Usage of Gemini, which counts cached input in and thoughts beside the answer.

use crate::{
    ir::Usage,
    json::{Raw, Writer},
};

/// Reads `usageMetadata`; `None` if it has no count that we know. The results of the vendor's own tools are input
/// beside the prompt.
pub(super) fn decode(value: Raw<'_>) -> Option<Usage> {
    let mut usage = Usage::default();
    let (mut known, mut prompt, mut tools, mut candidates) = (false, 0_u64, 0_u64, 0_u64);
    for member in value.members() {
        let number = member.value.u64();
        let count = number.unwrap_or(0);
        match member.key {
            b"promptTokenCount" => prompt = count,
            b"toolUsePromptTokenCount" => tools = count,
            b"candidatesTokenCount" => candidates = count,
            b"thoughtsTokenCount" => usage.reasoning = count,
            b"cachedContentTokenCount" => {
                usage.cache_read = count;
                continue;
            }
            b"promptTokensDetails" | b"toolUsePromptTokensDetails" => {
                usage.audio_input = usage.audio_input.saturating_add(audio(member.value));
                continue;
            }
            b"candidatesTokensDetails" => {
                usage.audio_output = audio(member.value);
                continue;
            }
            _ => continue,
        }
        known |= number.is_some();
    }
    usage.input = prompt.saturating_add(tools);
    usage.output = candidates.saturating_add(usage.reasoning);
    known.then_some(usage)
}

/// Tokens of sound in `[{"modality", "tokenCount"}]`.
fn audio(details: Raw<'_>) -> u64 {
    let of_audio = details
        .elements()
        .filter(|detail| detail.get("modality").is_some_and(|modality| modality.is_str("AUDIO")));
    let counts = of_audio.filter_map(|detail| detail.get("tokenCount")?.u64());
    counts.fold(0, u64::saturating_add)
}

/// Writes it.
pub(super) fn encode(usage: &Usage, out: &mut Writer) {
    let candidates = usage.output.saturating_sub(usage.reasoning);
    out.begin_object();
    out.key("promptTokenCount");
    out.u64(usage.input);
    out.key("candidatesTokenCount");
    out.u64(candidates);
    for (name, count) in
        [("cachedContentTokenCount", usage.cache_read), ("thoughtsTokenCount", usage.reasoning)]
    {
        if count > 0 {
            out.key(name);
            out.u64(count);
        }
    }
    out.key("totalTokenCount");
    out.u64(usage.total());
    for (name, all, audio) in [
        ("promptTokensDetails", usage.input, usage.audio_input),
        ("candidatesTokensDetails", candidates, usage.audio_output),
    ] {
        if audio > 0 {
            out.key(name);
            out.begin_array();
            write_detail(out, "TEXT", all.saturating_sub(audio));
            write_detail(out, "AUDIO", audio);
            out.end_array();
        }
    }
    out.end_object();
}

fn write_detail(out: &mut Writer, modality: &str, count: u64) {
    if count > 0 {
        out.begin_object();
        out.key("modality");
        out.string(modality);
        out.key("tokenCount");
        out.u64(count);
        out.end_object();
    }
}
