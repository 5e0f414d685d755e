//! Whether a request may need a feature, told from the words in it, so that most requests need not be read for that.

use crate::{Envelope, ir::Features};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// Names of all dialects without which a feature is not needed, with their quotes: in a text those would be escaped.
const NAMES: [(Features, &[&str]); 12] = [
    (
        Features::TOOLS,
        &[
            r#""tools""#,
            r#""functions""#,
            r#""tool_calls""#,
            r#""tool_use""#,
            r#""tool_result""#,
            r#""tool""#,
            r#""function_call""#,
            r#""function""#,
        ],
    ),
    (Features::CHOICES, &[r#""n""#]),
    (Features::IMAGES, &[r#""image_url""#, r#""image""#, r#""input_image""#]),
    (Features::TOOL_RESULT_IMAGES, &[r#""image_url""#, r#""image""#, r#""input_image""#]),
    (Features::DOCUMENTS, &[r#""file""#, r#""input_file""#, r#""document""#]),
    (Features::AUDIO, &[r#""audio""#, r#""input_audio""#, r#""modalities""#]),
    (Features::JSON_SCHEMA, &[r#""json_schema""#, r#""output_format""#, r#""output_config""#]),
    (Features::JSON_OBJECT, &[r#""json_object""#]),
    (
        Features::REASONING,
        &[r#""reasoning_effort""#, r#""reasoning""#, r#""thinking""#, r#""output_config""#],
    ),
    (Features::LOGPROBS, &[r#""logprobs""#, r#""top_logprobs""#]),
    (Features::SERVER_TOOLS, &[r#""tools""#, r#""web_search_options""#, r#""mcp_servers""#]),
    (Features::STREAMING, &[r#""stream""#]),
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
        for (dialect, folder) in
            [(Dialect::OpenAiChat, "openai-chat"), (Dialect::AnthropicMessages, "anthropic-messages")]
        {
            for file in std::fs::read_dir(format!("{fixtures}/{folder}")).unwrap() {
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
