//! What answers about sound and pictures cost, beside the usage that they tell.

use super::usage::{decode, millis};
use crate::{ir::Usage, json::Raw};
use memchr::memmem;

/// What a whole answer says of its cost: its usage, the length of the sound that was heard, the pictures in it.
pub fn media_usage(answer: Raw<'_>) -> Option<Usage> {
    let (mut usage, mut seconds) = (Usage::default(), None);
    for member in answer.members() {
        match member.key {
            b"usage" => usage = usage.merge(decode(member.value).unwrap_or_default()),
            b"duration" => seconds = millis(member.value),
            b"data" => {
                usage.images = member.value.elements().filter(|element| is_picture(*element)).count() as u64
            }
            _ => {}
        }
    }
    // Where tokens are charged the length says nothing more.
    if usage.total() == 0 && usage.audio_ms == 0 {
        usage.audio_ms = seconds.unwrap_or(0);
    }
    (usage != Usage::default()).then_some(usage)
}

fn is_picture(element: Raw<'_>) -> bool {
    ["b64_json", "url"].iter().any(|name| element.get(name).is_some_and(|value| !value.is_null()))
}

/// Counts the pictures in an answer that is too large to be read whole: such a one holds them as base64.
#[derive(Debug, Clone, Default)]
pub struct Pictures {
    last: Vec<u8>,
    count: u64,
}

impl Pictures {
    /// The next bytes of the answer.
    pub fn feed(&mut self, bytes: &[u8]) {
        // Inside of a string its quotes would be escaped.
        const NAME: &[u8] = b"\"b64_json\"";
        const SEAM: usize = NAME.len() - 1;
        self.last.extend_from_slice(&bytes[..bytes.len().min(SEAM)]);
        let found = memmem::find_iter(&self.last, NAME).count() + memmem::find_iter(bytes, NAME).count();
        self.count += found as u64;
        if bytes.len() > SEAM {
            self.last.clear();
            self.last.extend_from_slice(&bytes[bytes.len() - SEAM..]);
        }
        self.last.drain(..self.last.len().saturating_sub(SEAM));
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_tell_what_they_cost() {
        let check = |answer: &str, expected: Option<Usage>| {
            assert_eq!(media_usage(Raw::parse(answer.as_bytes()).unwrap()), expected, "{answer}");
        };
        let none = Usage::default();
        check(r#"{"text":"hi"}"#, None);
        check(
            r#"{"text":"hi","usage":{"type":"duration","seconds":9}}"#,
            Some(Usage { audio_ms: 9000, ..none }),
        );
        check(r#"{"duration":8.47,"text":"x"}"#, Some(Usage { audio_ms: 8470, ..none }));
        check(r#"{"duration":"8.4700001","text":"x"}"#, Some(Usage { audio_ms: 8470, ..none }));
        check(r#"{"duration":-1,"text":"x"}"#, None);
        check(
            r#"{"usage":{"type":"tokens","input_tokens":14,"input_token_details":{"text_tokens":4,"audio_tokens":10},"output_tokens":5,"total_tokens":19},"duration":2}"#,
            Some(Usage { input: 14, audio_input: 10, output: 5, ..none }),
        );
        check(
            r#"{"usage":{"prompt_audio_seconds":3,"prompt_tokens":4,"total_tokens":9,"completion_tokens":5}}"#,
            Some(Usage { input: 4, output: 5, audio_ms: 3000, ..none }),
        );
        check(
            r#"{"data":[{"b64_json":"x"},{"b64_json":"x","url":null},{"url":"u"},{"url":null}],"usage":{"input_tokens":9,"input_tokens_details":{"image_tokens":6,"text_tokens":3},"output_tokens":272,"output_tokens_details":{"image_tokens":270,"text_tokens":2}}}"#,
            Some(Usage { input: 9, image_input: 6, output: 272, image_output: 270, images: 3, ..none }),
        );
        check(r#"{"data":[{"url":"u"}]}"#, Some(Usage { images: 1, ..none }));
    }

    #[test]
    fn pictures_are_counted_in_any_pieces() {
        let answer =
            br#"{"data":[{"b64_json":"AAAA"},{"revised_prompt":"say \"b64_json\"","b64_json" : "BBBB"}]}"#;
        for size in 1..answer.len() {
            let mut pictures = Pictures::default();
            answer.chunks(size).for_each(|piece| pictures.feed(piece));
            assert_eq!(pictures.count(), 2, "pieces of {size}");
        }
    }
}
