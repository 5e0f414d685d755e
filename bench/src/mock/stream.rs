//! Turns a stream of events into the steps of a body, with whatever is to go wrong on the way.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use aws_smithy_eventstream::frame::write_message_to;
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};

use super::behaviour::Behaviour;
use super::body::Step;
use super::encode::Encoder;
use super::tally::{Told, usage};
use super::vendor::{Event, Events, Framing};

/// Time that the last bytes get to leave before a connection is reset.
pub(crate) const LAST_BYTES: Duration = Duration::from_millis(20);

/// The steps of a stream.
pub(crate) fn steps(events: Events, behaviour: &Behaviour) -> VecDeque<Step> {
    let mut out = Writer::new(behaviour);
    let (framing, keepalive) = (events.framing, events.keepalive);
    let start = events.start.len();
    let content = start..start + contents(&events, behaviour);
    let (events, fault) = arranged(events, behaviour);
    let burst = behaviour.count("burst").unwrap_or(1).max(1);
    for (at, group) in events.chunks(burst).enumerate() {
        if at > 0 {
            out.pause();
        }
        let numbered = group.iter().zip(at * burst..);
        let mut told = Told::default();
        numbered.clone().for_each(|(event, number)| told.add(tells(event, number, &content)));
        out.steps.push_back(Step::Tell(told));
        let bytes = numbered.flat_map(|(event, number)| framed(framing, (event, number), behaviour));
        out.write(&bytes.collect::<Vec<_>>());
    }
    match fault {
        Ending::Complete => {
            if framing == Framing::Array {
                out.write(b"]");
            }
            out.end();
        }
        Ending::Early => out.end(),
        Ending::Keepalive if keepalive.is_empty() => out.steps.push_back(Step::Silence),
        Ending::Keepalive => {
            let gap = Duration::from_millis(behaviour.number("gap_ms").unwrap_or(50).max(1));
            let frame = out.encoder.piece(line_ends(keepalive, behaviour).as_bytes());
            out.steps.push_back(Step::Repeat(frame, gap));
        }
        Ending::Fault(step) => {
            out.steps.push_back(Step::Flush);
            if !matches!(step, Step::Silence) {
                out.steps.push_back(Step::Wait(LAST_BYTES));
            }
            out.steps.push_back(step);
        }
    }
    out.steps
}

enum Ending {
    Complete,
    /// Clean, but without the vendor's end mark.
    Early,
    Keepalive,
    Fault(Step),
}

/// The events that are sent, and what comes after them.
fn arranged(events: Events, behaviour: &Behaviour) -> (Vec<Event>, Ending) {
    let Events { start, mut content, end, error, .. } = events;
    let until = |name: &str| behaviour.has(name).then(|| behaviour.count(name).unwrap_or(1));
    let first = |count: usize, content: Vec<Event>| content.into_iter().take(count);
    if behaviour.has("keepalive") {
        return (start, Ending::Keepalive);
    }
    if behaviour.has("error_event") {
        return ([start, error].concat(), Ending::Complete);
    }
    if let Some(count) = until("error_event_mid") {
        return (start.into_iter().chain(first(count, content)).chain(error).collect(), Ending::Complete);
    }
    if let Some(count) = until("close_mid") {
        return (start.into_iter().chain(first(count, content)).collect(), Ending::Early);
    }
    for (name, step) in [("silent_mid", Step::Silence), ("reset_mid", Step::Reset), ("cut_mid", Step::Cut)] {
        if let Some(count) = until(name) {
            return (start.into_iter().chain(first(count, content)).collect(), Ending::Fault(step));
        }
    }
    if behaviour.has("malformed_json")
        && let Some(event) = content.get_mut(1)
    {
        let half = (0..=event.data.len() / 2).rev().find(|at| event.data.is_char_boundary(*at));
        event.data.truncate(half.unwrap_or(0));
    }
    ([start, content, end].concat(), Ending::Complete)
}

/// How much content is sent before anything else.
fn contents(events: &Events, behaviour: &Behaviour) -> usize {
    let until = if behaviour.has("error_event") { Some(0) } else { behaviour.count("error_event_mid") };
    events.content.len().min(until.unwrap_or(usize::MAX))
}

/// What an event tells, with its number and those of content.
fn tells(event: &Event, number: usize, content: &Range<usize>) -> Told {
    let is_mark = matches!(event.name, Some("content_block_start" | "content_block_stop"));
    let is_content = content.contains(&number) && !is_mark;
    Told { events: u64::from(is_content), usage: usage(&event.data), last: number >= content.end }
}

/// One event as it is sent, with its number.
fn framed(framing: Framing, (event, number): (&Event, usize), behaviour: &Behaviour) -> Vec<u8> {
    match framing {
        Framing::Sse => sse(event, behaviour).into_bytes(),
        Framing::EventStream => message(event),
        Framing::Array => {
            let before = if number == 0 { "[" } else { ",\r\n" };
            format!("{before}{}", event.data).into_bytes()
        }
    }
}

/// A binary message.
fn message(event: &Event) -> Vec<u8> {
    let name = event.name.unwrap_or_default();
    let kind = if name.ends_with("Exception") { "exception" } else { "event" };
    let text = |text: String| HeaderValue::String(text.into());
    let message = Message::new(event.data.clone().into_bytes())
        .add_header(Header::new(format!(":{kind}-type"), text(name.to_owned())))
        .add_header(Header::new(":content-type", text("application/json".to_owned())))
        .add_header(Header::new(":message-type", text(kind.to_owned())));
    let mut out = Vec::new();
    // What the mock says is far below the bounds of the format.
    let _ = write_message_to(&message, &mut out);
    out
}

