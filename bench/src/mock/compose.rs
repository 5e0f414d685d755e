//! Decides what to answer, in words that belong to no vendor.

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::behaviour::Behaviour;
use super::schema;
use super::vendor::token_count;

/// A tool that the request offers.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) schema: Value,
}

/// What the request says about calling tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Choice {
    #[default]
    Auto,
    Never,
    Any,
    Named(String),
}

/// What the answer depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    pub(crate) model: String,
    /// The last text of the user.
    pub(crate) text: String,
    /// The text of the tool results, where the last message holds any.
    pub(crate) tool_result: Option<String>,
    pub(crate) images: usize,
    pub(crate) tools: Vec<Tool>,
    pub(crate) choice: Choice,
    pub(crate) one_call: bool,
    pub(crate) stops: Vec<String>,
    pub(crate) max_tokens: Option<usize>,
    /// The schema of the answer, where it is to be JSON.
    pub(crate) schema: Option<Value>,
    pub(crate) thinking: bool,
    pub(crate) input_tokens: usize,
    pub(crate) stream: bool,
}

/// One part of the answer; texts are cut into what one event carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Thinking { pieces: Vec<String>, signature: String },
    Redacted { data: String },
    Text(Vec<String>),
    Tool { name: String, input: String, pieces: Vec<String> },
}

/// Why the answer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    End,
    Length,
    Sequence(String),
    Tool,
    Refusal,
}

/// The answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Stop,
    pub(crate) input_tokens: usize,
    pub(crate) output_tokens: usize,
    pub(crate) thinking_tokens: usize,
    pub(crate) cached_tokens: usize,
}

/// Bytes of one piece of text, at most.
const PIECE_BYTES: usize = 16;
/// Bytes of one piece of tool arguments, at most.
const ARGUMENT_BYTES: usize = 8;

/// Composes the answer. Words in the last text of the user that matter: `call tool`, `call two tools`,
/// `call empty tool`, and with one of these `with text` and (at Cohere) `with plan`; `redacted` where thinking is on.
pub(crate) fn compose(ask: &Ask, behaviour: &Behaviour) -> Answer {
    let calls = calls(ask);
    let mut parts = thoughts(ask);
    let mut stop = Stop::End;
    if calls.is_empty() || ask.text.contains("with text") {
        let (pieces, why) = text(ask, behaviour);
        parts.push(Part::Text(pieces));
        stop = why;
    }
    if !calls.is_empty() {
        stop = Stop::Tool;
        parts.extend(calls);
    }
    if behaviour.has("refusal") {
        stop = Stop::Refusal;
        parts = vec![Part::Text(pieces("I'm sorry, I cannot help with that.", PIECE_BYTES))];
    }
    let thinking_tokens = parts.iter().filter(|part| matches!(part, Part::Thinking { .. })).map(tokens).sum();
    Answer {
        output_tokens: parts.iter().map(tokens).sum(),
        thinking_tokens,
        parts,
        stop,
        input_tokens: ask.input_tokens,
        cached_tokens: behaviour.count("cached").unwrap_or(0).min(ask.input_tokens),
    }
}

fn tokens(part: &Part) -> usize {
    match part {
        Part::Thinking { pieces, .. } | Part::Text(pieces) => pieces.len(),
        Part::Redacted { .. } => 8,
        Part::Tool { name, input, .. } => token_count(name) + token_count(input) + 8,
    }
}

fn thoughts(ask: &Ask) -> Vec<Part> {
    if !ask.thinking {
        return Vec::new();
    }
    let thought = format!("The user wrote: {}", ask.text);
    let mut parts =
        vec![Part::Thinking { signature: signature(&thought), pieces: pieces(&thought, PIECE_BYTES) }];
    if ask.text.contains("redacted") {
        parts.push(Part::Redacted { data: signature("redacted") });
    }
    parts
}

