//! What a body may hold, told from the short strings in it while it is checked, so that most bodies need not be read again
//! for that.

use crate::{Envelope, ir::Features, openai_responses::OUR_REASONING};
use memchr::memmem;
use std::sync::LazyLock;

/// Names of all dialects without which a feature is not needed.
const NAMES: [(Features, &[&str]); 16] = [
    (Features::TOOLS, TOOLS),
    (Features::CHOICES, &["n", "candidateCount", "candidate_count"]),
    (Features::IMAGES, MEDIA),
    (Features::TOOL_RESULT_IMAGES, MEDIA),
    (Features::DOCUMENTS, MEDIA),
    (Features::AUDIO, MEDIA),
    (Features::VIDEO, MEDIA),
    (Features::AUDIO_OUTPUT, MODALITIES),
    (Features::IMAGE_OUTPUT, MODALITIES),
    (
        Features::JSON_SCHEMA,
        &[
            "json_schema",
            "output_format",
            "output_config",
            "outputConfig",
            "responseSchema",
            "response_schema",
            "responseJsonSchema",
            "response_json_schema",
            "_responseJsonSchema",
            "responseFormat",
            "response_format",
        ],
    ),
    (
        Features::JSON_OBJECT,
        &["json_object", "responseMimeType", "response_mime_type", "responseFormat", "response_format"],
    ),
    (
        Features::REASONING,
        &[
            "reasoning_effort",
            "reasoning",
            "thinking",
            "output_config",
            "outputConfig",
            "thinkingConfig",
            "thinking_config",
            "additionalModelRequestFields",
        ],
    ),
    (Features::LOGPROBS, &["logprobs", "top_logprobs", "responseLogprobs", "response_logprobs", "include"]),
    (
        Features::SERVER_TOOLS,
        &[
            "tools",
            "web_search_options",
            "mcp_servers",
            "thread",
            "toolConfig",
            "connectors",
            "cachedContent",
            "cached_content",
        ],
    ),
    (Features::STREAMING, &["stream"]),
    (Features::GUARDRAILS, &["guardrailConfig"]),
];

/// Of calls, their results, and tools.
const TOOLS: &[&str] = &[
    "tools",
    "toolConfig",
    "tool_config",
    "functions",
    "function",
    "tool_calls",
    "tool_use",
    "toolUse",
    "tool_result",
    "toolResult",
    "tool",
    "function_call",
    "functionCall",
    "function_call_output",
    "function_response",
    "functionResponse",
];

/// Of pictures, documents, sound and films: one member holds them all in some dialects.
const MEDIA: &[&str] = &[
    "image_url",
    "image",
    "input_image",
    "file",
    "input_file",
    "document",
    "documents",
    "audio",
    "input_audio",
    "video",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
];

/// Of answers that are not text.
const MODALITIES: &[&str] =
    &["audio", "modalities", "responseModalities", "response_modalities", "speechConfig"];

/// Words whose places are looked for where they may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Word {
    /// The member that names a file.
    FileId = 1,
    /// The member that holds what only one account can read.
    EncryptedContent = 1 << 1,
    /// The role of who made the application.
    Developer = 1 << 2,
    /// The mark of what is to be written to a cache.
    Cache = 1 << 4,
    /// What a client carries for another vendor (`ir::Sealed`), or an id of ours that says so.
    Carried = 1 << 3,
}

const WORDS: [(&str, Word); 6] = [
    ("file_id", Word::FileId),
    ("encrypted_content", Word::EncryptedContent),
    ("developer", Word::Developer),
    ("cache_control", Word::Cache),
    ("cachePoint", Word::Cache),
    ("prompt_cache_retention", Word::Cache),
];

/// What strings begin with that a client carries for another vendor.
const CARRIED: [&[u8]; 2] = [b"trestle:", OUR_REASONING.as_bytes()];

/// Longest of all names.
const NAME_MAX: usize = 28;
/// A name all of whose letters are escaped.
const ESCAPED_MAX: usize = NAME_MAX * 6;

/// What a body may hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    features: Features,
    words: u8,
    /// A letter is escaped: it could be one of any name.
    hidden: bool,
}

/// Names of one length.
#[derive(Default)]
struct Names {
    /// A bit for each first letter, by its low six bits.
    first: u64,
    names: Vec<(&'static [u8], Hints)>,
}

/// Names by their length.
static BY_LENGTH: LazyLock<[Names; NAME_MAX + 1]> = LazyLock::new(|| {
    let mut all: [Names; NAME_MAX + 1] = std::array::from_fn(|_| Names::default());
    let features = NAMES.iter().flat_map(|(features, names)| {
        names.iter().map(|name| (*name, Hints { features: *features, ..Hints::default() }))
    });
    let words = WORDS.map(|(name, word)| (name, Hints { words: word as u8, ..Hints::default() }));
    for (name, hints) in features.chain(words) {
        let name = name.as_bytes();
        if let (Some(of), Some(first)) = (all.get_mut(name.len()), name.first()) {
            of.first |= 1 << (first & 63);
            match of.names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => known.add(hints),
                None => of.names.push((name, hints)),
            }
        }
    }
    all
});

