//! Sessions of OpenAI's Realtime API: what of their events must be looked at while they pass.

use crate::{
    ir::Usage,
    json::{Raw, Writer, offset_in},
};
use memchr::memmem;

/// What becomes of an event of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    /// It goes on as it came.
    Same,
    /// This goes on in its place.
    Instead(String),
    /// It does not go on; the client is told by this event.
    Refused(String),
}

/// Looks at an event of the client: a session is of the model that was granted, and cannot be made one of another. The
/// name by which the client asked for the model is put right.
pub fn client_event(text: &str, (asked, granted): (&str, &str)) -> Passing {
    // Sound is most of what comes, and has no such member.
    if memmem::find(text.as_bytes(), b"\"model\"").is_none() {
        return Passing::Same;
    }
    // What is not JSON is the vendor's to refuse.
    let Ok(event) = Raw::parse(text.as_bytes()) else { return Passing::Same };
    let holder = match event.get("type").and_then(Raw::string).as_deref() {
        Some("session.update" | "transcription_session.update") => "session",
        Some("response.create") => "response",
        _ => return Passing::Same,
    };
    let Some(model) = event.get(holder).and_then(|holder| holder.get("model")) else { return Passing::Same };
    match model.string().as_deref() {
        Some(name) if name == granted => Passing::Same,
        Some(name) if name == asked => replaced(text, model, granted),
        _ => Passing::Refused(refusal(
            &format!("{holder}.model"),
            "the model of a session is the one in its URL: open another session for another model",
            event.get("event_id").and_then(Raw::string).as_deref(),
        )),
    }
}

fn replaced(text: &str, model: Raw<'_>, granted: &str) -> Passing {
    let mut name = Writer::with_capacity(granted.len() + 2);
    name.string(granted);
    let name = String::from_utf8(name.finish()).unwrap_or_default();
    let at = offset_in(text.as_bytes(), model.bytes()).unwrap_or_default();
    let (before, behind) = (text.get(..at), text.get(at + model.bytes().len()..));
    Passing::Instead([before.unwrap_or_default(), &name, behind.unwrap_or_default()].concat())
}

/// An event that tells the client of an error in one of its own.
fn refusal(param: &str, message: &str, event_id: Option<&str>) -> String {
    let mut out = Writer::with_capacity(256);
    out.begin_object();
    out.key("type");
    out.string("error");
    out.key("event_id");
    out.string("event_trestle");
    out.key("error");
    out.begin_object();
    for (name, value) in
        [("type", "invalid_request_error"), ("code", "invalid_value"), ("message", message), ("param", param)]
    {
        out.key(name);
        out.string(value);
    }
    out.key("event_id");
    match event_id {
        Some(id) => out.string(id),
        None => out.null(),
    }
    out.end_object();
    out.end_object();
    String::from_utf8(out.finish()).unwrap_or_default()
}

/// What an event of the server says that a response cost; `None` for all others.
pub fn usage(text: &str) -> Option<Usage> {
    memmem::find(text.as_bytes(), b"\"response.done\"")?;
    let event = Raw::parse(text.as_bytes()).ok()?;
    event.get("type").filter(|kind| kind.is_str("response.done"))?;
    let usage = event.get("response")?.get("usage")?;
    let count = |name| usage.get(name).and_then(Raw::u64);
    let (input, output) = (count("input_tokens"), count("output_tokens"));
    let detail = |of: &str, name: &str| usage.get(of)?.get(name)?.u64();
    let of_input = |name| detail("input_token_details", name).unwrap_or(0);
    let of_output = |name| detail("output_token_details", name).unwrap_or(0);
    (input.is_some() || output.is_some()).then(|| Usage {
        input: input.unwrap_or(0),
        cache_read: of_input("cached_tokens"),
        output: output.unwrap_or(0),
        reasoning: of_output("reasoning_tokens"),
        audio_input: of_input("audio_tokens"),
        audio_output: of_output("audio_tokens"),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_its_model() {
        let check = |text: &str, expected: Passing| {
            assert_eq!(client_event(text, ("voice", "gpt-realtime")), expected, "{text}");
        };
        for same in [
            r#"{"type":"session.update","session":{"voice":"alloy"}}"#,
            r#"{"type":"session.update","session":{"model":"gpt-realtime"}}"#,
            r#"{"type":"session.update","session":{"audio":{"input":{"transcription":{"model":"whisper-1"}}}}}"#,
            r#"{"type":"conversation.item.create","item":{"model":"x"}}"#,
            r#"{"type":"response.create","response":{"metadata":{"model":"x"}}}"#,
            r#"{"model""#,
            "",
        ] {
            check(same, Passing::Same);
        }
        check(
            r#"{"session": {"model" : "voice", "x": "é"}, "type":"session.update"}"#,
            Passing::Instead(
                r#"{"session": {"model" : "gpt-realtime", "x": "é"}, "type":"session.update"}"#.into(),
            ),
        );
        for other in [r#""gpt-4o-realtime""#, r#""gpt\u002drealtime2""#, "null", "{}"] {
            for (kind, holder) in [("session.update", "session"), ("response.create", "response")] {
                let text = format!(r#"{{"type":"{kind}","event_id":"e1","{holder}":{{"model":{other}}}}}"#);
                let Passing::Refused(event) = client_event(&text, ("voice", "gpt-realtime")) else {
                    panic!("{text} passed")
                };
                let event = Raw::parse(event.as_bytes()).unwrap();
                assert!(event.get("type").unwrap().is_str("error"));
                let error = event.get("error").unwrap();
                assert_eq!(error.get("param").unwrap().string().unwrap(), format!("{holder}.model"));
                assert!(error.get("event_id").unwrap().is_str("e1"));
            }
        }
    }

    #[test]
    fn responses_tell_what_they_cost() {
        let text = r#"{"type":"response.done","response":{"usage":{"total_tokens":30,"input_tokens":20,"output_tokens":10,
            "input_token_details":{"cached_tokens":4,"text_tokens":8,"audio_tokens":12},
            "output_token_details":{"text_tokens":3,"audio_tokens":7}}}}"#;
        let expected = Usage {
            input: 20,
            cache_read: 4,
            output: 10,
            audio_input: 12,
            audio_output: 7,
            ..Usage::default()
        };
        assert_eq!(usage(text), Some(expected));
        for none in [
            r#"{"type":"response.done","response":{"usage":null}}"#,
            r#"{"type":"response.done"}"#,
            r#"{"type":"response.output_text.delta","delta":"\"response.done\"","response":{"usage":{"input_tokens":1}}}"#,
            r#""response.done""#,
            r#"{"type":"response.done","#,
        ] {
            assert_eq!(usage(none), None, "{none}");
        }
    }
}
