//! How much of an event is text that a model wrote, whatever the dialect.

use crate::json::{Kind, Raw};

/// Members that hold what a model wrote.
const NAMES: [&str; 13] = [
    "text",
    "content",
    "delta",
    "partial_json",
    "thinking",
    "arguments",
    "args",
    "input",
    "reasoning_content",
    "reasoning",
    "refusal",
    "tool_plan",
    "transcript",
];

/// The bytes of all that a model wrote in the data of an event, as escaped as it is there; `None` for what is no JSON.
pub fn text_bytes(data: &[u8]) -> Option<usize> {
    Some(of(Raw::parse(data).ok()?, b""))
}

/// Bounded by the depth that the parser allows.
fn of(value: Raw<'_>, name: &[u8]) -> usize {
    match value.kind() {
        Kind::String if NAMES.iter().any(|known| known.as_bytes() == name) => value.bytes().len() - 2,
        Kind::Array => value.elements().map(|element| of(element, name)).sum(),
        // What tools are called with may be an object: all of it was written.
        Kind::Object if matches!(name, b"args" | b"input") => value.bytes().len(),
        Kind::Object => value.members().map(|member| of(member.value, member.key)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_counts() {
        for (data, bytes) in [
            (
                r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"}}]}"#,
                5,
            ),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
                7,
            ),
            (r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#, 2),
            (r#"{"type":"response.output_text.delta","item_id":"msg_1","delta":"abc"}"#, 3),
            (r#"{"candidates":[{"content":{"parts":[{"text":"ab"},{"text":"cd"}],"role":"model"}}]}"#, 4),
            (
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"city":"Rome"}}}]}}]}"#,
                15,
            ),
            (r#"{"contentBlockIndex":0,"delta":{"text":"xy"},"p":"abcdef"}"#, 2),
            (r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"four"}}}}"#, 4),
            (r#"{"type":"ping"}"#, 0),
        ] {
            assert_eq!(text_bytes(data.as_bytes()), Some(bytes), "{data}");
        }
        assert_eq!(text_bytes(b"[DONE]"), None);
    }
}
