//! What clients call the members that a target could not be told. Encoders name what they leave out in one set of words
//! for all clients; here a path gets those of the client that sent it.

use crate::Dialect;
use std::borrow::Cow;

/// A path, or the end or beginning of one, and what it is called in Responses, Messages, Gemini, Bedrock and Cohere.
/// `None` is the same; so it is in Chat everywhere.
type Row = (&'static str, [Option<&'static str>; 5]);

/// Whole paths.
const PATHS: [Row; 17] = [
    (
        "max_tokens",
        [
            Some("max_output_tokens"),
            None,
            Some("generationConfig.maxOutputTokens"),
            Some("inferenceConfig.maxTokens"),
            None,
        ],
    ),
    (
        "temperature",
        [None, None, Some("generationConfig.temperature"), Some("inferenceConfig.temperature"), None],
    ),
    ("top_p", [None, None, Some("generationConfig.topP"), Some("inferenceConfig.topP"), Some("p")]),
    (
        "top_k",
        [None, None, Some("generationConfig.topK"), Some("additionalModelRequestFields.top_k"), Some("k")],
    ),
    ("frequency_penalty", [None, None, Some("generationConfig.frequencyPenalty"), None, None]),
    ("presence_penalty", [None, None, Some("generationConfig.presencePenalty"), None, None]),
    ("seed", [None, None, Some("generationConfig.seed"), None, None]),
    (
        "stop",
        [
            None,
            Some("stop_sequences"),
            Some("generationConfig.stopSequences"),
            Some("inferenceConfig.stopSequences"),
            Some("stop_sequences"),
        ],
    ),
    ("user", [None, Some("metadata.user_id"), None, None, None]),
    (
        "tool_choice",
        [None, None, Some("toolConfig.functionCallingConfig"), Some("toolConfig.toolChoice"), None],
    ),
    ("parallel_tool_calls", [None, Some("tool_choice.disable_parallel_tool_use"), None, None, None]),
    (
        "reasoning_effort",
        [
            Some("reasoning.effort"),
            Some("thinking"),
            Some(THINKING),
            Some("additionalModelRequestFields"),
            Some("thinking"),
        ],
    ),
    (
        "output_config.effort",
        [
            Some("reasoning.effort"),
            None,
            Some(THINKING),
            Some("additionalModelRequestFields"),
            Some("thinking"),
        ],
    ),
    (
        "thinking",
        [Some("reasoning"), None, Some(THINKING), Some("additionalModelRequestFields.thinking"), None],
    ),
    (
        "response_format",
        [
            Some("text.format"),
            Some("output_config.format"),
            Some("generationConfig.responseJsonSchema"),
            Some("outputConfig.textFormat"),
            None,
        ],
    ),
    ("logprobs", [Some("include[]"), None, Some("generationConfig.responseLogprobs"), None, None]),
    ("top_logprobs", [None, None, Some("generationConfig.logprobs"), None, None]),
];

const THINKING: &str = "generationConfig.thinkingConfig";

/// What paths begin with, longest first.
const BEGINNINGS: [Row; 5] = [
    (
        "response_format.json_schema.",
        [
            Some("text.format."),
            Some("output_config.format."),
            Some("generationConfig.responseJsonSchema."),
            Some("outputConfig.textFormat.structure.jsonSchema."),
            Some("response_format."),
        ],
    ),
    ("messages[].content[].", [Some("input[].content[]."), None, Some("contents[].parts[]."), None, None]),
    ("messages[].", [Some("input[]."), None, Some("contents[]."), None, None]),
    (
        "system[].",
        [
            Some("input[].content[]."),
            None,
            Some("systemInstruction.parts[]."),
            None,
            Some("messages[].content[]."),
        ],
    ),
    (
        "tools[].",
        [None, None, Some("tools[].functionDeclarations[]."), Some("toolConfig.tools[].toolSpec."), None],
    ),
];

/// What paths end with.
const ENDS: [Row; 5] = [
    ("image_url.detail", [Some("detail"), None, Some("mediaResolution"), None, None]),
    ("cache_control", [None, None, None, Some("cachePoint"), None]),
    (
        "signature",
        [None, None, Some("thoughtSignature"), Some("reasoningContent.reasoningText.signature"), None],
    ),
    (
        "redacted_thinking",
        [Some("encrypted_content"), None, None, Some("reasoningContent.redactedContent"), None],
    ),
    ("is_error", [None, None, None, Some("toolResult.status"), None]),
];

/// What a client of a dialect calls a path that an encoder of requests named.
pub fn in_words_of(client: Dialect, path: &str) -> Cow<'_, str> {
    let column = match client {
        // In Chat, system messages are messages.
        Dialect::OpenAiChat => {
            let below = path.strip_prefix("system[].");
            return below.map_or(path.into(), |below| format!("messages[].content[].{below}").into());
        }
        Dialect::OpenAiResponses => 0,
        Dialect::AnthropicMessages => 1,
        Dialect::Gemini => 2,
        Dialect::BedrockConverse => 3,
        Dialect::CohereChat => 4,
    };
    let word = |row: &Row| row.1.get(column).copied().flatten();
    if let Some(row) = PATHS.iter().find(|row| row.0 == path) {
        return word(row).unwrap_or(path).into();
    }
    let Some((beginning, rest)) = BEGINNINGS.iter().find_map(|row| Some((row, path.strip_prefix(row.0)?)))
    else {
        return path.into();
    };
    let end = ENDS.iter().find(|row| row.0 == rest);
    match (word(beginning), end.and_then(word)) {
        (None, None) => path.into(),
        (before, after) => format!("{}{}", before.unwrap_or(beginning.0), after.unwrap_or(rest)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_in_the_words_of_the_client() {
        use Dialect::{AnthropicMessages, BedrockConverse, CohereChat, Gemini, OpenAiChat, OpenAiResponses};
        for (client, path, expected) in [
            (OpenAiChat, "max_tokens", "max_tokens"),
            (OpenAiChat, "system[].cache_control", "messages[].content[].cache_control"),
            (OpenAiResponses, "max_tokens", "max_output_tokens"),
            (OpenAiResponses, "messages[].content[].image_url.detail", "input[].content[].detail"),
            (OpenAiResponses, "messages[].name", "input[].name"),
            (AnthropicMessages, "stop", "stop_sequences"),
            (AnthropicMessages, "system[].cache_control", "system[].cache_control"),
            (Gemini, "top_k", "generationConfig.topK"),
            (Gemini, "messages[].content[].signature", "contents[].parts[].thoughtSignature"),
            (Gemini, "tools[].strict", "tools[].functionDeclarations[].strict"),
            (BedrockConverse, "messages[].content[].cache_control", "messages[].content[].cachePoint"),
            (BedrockConverse, "temperature", "inferenceConfig.temperature"),
            (CohereChat, "top_p", "p"),
            // What nobody translates stays: it is the client's own word already.
            (Gemini, "safetySettings", "safetySettings"),
            (CohereChat, "documents", "documents"),
        ] {
            assert_eq!(in_words_of(client, path), expected, "{client:?} {path}");
        }
    }

    #[test]
    fn longer_beginnings_stand_first() {
        for (index, row) in BEGINNINGS.iter().enumerate() {
            let hidden = BEGINNINGS.iter().skip(index + 1).any(|later| later.0.starts_with(row.0));
            assert!(!hidden, "{} hides a longer one", row.0);
        }
    }
}
