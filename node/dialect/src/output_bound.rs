//! How much a request lets be answered, read and lowered without decoding it.

use crate::{
    Dialect, Edits, Envelope,
    ir::Json,
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;

/// Where a dialect says it: members, or members of members. The first one is written where none is there.
struct Places {
    tokens: &'static [&'static [&'static str]],
    choices: &'static [&'static [&'static str]],
    /// Part of the tokens that is for thinking: there must be more of them in all.
    thinking: &'static [&'static str],
}

/// How much a request lets be answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputBound {
    /// Most tokens of one answer, if it says.
    pub tokens: Option<u64>,
    /// How many answers it wants; at least one.
    pub choices: u64,
    /// Fewer tokens than this cannot be asked for.
    pub tokens_min: u64,
}

const fn places(dialect: Dialect) -> Places {
    match dialect {
        Dialect::OpenAiChat => Places {
            tokens: &[&["max_tokens"], &["max_completion_tokens"]],
            choices: &[&["n"]],
            thinking: &[],
        },
        Dialect::OpenAiResponses => Places { tokens: &[&["max_output_tokens"]], choices: &[], thinking: &[] },
        Dialect::AnthropicMessages => {
            Places { tokens: &[&["max_tokens"]], choices: &[], thinking: &["thinking", "budget_tokens"] }
        }
        Dialect::Gemini => Places {
            tokens: &[
                &["generationConfig", "maxOutputTokens"],
                &["generationConfig", "max_output_tokens"],
                &["generation_config", "maxOutputTokens"],
                &["generation_config", "max_output_tokens"],
            ],
            choices: &[
                &["generationConfig", "candidateCount"],
                &["generationConfig", "candidate_count"],
                &["generation_config", "candidateCount"],
                &["generation_config", "candidate_count"],
            ],
            thinking: &[],
        },
        Dialect::BedrockConverse => {
            Places { tokens: &[&["inferenceConfig", "maxTokens"]], choices: &[], thinking: &[] }
        }
        Dialect::CohereChat => {
            Places { tokens: &[&["max_tokens"]], choices: &[], thinking: &["thinking", "token_budget"] }
        }
    }
}

/// Reads it. What is no number is as if it were not there: the vendor refuses it.
pub fn output_bound(dialect: Dialect, envelope: &Envelope) -> OutputBound {
    let places = places(dialect);
    let at = |path: &&[&str]| find(envelope, path).and_then(Raw::u64);
    OutputBound {
        tokens: places.tokens.iter().filter_map(at).min(),
        choices: places.choices.iter().filter_map(at).max().unwrap_or(1).max(1),
        tokens_min: if dialect == Dialect::OpenAiResponses {
            // Fewer are refused by the vendor.
            16
        } else {
            at(&places.thinking).map_or(1, |thinking| thinking.saturating_add(1))
        },
    }
}

/// The request with at most so many tokens for an answer.
pub fn lower_output(dialect: Dialect, envelope: &Envelope, tokens: u64) -> Bytes {
    let places = places(dialect);
    let mut edits = Edits::default();
    let mut done = false;
    for path in places.tokens {
        let Some(now) = find(envelope, path).filter(|now| !now.is_null()) else { continue };
        done = true;
        if now.u64().is_none_or(|now| now > tokens) {
            edits.replace(envelope, now, tokens.to_string().into());
        }
    }
    if !done {
        match places.tokens.first() {
            Some([name]) => edits.set(envelope, name, number(tokens)),
            Some([outer, name]) => edits.set(envelope, outer, with(envelope.get(outer), name, tokens)),
            _ => {}
        }
    }
    edits.apply(envelope).concat().into()
}

fn find<'e>(envelope: &'e Envelope, path: &[&str]) -> Option<Raw<'e>> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(envelope.get(first)?, |value, name| value.get(name))
}

fn number(number: u64) -> Json {
    Json::from_valid(number.to_string().into())
}

