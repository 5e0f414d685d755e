//! Writes chat answers as OpenAI does, whole and as a stream of chunks.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::compose::{Answer, Part, Stop};
use super::super::vendor::{Event, Events, Reply, forced_error, fresh_id, quoted, unix_seconds};
use super::{OpenAi, error};

/// What every chunk of one answer repeats, and how it is to be written.
pub(super) struct Shape<'a> {
    id: String,
    created: u64,
    model: String,
    choices: usize,
    include_usage: bool,
    behaviour: &'a Behaviour,
}

impl<'a> Shape<'a> {
    pub(super) fn new(body: &Value, model: &str, behaviour: &'a Behaviour) -> Self {
        let choices = body.get("n").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let asked = body.pointer("/stream_options/include_usage") == Some(&json!(true));
        Self {
            id: fresh_id("chatcmpl-"),
            created: unix_seconds(),
            model: quoted(model),
            choices: choices.unwrap_or(1),
            include_usage: (asked && !behaviour.has("no_usage")) || behaviour.has("usage_always"),
            behaviour,
        }
    }

    fn chunk(&self, choices: &str) -> Event {
        self.chunk_with(choices, if self.include_usage { r#","usage":null"# } else { "" })
    }

    fn chunk_with(&self, choices: &str, usage: &str) -> Event {
        let Self { id, created, model, .. } = self;
        Event::data(format!(
            r#"{{"id":"{id}","object":"chat.completion.chunk","created":{created},"model":{model},"service_tier":"default","system_fingerprint":"fp_fc9f1d7035","choices":[{choices}]{usage}}}"#
        ))
    }

    fn delta(&self, choice: usize, delta: &str) -> Event {
        self.chunk(&format!(
            r#"{{"index":{choice},"delta":{{{delta}}},"logprobs":null,"finish_reason":null}}"#
        ))
    }
}

fn finish_reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Sequence(_) | Stop::Refusal => "stop",
        Stop::Length => "length",
        Stop::Tool => "tool_calls",
    }
}

fn usage(answer: &Answer, shape: &Shape<'_>) -> String {
    let (input, output) = (answer.input_tokens, answer.output_tokens * shape.choices);
    let reasoning = if shape.behaviour.has("reasoning") { REASONING.len() } else { answer.thinking_tokens };
    format!(
        r#"{{"prompt_tokens":{input},"completion_tokens":{output},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":{},"audio_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":{reasoning},"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}}"#,
        input + output,
        answer.cached_tokens
    )
}

/// What compatible providers send as `reasoning_content`.
const REASONING: [&str; 3] = ["Let ", "me ", "think."];