impl Hints {
    /// Takes note of the inside of a string, be it a name or a value.
    #[inline]
    pub(crate) fn note(&mut self, string: &[u8]) {
        if CARRIED.iter().any(|beginning| string.starts_with(beginning)) {
            self.words |= Word::Carried as u8;
        }
        if string.len() > ESCAPED_MAX {
            return;
        }
        if let (Some(of), Some(first)) = (BY_LENGTH.get(string.len()), string.first())
            && of.first & 1 << (first & 63) != 0
            && let Some((_, hints)) = of.names.iter().find(|(name, _)| *name == string)
        {
            self.add(*hints);
        }
        if memchr::memchr(b'\\', string).is_some() && memmem::find(string, b"\\u00").is_some() {
            self.hidden = true;
        }
    }

    fn add(&mut self, other: Self) {
        self.features.add(other.features);
        self.words |= other.words;
    }

    /// False only if the word stands nowhere, be it escaped.
    pub(crate) fn has(self, word: Word) -> bool {
        self.hidden || self.words & word as u8 != 0
    }
}

/// False only if the request needs none of the features; true means that it must be decoded to know. A body in which
/// a name could be hidden by escapes is always one of the latter.
pub fn may_need(envelope: &Envelope, features: Features) -> bool {
    let hints = envelope.hints();
    hints.hidden || !hints.features.and(features).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, inbound};

    fn check(dialect: Dialect, body: &str) {
        let envelope = Envelope::parse(bytes::Bytes::copy_from_slice(body.as_bytes())).unwrap();
        let needs = inbound(dialect).decode_request(&envelope).unwrap().needs;
        for (feature, _) in NAMES {
            let needed = !needs.and(feature).is_empty();
            assert!(
                may_need(&envelope, feature) || !needed,
                "{body} needs {:?}",
                needs.names().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn what_is_needed_is_never_missed() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
        let mut seen = 0;
        for dialect in Dialect::ALL {
            for file in std::fs::read_dir(format!("{fixtures}/{}", dialect.name())).unwrap() {
                let path = file.unwrap().path();
                if path.to_string_lossy().ends_with(".request.json") {
                    check(dialect, &std::fs::read_to_string(path).unwrap());
                    seen += 1;
                }
            }
        }
        assert!(seen > 10, "only {seen} fixtures");
        check(
            Dialect::OpenAiChat,
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"im\u0061ge_url","image_url":{"url":"https://x"}}]}]}"#,
        );
    }

    #[test]
    fn words_in_a_text_do_not_count() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"an \"image\" and a \"tool\", \"n\" times"}]}"#;
        let envelope = Envelope::parse(bytes::Bytes::from_static(body.as_bytes())).unwrap();
        assert!(!may_need(&envelope, Features::IMAGES.with(Features::TOOLS).with(Features::CHOICES)));
    }

    #[test]
    fn words_are_seen_as_names_and_values_and_never_in_texts() {
        let check = |body: &str, word: Word, expected: bool| {
            let envelope = Envelope::parse(bytes::Bytes::copy_from_slice(body.as_bytes())).unwrap();
            assert_eq!(envelope.may_have(word), expected, "{body} {word:?}");
        };
        check(r#"{"a":[{"file_id":1}]}"#, Word::FileId, true);
        check(r#"{"a":"say file_id, \"file_id\""}"#, Word::FileId, false);
        check(r#"{"a":[{"role":"developer"}]}"#, Word::Developer, true);
        check(r#"{"a":"developers"}"#, Word::Developer, false);
        check(r#"{"a":{"b":{"encrypted_content":null}}}"#, Word::EncryptedContent, true);
        check(r#"{"a":{"signature":"trestle:gemini:x"}}"#, Word::Carried, true);
        check(r#"{"a":"rs_trestle_1"}"#, Word::Carried, true);
        check(r#"{"a":"a trestle: b"}"#, Word::Carried, false);
        // Escaped letters hide any word.
        check(r#"{"a":{"file\u005fid":1}}"#, Word::FileId, true);
        check(r#"{"a":"\u0064eveloper"}"#, Word::Developer, true);
        let long = format!(r#"{{"a":"\u0064{}"}}"#, "x".repeat(ESCAPED_MAX));
        check(&long, Word::Developer, false);
    }

    #[test]
    fn all_names_are_short_enough() {
        let names =
            NAMES.iter().flat_map(|(_, names)| names.iter()).chain(WORDS.iter().map(|(name, _)| name));
        assert_eq!(names.map(|name| name.len()).max(), Some(NAME_MAX));
    }
}
