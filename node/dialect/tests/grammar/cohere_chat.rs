//! Cohere v2 Chat.

use super::json;
use serde_json::Value;

pub(super) fn check(events: &[&str]) -> Result<(), String> {
    let mut state = State::default();
    for (i, event) in events.iter().enumerate() {
        let (name, data) = event
            .strip_prefix("event: ")
            .and_then(|rest| rest.split_once("\ndata: "))
            .ok_or("an event without name or data")?;
        let value = json(data)?;
        if value["type"] != name {
            return Err("name and type differ".to_owned());
        }
        if (i == 0) != (name == "message-start") {
            return Err("message-start comes once and first".to_owned());
        }
        if state.ended {
            return Err("something after message-end".to_owned());
        }
        state.event(name, &value).ok_or_else(|| format!("{value} has no place here"))?;
    }
    Ok(())
}

/// How many contents, calls and citations there were, and what is open.
#[derive(Default)]
struct State {
    contents: u64,
    calls: u64,
    citations: u64,
    open: Option<(&'static str, u64)>,
    cited: bool,
    ended: bool,
}

impl State {
    /// `None` if the event must not stand here.
    fn event(&mut self, name: &str, value: &Value) -> Option<()> {
        let (index, message) = (value["index"].as_u64(), &value["delta"]["message"]);
        let is_open = |kind| self.open.is_some() && self.open == index.map(|index| (kind, index));
        if self.cited != (name == "citation-end") {
            return None;
        }
        match name {
            "message-start" => (value["id"].is_string() && message["role"] == "assistant").then_some(()),
            "content-start" if self.open.is_none() && index == Some(self.contents) => {
                self.open = Some(("content", self.contents));
                self.contents += 1;
                message["content"]["type"].is_string().then_some(())
            }
            // Log probabilities may come when their text is complete.
            "content-delta" if value["logprobs"].is_object() && message["content"]["text"] == "" => {
                value["logprobs"]["token_ids"].is_array().then_some(())
            }
            "content-delta" if is_open("content") => message["content"].is_object().then_some(()),
            "content-end" if is_open("content") => {
                self.open = None;
                Some(())
            }
            "tool-call-start" if self.open.is_none() && index == Some(self.calls) => {
                self.open = Some(("call", self.calls));
                self.calls += 1;
                let call = &message["tool_calls"];
                (call["id"].is_string() && call["function"]["name"].is_string()).then_some(())
            }
            "tool-call-delta" if is_open("call") => message["tool_calls"].is_object().then_some(()),
            "tool-call-end" if is_open("call") => {
                self.open = None;
                Some(())
            }
            "citation-start" if index == Some(self.citations) => {
                self.cited = true;
                Some(())
            }
            "citation-end" if index == Some(self.citations) => {
                self.cited = false;
                self.citations += 1;
                Some(())
            }
            "message-end" if self.open.is_none() => {
                self.ended = true;
                value["delta"]["finish_reason"].is_string().then_some(())
            }
            _ => None,
        }
    }
}