/// A whole answer.
pub(super) fn whole(answer: &Answer, shape: &Shape<'_>) -> Reply {
    let finish = finish_reason(&answer.stop);
    let choices: Vec<_> = (0..shape.choices)
        .map(|index| {
            let message = message(answer, shape);
            format!(r#"{{"index":{index},"message":{message},"logprobs":null,"finish_reason":"{finish}"}}"#)
        })
        .collect();
    let usage = if shape.behaviour.has("no_usage") {
        String::new()
    } else {
        format!(r#""usage":{},"#, usage(answer, shape))
    };
    let Shape { id, created, model, .. } = shape;
    Reply::Whole(format!(
        r#"{{"id":"{id}","object":"chat.completion","created":{created},"model":{model},"choices":[{}],{usage}"service_tier":"default","system_fingerprint":"fp_fc9f1d7035"}}"#,
        choices.join(",")
    ))
}

fn message(answer: &Answer, shape: &Shape<'_>) -> String {
    let texts = answer.parts.iter().filter_map(|part| match part {
        Part::Text(pieces) => Some(pieces.concat()),
        _ => None,
    });
    let text = texts.reduce(|all, more| all + &more).map_or_else(|| "null".to_owned(), |text| quoted(&text));
    let calls: Vec<_> = answer
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Tool { name, input, .. } => Some(format!(
                r#"{{"id":"{}","type":"function","function":{{"name":{},"arguments":{}}}}}"#,
                fresh_id("call_"),
                quoted(name),
                quoted(input)
            )),
            _ => None,
        })
        .collect();
    let (content, refusal) =
        if answer.stop == Stop::Refusal { ("null".to_owned(), text) } else { (text, "null".to_owned()) };
    let calls =
        if calls.is_empty() { String::new() } else { format!(r#""tool_calls":[{}],"#, calls.join(",")) };
    let reasoning = if shape.behaviour.has("reasoning") {
        format!(r#""reasoning_content":{},"#, quoted(&REASONING.concat()))
    } else {
        String::new()
    };
    format!(
        r#"{{"role":"assistant",{reasoning}"content":{content},{calls}"refusal":{refusal},"annotations":[]}}"#
    )
}

/// A stream: the role, the content, the finish chunk, usage for whom asked, the end mark.
pub(super) fn events(answer: &Answer, shape: &Shape<'_>) -> Events {
    let mut events = Events { keepalive: ": keep-alive\n\n", ..Events::default() };
    let with_text = answer.parts.iter().any(|part| matches!(part, Part::Text(_)));
    let content = if with_text { r#""""# } else { "null" };
    for choice in 0..shape.choices {
        let role = format!(r#""role":"assistant","content":{content},"refusal":null"#);
        events.start.push(shape.delta(choice, &role));
        if shape.behaviour.has("reasoning") {
            let thought = |piece: &&str| format!(r#""reasoning_content":{}"#, quoted(piece));
            events.content.extend(REASONING.iter().map(|piece| shape.delta(choice, &thought(piece))));
        }
        content_events(answer, shape, choice, &mut events.content);
        let finish = finish_reason(&answer.stop);
        let delta = if shape.behaviour.has("last_chunk_without_delta") { "" } else { r#""delta":{},"# };
        events
            .end
            .push(shape.chunk(&format!(
                r#"{{"index":{choice},{delta}"logprobs":null,"finish_reason":"{finish}"}}"#
            )));
    }
    if shape.include_usage {
        let placeholder = if shape.behaviour.has("usage_placeholder") {
            r#"{"index":0,"delta":{},"logprobs":null,"finish_reason":null}"#
        } else {
            ""
        };
        let usage = format!(r#","usage":{}"#, usage(answer, shape));
        events.end.push(shape.chunk_with(placeholder, &usage));
    }
    events.end.push(Event::data("[DONE]"));
    events.error = error_events(shape);
    events
}

fn content_events(answer: &Answer, shape: &Shape<'_>, choice: usize, out: &mut Vec<Event>) {
    let mut calls = 0;
    for part in &answer.parts {
        match part {
            Part::Text(pieces) => {
                let member = if answer.stop == Stop::Refusal { "refusal" } else { "content" };
                let delta = |piece: &String| shape.delta(choice, &format!(r#""{member}":{}"#, quoted(piece)));
                out.extend(pieces.iter().map(delta));
            }
            Part::Tool { name, pieces, .. } => {
                let opened = format!(
                    r#""tool_calls":[{{"index":{calls},"id":"{}","type":"function","function":{{"name":{},"arguments":""}}}}]"#,
                    fresh_id("call_"),
                    quoted(name)
                );
                out.push(shape.delta(choice, &opened));
                let delta = |piece: &String| {
                    let arguments = quoted(piece);
                    let call = format!(
                        r#""tool_calls":[{{"index":{calls},"function":{{"arguments":{arguments}}}}}]"#
                    );
                    shape.delta(choice, &call)
                };
                out.extend(pieces.iter().map(delta));
                calls += 1;
            }
            Part::Thinking { .. } | Part::Redacted { .. } => {}
        }
    }
}

/// An error inside a stream, then the end mark. A status that is set is embedded, as routers of models do.
fn error_events(shape: &Shape<'_>) -> Vec<Event> {
    let forced = forced_error(&OpenAi, shape.behaviour, shape.model.trim_matches('"'));
    let fault = forced.unwrap_or_else(|| error::forced_error(None, Some(500), ""));
    let mut text = error::render(&fault);
    if let Some(status) = shape.behaviour.status() {
        text = format!(r#"{{"error":{{"message":{},"code":{status}}}}}"#, quoted(&fault.message));
    }
    vec![Event::data(text), Event::data("[DONE]")]
}