/// An object with one more member; a new one where there is none.
fn with(object: Option<Raw<'_>>, name: &str, value: u64) -> Json {
    let mut out = Writer::with_capacity(64);
    out.begin_object();
    for member in object.filter(|object| object.kind() == Kind::Object).into_iter().flat_map(Raw::members) {
        // One that is `null` gives way.
        if !member.is(name) {
            out.key_escaped(member.key);
            out.raw(member.value.bytes());
        }
    }
    out.key(name);
    out.u64(value);
    out.end_object();
    Json::from_valid(out.finish().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbound;

    fn envelope(body: &str) -> Envelope {
        Envelope::parse(Bytes::copy_from_slice(body.as_bytes())).unwrap()
    }

    fn check(dialect: Dialect, body: &str, bound: (Option<u64>, u64), lowered: &str) {
        let read = output_bound(dialect, &envelope(body));
        assert_eq!((read.tokens, read.choices), bound, "{body}");
        let after = lower_output(dialect, &envelope(body), 50);
        assert_eq!(std::str::from_utf8(&after).unwrap(), lowered, "{body}");
        assert_eq!(
            output_bound(dialect, &envelope(lowered)).tokens,
            Some(bound.0.map_or(50, |most| most.min(50)))
        );
    }

    #[test]
    fn each_dialect_says_it_in_its_own_place() {
        use Dialect::{AnthropicMessages, BedrockConverse, CohereChat, Gemini, OpenAiChat, OpenAiResponses};
        check(OpenAiChat, r#"{"n":3,"max_tokens":100}"#, (Some(100), 3), r#"{"n":3,"max_tokens":50}"#);
        check(
            OpenAiChat,
            r#"{"max_completion_tokens":20,"max_tokens":100}"#,
            (Some(20), 1),
            r#"{"max_completion_tokens":20,"max_tokens":50}"#,
        );
        check(OpenAiChat, r#"{"a":1}"#, (None, 1), r#"{"a":1,"max_tokens":50}"#);
        check(OpenAiChat, r#"{"max_tokens":null}"#, (None, 1), r#"{"max_tokens":50}"#);
        check(OpenAiResponses, r#"{"max_output_tokens":99}"#, (Some(99), 1), r#"{"max_output_tokens":50}"#);
        check(AnthropicMessages, r#"{"max_tokens":40}"#, (Some(40), 1), r#"{"max_tokens":40}"#);
        check(CohereChat, r#"{}"#, (None, 1), r#"{"max_tokens":50}"#);
        check(
            Gemini,
            r#"{"generation_config":{"max_output_tokens":70,"candidateCount":2}}"#,
            (Some(70), 2),
            r#"{"generation_config":{"max_output_tokens":50,"candidateCount":2}}"#,
        );
        check(
            Gemini,
            r#"{"generationConfig":{"temperature":1}}"#,
            (None, 1),
            r#"{"generationConfig":{"temperature":1,"maxOutputTokens":50}}"#,
        );
        check(
            BedrockConverse,
            r#"{"inferenceConfig":{"maxTokens":51}}"#,
            (Some(51), 1),
            r#"{"inferenceConfig":{"maxTokens":50}}"#,
        );
        check(BedrockConverse, r#"{"a":[]}"#, (None, 1), r#"{"a":[],"inferenceConfig":{"maxTokens":50}}"#);
    }

    #[test]
    fn thinking_needs_its_part() {
        let body = r#"{"max_tokens":4000,"thinking":{"type":"enabled","budget_tokens":1024}}"#;
        assert_eq!(output_bound(Dialect::AnthropicMessages, &envelope(body)).tokens_min, 1025);
        assert_eq!(output_bound(Dialect::OpenAiResponses, &envelope("{}")).tokens_min, 16);
        assert_eq!(output_bound(Dialect::OpenAiChat, &envelope("{}")).tokens_min, 1);
    }

    #[test]
    fn it_is_what_the_codecs_read() {
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
        let mut told = 0;
        for dialect in Dialect::ALL {
            for file in std::fs::read_dir(format!("{fixtures}/{}", dialect.name())).unwrap() {
                let path = file.unwrap().path();
                if !path.to_string_lossy().ends_with(".request.json") {
                    continue;
                }
                let body = std::fs::read_to_string(&path).unwrap();
                let decoded = inbound(dialect).decode_request(&envelope(&body)).unwrap();
                let bound = output_bound(dialect, &envelope(&body));
                assert_eq!(bound.tokens, decoded.max_tokens, "{path:?}");
                told += usize::from(bound.tokens.is_some());
                let lower =
                    envelope(std::str::from_utf8(&lower_output(dialect, &envelope(&body), 17)).unwrap());
                let lowered = inbound(dialect).decode_request(&lower).unwrap();
                assert!(lowered.max_tokens.is_some_and(|most| most <= 17), "{path:?}");
            }
        }
        assert!(told > 6, "only {told} fixtures say it");
    }
}
