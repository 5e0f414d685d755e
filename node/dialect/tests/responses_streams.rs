//! Streams of OpenAI Responses: what is kept, what waits, and how they end.

#![allow(clippy::unwrap_used)]

use trestle_dialect::{
    Dialect, Envelope, StreamContext, inbound,
    ir::{BlockStart, Citation, Delta, Event, Json, Text},
    outbound,
};

const SELF: Dialect = Dialect::OpenAiResponses;

fn encode(events: &[Event]) -> (String, Vec<String>) {
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    let context = StreamContext { request_id, model, created: 1, include_usage: true, echo: None };
    let (mut wire, mut dropped) = (Vec::new(), Vec::new());
    let mut writer = inbound(SELF).encode_events(&context);
    events.iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
    (String::from_utf8(wire).unwrap(), dropped)
}

fn text(index: u32, text: &str) -> Event {
    Event::Delta { index, delta: Delta::Text(Text::new(text)) }
}

/// The names of the events, without those of the answer itself.
fn names(wire: &str) -> Vec<&str> {
    let names = wire.lines().filter_map(|line| line.strip_prefix("event: response."));
    names.filter(|name| !matches!(*name, "created" | "in_progress" | "completed")).collect()
}

#[test]
fn answers_repeat_what_was_asked() {
    let body = r#"{"model":"m","input":"long","instructions":"long","tools":[],"top_p":null,"metadata":{"a":"b"},
        "text":{"format":{"type":"json_object"}},"max_output_tokens":16}"#;
    let envelope = Envelope::parse(body.as_bytes().into()).unwrap();
    let echo = inbound(SELF).echo(&envelope);
    let expected =
        r#"{"max_output_tokens":16,"text":{"format":{"type":"json_object"}},"metadata":{"a":"b"}}"#;
    assert_eq!(echo.as_ref().unwrap().bytes(), expected);
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    let context = StreamContext { request_id, model, created: 1, include_usage: true, echo };
    let (mut wire, mut dropped) = (Vec::new(), Vec::new());
    inbound(SELF).encode_events(&context).encode(&text(0, "{}"), &mut wire, &mut dropped);
    let wire = String::from_utf8(wire).unwrap();
    assert!(wire.contains(r#""text":{"format":{"type":"json_object"}},"tool_choice":"auto""#), "{wire}");
    assert!(wire.contains(r#""max_output_tokens":16"#) && wire.contains(r#""metadata":{"a":"b"}"#), "{wire}");
    let bare = Envelope::parse(r#"{"model":"m","input":"x","text":null}"#.as_bytes().into()).unwrap();
    assert!(inbound(SELF).echo(&bare).is_none());
}

#[test]
fn what_is_repeated_is_bounded() {
    let piece = "x".repeat(1 << 20);
    let mut events = vec![Event::BlockStart { index: 0, block: BlockStart::Text }];
    events.extend((0..20).map(|_| text(0, &piece)));
    events.extend([Event::BlockStop { index: 0 }, Event::End]);
    let (wire, dropped) = encode(&events);
    assert_eq!(wire.matches("response.output_text.delta\n").count(), 20, "all of it is streamed");
    let last = wire.rsplit("event: ").next().unwrap();
    assert!(last.starts_with("response.completed") && last.len() < 17 << 20);
    assert_eq!(dropped, ["output[]"]);
}

#[test]
fn deltas_go_on_at_once_and_a_text_closes_with_what_follows() {
    let call = BlockStart::ToolUse { id: Text::new("c"), name: Text::new("f") };
    let mut events = vec![Event::BlockStart { index: 0, block: BlockStart::Text }, text(0, "a")];
    assert_eq!(names(&encode(&events).0).last(), Some(&"output_text.delta"));
    events.push(Event::BlockStop { index: 0 });
    assert_eq!(
        names(&encode(&events).0).last(),
        Some(&"output_text.delta"),
        "its log probabilities may come"
    );
    events.push(Event::BlockStart { index: 1, block: call });
    let (wire, _) = encode(&events);
    let closing = ["output_text.done", "content_part.done", "output_item.done", "output_item.added"];
    assert!(names(&wire).ends_with(&closing), "{:?}", names(&wire));
    events.extend([Event::BlockStop { index: 1 }, Event::End]);
    let (wire, dropped) = encode(&events);
    let closing = ["function_call_arguments.delta", "function_call_arguments.done", "output_item.done"];
    assert!(names(&wire).ends_with(&closing), "no arguments are {{}}");
    assert!(wire.contains(r#""arguments":"{}","call_id":"c""#) && dropped.is_empty());
}

#[test]
fn a_citation_without_a_place_stands_for_the_whole_text() {
    let citation = Citation {
        dialect: Dialect::AnthropicMessages,
        json: Json::fixed(r#"{"type":"web_search_result_location"}"#),
        span: None,
        url: Some(Text::new("https://a")),
        title: None,
        cited_text: None,
    };
    let document = Citation { url: None, ..citation.clone() };
    let (wire, dropped) = encode(&[
        Event::BlockStart { index: 0, block: BlockStart::Text },
        Event::Delta { index: 0, delta: Delta::Citation(citation) },
        text(0, "\u{65e5}\u{672c}\n"),
        Event::Delta { index: 0, delta: Delta::Citation(document) },
        Event::BlockStop { index: 0 },
        Event::End,
    ]);
    let expected = r#""annotations":[{"type":"url_citation","start_index":0,"end_index":3,"url":"https://a","title":"https://a"}]"#;
    assert!(wire.rsplit("event: ").next().unwrap().contains(expected), "{wire}");
    assert_eq!(dropped, ["content[].citations"]);
}

#[test]
fn only_the_vendors_own_end_is_one() {
    let ended = |wire: &str| {
        let (mut reader, mut events) = (outbound(SELF).decode_events(), Vec::new());
        for event in SELF.framing().events(wire.as_bytes()) {
            reader.decode(&event, &mut events).unwrap();
        }
        (reader.ended(), matches!(events.last(), Some(Event::Fault(_))))
    };
    let created =
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n";
    let with = |name: &str, data: &str| format!("{created}event: {name}\ndata: {data}\n\n");
    assert_eq!(ended(created), (false, false), "the upstream died");
    assert_eq!(ended(&format!("{created}data: [DONE]\n\n")), (false, false));
    assert_eq!(ended(&with("response.completed", r#"{"response":{"status":"completed"}}"#)), (true, false));
    assert_eq!(ended(&with("response.incomplete", r#"{"response":{"status":"incomplete"}}"#)), (true, false));
    assert_eq!(ended(&with("response.failed", r#"{"response":{"error":{"message":"x"}}}"#)), (false, true));
    assert_eq!(ended(&with("error", r#"{"message":"x"}"#)), (false, true));
}
