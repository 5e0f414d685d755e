//! Writes answers as Anthropic does, whole and as a stream of events.

use super::super::behaviour::Behaviour;
use super::super::compose::{Answer, Part, Stop};
use super::super::vendor::{Event, Events, Reply, forced_error, fresh_id, quoted};
use super::{Anthropic, error};

fn stop(answer: &Answer) -> (String, String) {
    let (reason, sequence) = match &answer.stop {
        Stop::End => ("end_turn", None),
        Stop::Length => ("max_tokens", None),
        Stop::Sequence(sequence) => ("stop_sequence", Some(sequence)),
        Stop::Tool => ("tool_use", None),
        Stop::Refusal => ("refusal", None),
    };
    (quoted(reason), sequence.map_or_else(|| "null".to_owned(), |sequence| quoted(sequence)))
}

/// Usage with the cached input beside (not within) `input_tokens`.
fn usage(answer: &Answer, output: usize) -> String {
    format!(
        r#"{{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0}},"output_tokens":{output},"service_tier":"standard"}}"#,
        answer.input_tokens - answer.cached_tokens,
        answer.cached_tokens
    )
}

fn message(id: &str, model: &str, content: &str, rest: &str) -> String {
    format!(
        r#"{{"id":"{id}","type":"message","role":"assistant","model":{},"content":[{content}],{rest}}}"#,
        quoted(model)
    )
}

/// A whole answer.
pub(super) fn whole(answer: &Answer, model: &str, behaviour: &Behaviour) -> Reply {
    let content: Vec<_> = answer.parts.iter().map(block).collect();
    let (reason, sequence) = stop(answer);
    let mut rest = format!(r#""stop_reason":{reason},"stop_sequence":{sequence}"#);
    if !behaviour.has("no_usage") {
        rest = format!(r#"{rest},"usage":{}"#, usage(answer, answer.output_tokens));
    }
    Reply::Whole(message(&fresh_id("msg_"), model, &content.join(","), &rest))
}

fn block(part: &Part) -> String {
    match part {
        Part::Thinking { pieces, signature } => format!(
            r#"{{"type":"thinking","thinking":{},"signature":{}}}"#,
            quoted(&pieces.concat()),
            quoted(signature)
        ),
        Part::Redacted { data } => format!(r#"{{"type":"redacted_thinking","data":{}}}"#, quoted(data)),
        Part::Text(pieces) => format!(r#"{{"type":"text","text":{}}}"#, quoted(&pieces.concat())),
        Part::Tool { name, input, .. } => format!(
            r#"{{"type":"tool_use","id":"{}","name":{},"input":{input}}}"#,
            fresh_id("toolu_"),
            quoted(name)
        ),
    }
}

/// A stream: start, ping, the blocks, the stop reason with usage, the end mark.
pub(super) fn events(answer: &Answer, model: &str, behaviour: &Behaviour) -> Events {
    let mut rest = r#""stop_reason":null,"stop_sequence":null"#.to_owned();
    let mut last = String::new();
    if !behaviour.has("no_usage") {
        rest = format!(r#"{rest},"usage":{}"#, usage(answer, 1));
        last = format!(
            r#","usage":{{"input_tokens":{},"cache_creation_input_tokens":0,"cache_read_input_tokens":{},"output_tokens":{}}}"#,
            answer.input_tokens - answer.cached_tokens,
            answer.cached_tokens,
            answer.output_tokens
        );
    }
    let message = message(&fresh_id("msg_"), model, "", &rest);
    let start = format!(r#"{{"type":"message_start","message":{message}}}"#);
    let mut content = Vec::new();
    for (index, part) in answer.parts.iter().enumerate() {
        block_events(index, part, &mut content);
    }
    // The start of the first block carries no content yet: a gateway may still turn to another target.
    let first = (!content.is_empty()).then(|| content.remove(0));
    let (reason, sequence) = stop(answer);
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":{reason},"stop_sequence":{sequence}}}{last}}}"#
    );
    let forced = forced_error(&Anthropic, behaviour, model);
    let fault = forced.unwrap_or_else(|| error::forced_error(Some("overloaded"), None, model));
    Events {
        start: [Some(Event::named("message_start", start)), first, Some(ping())]
            .into_iter()
            .flatten()
            .collect(),
        content,
        end: vec![
            Event::named("message_delta", delta),
            Event::named("message_stop", r#"{"type":"message_stop"}"#),
        ],
        error: vec![Event::named("error", error::render(&fault, None))],
        keepalive: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        ..Events::default()
    }
}

fn ping() -> Event {
    Event::named("ping", r#"{"type": "ping"}"#)
}

fn block_events(index: usize, part: &Part, out: &mut Vec<Event>) {
    let mut start = |block: String| {
        let data = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
        out.push(Event::named("content_block_start", data));
    };
    let deltas: Vec<String> = match part {
        Part::Thinking { pieces, signature } => {
            start(r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned());
            let thought = |piece: &String| format!(r#""thinking_delta","thinking":{}"#, quoted(piece));
            let signed = format!(r#""signature_delta","signature":{}"#, quoted(signature));
            pieces.iter().map(thought).chain([signed]).collect()
        }
        Part::Redacted { .. } => {
            start(block(part));
            Vec::new()
        }
        Part::Text(pieces) => {
            start(r#"{"type":"text","text":""}"#.to_owned());
            pieces.iter().map(|piece| format!(r#""text_delta","text":{}"#, quoted(piece))).collect()
        }
        Part::Tool { name, input, pieces } => {
            start(format!(
                r#"{{"type":"tool_use","id":"{}","name":{},"input":{{}}}}"#,
                fresh_id("toolu_"),
                quoted(name)
            ));
            // A tool without arguments gets one empty delta and nothing else.
            let pieces = if input == "{}" { &[] } else { pieces.as_slice() };
            let arguments = |text: &str| format!(r#""input_json_delta","partial_json":{}"#, quoted(text));
            std::iter::once(arguments("")).chain(pieces.iter().map(|piece| arguments(piece))).collect()
        }
    };
    out.extend(deltas.into_iter().map(|delta| {
        let data = format!(r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":{delta}}}}}"#);
        Event::named("content_block_delta", data)
    }));
    out.push(Event::named(
        "content_block_stop",
        format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
    ));
}