fn sse(event: &Event, behaviour: &Behaviour) -> String {
    let colon = if behaviour.has("nospace") { ":" } else { ": " };
    let comment = if behaviour.has("comment") { ": processing\n\n" } else { "" };
    let name = event.name.map(|name| format!("event{colon}{name}\n")).unwrap_or_default();
    line_ends(&format!("{comment}{name}data{colon}{}\n\n", event.data), behaviour)
}

fn line_ends(text: &str, behaviour: &Behaviour) -> String {
    if behaviour.has("crlf") {
        text.replace('\n', "\r\n")
    } else if behaviour.has("cr") {
        text.replace('\n', "\r")
    } else {
        text.to_owned()
    }
}

/// Collects steps: encodes, spaces and perhaps dribbles what is written.
pub(crate) struct Writer<'a> {
    behaviour: &'a Behaviour,
    encoder: Encoder,
    pub(crate) steps: VecDeque<Step>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(behaviour: &'a Behaviour) -> Self {
        let wait = behaviour.number("first_ms").map(|wait| Step::Wait(Duration::from_millis(wait)));
        Self { behaviour, encoder: Encoder::new(behaviour), steps: wait.into_iter().collect() }
    }

    fn pause(&mut self) {
        self.steps.push_back(Step::Flush);
        if let Some(gap) = self.behaviour.number("gap_ms").filter(|gap| *gap > 0) {
            self.steps.push_back(Step::Wait(Duration::from_millis(gap)));
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let data = self.encoder.piece(bytes);
        if data.is_empty() {
            return;
        }
        let dribble = self.behaviour.has("dribble");
        self.steps.push_back(if dribble { Step::Dribble(data) } else { Step::Data(data) });
    }

    fn end(&mut self) {
        let encoder = std::mem::replace(&mut self.encoder, Encoder::Plain);
        let end = encoder.end();
        if !end.is_empty() {
            self.steps.push_back(Step::Data(end));
        }
    }
}

/// The steps of a body that is no text, and its length.
pub(crate) fn bytes(bytes: &[u8], behaviour: &Behaviour) -> (VecDeque<Step>, Option<usize>) {
    let mut out = Writer::new(behaviour);
    out.write(bytes);
    (out.steps, Some(bytes.len()))
}

/// The steps of a body that is no stream, and its length where it is complete.
pub(crate) fn whole(text: &str, behaviour: &Behaviour) -> (VecDeque<Step>, Option<usize>) {
    let mut out = Writer::new(behaviour);
    let half = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let faults = [("silent_mid", Step::Silence), ("reset_mid", Step::Reset), ("cut_mid", Step::Cut)];
    if let Some((_, step)) = faults.into_iter().find(|(name, _)| behaviour.has(name)) {
        out.write(&text.as_bytes()[..half]);
        out.steps.push_back(Step::Flush);
        out.steps.push_back(Step::Wait(LAST_BYTES));
        out.steps.push_back(step);
        return (out.steps, None);
    }
    if behaviour.has("keepalive") {
        out.steps.push_back(Step::Silence);
        return (out.steps, None);
    }
    let cut = behaviour.has("malformed_json") || behaviour.has("close_mid");
    if !cut {
        out.steps.push_back(Step::Tell(Told::whole(text)));
    }
    out.write(if cut { &text.as_bytes()[..half] } else { text.as_bytes() });
    out.end();
    let bytes = out.steps.iter().map(|step| match step {
        Step::Data(data) | Step::Dribble(data) => data.len(),
        _ => 0,
    });
    let length = bytes.sum();
    (out.steps, Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(events: Events, settings: &str) -> (String, Option<Step>) {
        let steps = steps(events, &Behaviour::parse(settings).unwrap());
        let mut text = String::new();
        let mut last = None;
        for step in steps {
            match step {
                Step::Data(data) => {
                    text.push_str(std::str::from_utf8(&data).unwrap());
                    text.push('|');
                }
                other => last = Some(other),
            }
        }
        (text, last)
    }

    fn events() -> Events {
        let data = |text: &str| Event::data(text);
        Events {
            start: vec![data("S")],
            content: vec![data("1"), Event::named("x", "2"), data("3")],
            end: vec![data("E")],
            error: vec![data("!")],
            keepalive: ": k\n\n",
            ..Events::default()
        }
    }

    #[test]
    fn frames_and_faults() {
        let check = |settings: &str, expected: &str| assert_eq!(text(events(), settings).0, expected);
        check("", "data: S\n\n|data: 1\n\n|event: x\ndata: 2\n\n|data: 3\n\n|data: E\n\n|");
        check("burst=4,nospace", "data:S\n\ndata:1\n\nevent:x\ndata:2\n\ndata:3\n\n|data:E\n\n|");
        check("crlf,error_event", "data: S\r\n\r\n|data: !\r\n\r\n|");
        check("error_event_mid=2,burst=9", "data: S\n\ndata: 1\n\nevent: x\ndata: 2\n\ndata: !\n\n|");
        check("close_mid=1", "data: S\n\n|data: 1\n\n|");
        check("comment,error_event", ": processing\n\ndata: S\n\n|: processing\n\ndata: !\n\n|");
    }

    #[test]
    fn faults_end_in_their_step() {
        assert!(matches!(text(events(), "reset_mid=2").1, Some(Step::Reset)));
        assert!(matches!(text(events(), "silent_mid").1, Some(Step::Silence)));
        assert!(matches!(text(events(), "keepalive").1, Some(Step::Repeat(..))));
    }
}
