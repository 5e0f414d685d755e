//! Which dialect a byte picks, and what all checks of the codecs have in common.
#![allow(dead_code)] // no check uses all of it

use trestle_dialect::{Dialect, Quirks, StreamContext, Target, ir::Json};

/// In the order of the digits that stand for them in the corpus, whether they are spoken already or not.
const DIALECTS: [Dialect; 6] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::AnthropicMessages,
    Dialect::Gemini,
    Dialect::BedrockConverse,
    Dialect::CohereChat,
];

/// The dialect that the first byte picks (`0` to `5`), and the rest. `None` for one that is not spoken.
pub(crate) fn dialect(data: &[u8]) -> Option<(Dialect, &[u8])> {
    let (first, rest) = data.split_first()?;
    let dialect = DIALECTS[usize::from(*first) % DIALECTS.len()];
    Dialect::ALL.contains(&dialect).then_some((dialect, rest))
}

/// The digit that picks a dialect.
pub(crate) fn digit(dialect: Dialect) -> u8 {
    let at = DIALECTS.iter().position(|known| *known == dialect).unwrap_or_default();
    b'0' + at as u8
}

/// Providers that take all extensions, that differ in all ways, and an ordinary one.
pub(crate) fn quirks() -> [Quirks; 3] {
    let adaptive_thinking = vec!["m".to_owned()];
    let generous = Quirks {
        cache_control: true,
        echo_reasoning: true,
        top_k: true,
        adaptive_thinking,
        ..Quirks::default()
    };
    let odd = Quirks {
        developer_role: false,
        flatten_content: true,
        stream_usage: false,
        drop: vec!["temperature".to_owned(), "tools".to_owned()],
        rename: [("max_tokens".to_owned(), "limit".to_owned())].into(),
        ..generous.clone()
    };
    [Quirks::default(), generous, odd]
}

/// A target with these quirks.
pub(crate) fn target<'a>(quirks: &'a Quirks, params: &'a [(String, Json)]) -> Target<'a> {
    Target { model: "m", quirks, params, wants_max_completion_tokens: quirks.top_k }
}

/// What an encoder of answers knows of the request.
pub(crate) fn context() -> StreamContext {
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    StreamContext { request_id, model, created: 1, include_usage: true, echo: None }
}