/// The signature of a thought: it depends on every byte, so a changed thought or signature is seen.
pub(crate) fn signature(thought: &str) -> String {
    let digest = Sha256::new().chain_update(b"trestle-mock thinking ").chain_update(thought).finalize();
    let mut bytes = b"\x12\xb4\x02mock".to_vec();
    bytes.extend_from_slice(&digest);
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn calls(ask: &Ask) -> Vec<Part> {
    let asked = ask.text.contains("call tool")
        || ask.text.contains("call two tools")
        || ask.text.contains("call empty tool");
    let chosen: Vec<&Tool> = match &ask.choice {
        Choice::Never => return Vec::new(),
        Choice::Named(name) => ask.tools.iter().filter(|tool| tool.name == *name).collect(),
        Choice::Auto if !asked || ask.tool_result.is_some() => return Vec::new(),
        Choice::Auto | Choice::Any => {
            let empty = |tool: &&Tool| schema::instance(&tool.schema, "") == json!({});
            let wanted = ask.text.contains("call empty tool");
            let first = ask.tools.iter().find(|tool| wanted && empty(tool)).or(ask.tools.first());
            first.into_iter().collect()
        }
    };
    let mut calls: Vec<Part> = chosen.into_iter().take(1).map(|tool| call(ask, tool)).collect();
    if ask.text.contains("call two tools") && !ask.one_call && ask.tool_result.is_none() {
        calls.extend(ask.tools.get(1).or(ask.tools.first()).map(|tool| call(ask, tool)));
    }
    calls
}

fn call(ask: &Ask, tool: &Tool) -> Part {
    let input = if ask.text.contains("call empty tool") {
        "{}".to_owned()
    } else {
        schema::instance(&tool.schema, &ask.text).to_string()
    };
    Part::Tool { name: tool.name.clone(), pieces: pieces(&input, ARGUMENT_BYTES), input }
}

fn text(ask: &Ask, behaviour: &Behaviour) -> (Vec<String>, Stop) {
    let mut stop = Stop::End;
    let mut text = match (&ask.schema, &ask.tool_result) {
        (Some(schema), _) => match schema::instance(schema, &ask.text) {
            Value::Object(empty) if empty.is_empty() => json!({ "echo": ask.text }).to_string(),
            value => value.to_string(),
        },
        (None, Some(result)) => format!("The tool said: {result}"),
        (None, None) => ask.text.clone(),
    };
    if ask.images > 0 && ask.schema.is_none() {
        text = format!("{text} (saw {} images)", ask.images);
    }
    if let Some(bytes) = behaviour.count("bytes") {
        text = "lorem ipsum dolor sit amet ".chars().cycle().take(bytes).collect();
    }
    let found = ask.stops.iter().filter_map(|stop| Some((text.find(stop.as_str())?, stop)));
    if let Some((at, sequence)) = found.min() {
        text.truncate(at);
        stop = Stop::Sequence(sequence.clone());
    }
    let mut pieces = match behaviour.count("tokens") {
        Some(count) if behaviour.has("bytes") => evenly(&text, count),
        Some(count) => (0..count).map(|word| format!("word{word} ")).collect(),
        None => pieces(&text, PIECE_BYTES),
    };
    if let Some(most) = ask.max_tokens.filter(|most| *most < pieces.len()) {
        pieces.truncate(most);
        stop = Stop::Length;
    }
    (pieces, stop)
}

/// Cuts a text after each space and wherever a piece would grow longer than `most` bytes.
fn pieces(text: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for letter in text.chars() {
        if piece.len() + letter.len_utf8() > most {
            pieces.push(std::mem::take(&mut piece));
        }
        piece.push(letter);
        if letter == ' ' {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Cuts an ASCII text into `count` pieces of about the same size.
fn evenly(text: &str, count: usize) -> Vec<String> {
    let count = count.clamp(1, text.len().max(1));
    (0..count).map(|at| text[text.len() * at / count..text.len() * (at + 1) / count].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> Ask {
        let tool = |name: &str, schema| Tool { name: name.into(), schema };
        Ask {
            text: text.into(),
            tools: vec![
                tool("weather", json!({"type": "object", "properties": {"city": {"type": "string"}}})),
                tool("now", json!({"type": "object", "properties": {}})),
            ],
            ..Ask::default()
        }
    }

    fn joined(answer: &Answer) -> String {
        answer
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(pieces) | Part::Thinking { pieces, .. } => pieces.concat(),
                Part::Redacted { .. } => "redacted".into(),
                Part::Tool { name, input, pieces } => {
                    assert_eq!(&pieces.concat(), input);
                    format!("{name}({input})")
                }
            })
            .collect::<Vec<_>>()
            .join("|")
    }

    #[test]
    fn the_answer_follows_the_words() {
        let check = |text: &str, settings: &str, expected: &str, stop: Stop| {
            let answer = compose(&ask(text), &Behaviour::parse(settings).unwrap());
            assert_eq!((joined(&answer).as_str(), answer.stop), (expected, stop), "{text}");
        };
        check("hello 世界 🎉", "", "hello 世界 🎉", Stop::End);
        check("call tool", "", r#"weather({"city":"call tool"})"#, Stop::Tool);
        check("call empty tool", "", "now({})", Stop::Tool);
        check(
            "call two tools with text",
            "",
            r#"call two tools with text|weather({"city":"call two tools with text"})|now({})"#,
            Stop::Tool,
        );
        check("x", "tokens=2", "word0 word1 ", Stop::End);
        check("x", "bytes=30", "lorem ipsum dolor sit amet lor", Stop::End);
    }

    #[test]
    fn stops_and_lengths_hold() {
        let none = Behaviour::default();
        let stopped = compose(&Ask { stops: vec!["END".into(), "B".into()], ..ask("a B END") }, &none);
        assert_eq!((joined(&stopped).as_str(), stopped.stop), ("a ", Stop::Sequence("B".into())));
        let cut = compose(&Ask { max_tokens: Some(1), ..ask("one two three") }, &none);
        assert_eq!((joined(&cut).as_str(), cut.stop, cut.output_tokens), ("one ", Stop::Length, 1));
    }

    #[test]
    fn bytes_and_tokens_are_exact_together() {
        let answer = compose(&ask("x"), &Behaviour::parse("bytes=1000,tokens=7").unwrap());
        assert_eq!((joined(&answer).len(), answer.output_tokens), (1000, 7));
    }
}
