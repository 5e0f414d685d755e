//! Whether a request may need a feature, told from the words in it, so that most requests need not be read for that.

use crate::{Envelope, ir::Features};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Names of all dialects without which a feature is not needed, with their quotes: in a text those would be escaped.
const NAMES: [(Features, &[&str]); 16] = [
    (Features::TOOLS, TOOLS),
    (Features::CHOICES, &[r#""n""#, r#""candidateCount""#, r#""candidate_count""#]),
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
            r#""json_schema""#,
            r#""output_format""#,
            r#""output_config""#,
            r#""outputConfig""#,
            r#""responseSchema""#,
            r#""response_schema""#,
            r#""responseJsonSchema""#,
            r#""response_json_schema""#,
            r#""_responseJsonSchema""#,
            r#""responseFormat""#,
            r#""response_format""#,
        ],
    ),
    (
        Features::JSON_OBJECT,
        &[
            r#""json_object""#,
            r#""responseMimeType""#,
            r#""response_mime_type""#,
            r#""responseFormat""#,
            r#""response_format""#,
        ],
    ),
    (
        Features::REASONING,
        &[
            r#""reasoning_effort""#,
            r#""reasoning""#,
            r#""thinking""#,
            r#""output_config""#,
            r#""outputConfig""#,
            r#""thinkingConfig""#,
            r#""thinking_config""#,
            r#""additionalModelRequestFields""#,
        ],
    ),
    (
        Features::LOGPROBS,
        &[
            r#""logprobs""#,
            r#""top_logprobs""#,
            r#""responseLogprobs""#,
            r#""response_logprobs""#,
            r#""include""#,
        ],
    ),
    (
        Features::SERVER_TOOLS,
        &[
            r#""tools""#,
            r#""web_search_options""#,
            r#""mcp_servers""#,
            r#""thread""#,
            r#""toolConfig""#,
            r#""connectors""#,
            r#""cachedContent""#,
            r#""cached_content""#,
        ],
    ),
    (Features::STREAMING, &[r#""stream""#]),
    (Features::GUARDRAILS, &[r#""guardrailConfig""#]),
];

/// Of calls, their results, and tools.
const TOOLS: &[&str] = &[
    r#""tools""#,
    r#""toolConfig""#,
    r#""tool_config""#,
    r#""functions""#,
    r#""function""#,
    r#""tool_calls""#,
    r#""tool_use""#,
    r#""toolUse""#,
    r#""tool_result""#,
    r#""toolResult""#,
    r#""tool""#,
    r#""function_call""#,
    r#""functionCall""#,
    r#""function_call_output""#,
    r#""function_response""#,
    r#""functionResponse""#,
];

/// Of pictures, documents, sound and films: one member holds them all in some dialects.
const MEDIA: &[&str] = &[
    r#""image_url""#,
    r#""image""#,
    r#""input_image""#,
    r#""file""#,
    r#""input_file""#,
    r#""document""#,
    r#""documents""#,
    r#""audio""#,
    r#""input_audio""#,
    r#""video""#,
    r#""inlineData""#,
    r#""inline_data""#,
    r#""fileData""#,
    r#""file_data""#,
];

/// Of answers that are not text.
const MODALITIES: &[&str] = &[
    r#""audio""#,
    r#""modalities""#,
    r#""responseModalities""#,
    r#""response_modalities""#,
    r#""speechConfig""#,
];

/// To make a finder costs more than most searches.
static FINDERS: LazyLock<Vec<(Features, Vec<Finder<'static>>)>> = LazyLock::new(|| {
    NAMES
        .iter()
        .map(|(feature, names)| (*feature, names.iter().map(|name| Finder::new(*name)).collect()))
        .collect()
});
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));

/// False only if the request needs none of the features; true means that it must be decoded to know. A body in which
/// a name could be hidden by escapes is always one of the latter.
pub fn may_need(envelope: &Envelope, features: Features) -> bool {
    let body = envelope.body();
    let mut asked = FINDERS.iter().filter(|(feature, _)| !feature.and(features).is_empty());
    ESCAPE.find(body).is_some()
        || asked.any(|(_, finders)| finders.iter().any(|finder| finder.find(body).is_some()))
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
}
