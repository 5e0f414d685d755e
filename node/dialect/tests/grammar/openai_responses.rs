//! OpenAI Responses.

use super::json;
use serde_json::Value;

/// What the official client demands of an answer.
const DEMANDED: [&str; 14] = [
    "id",
    "object",
    "created_at",
    "status",
    "error",
    "incomplete_details",
    "instructions",
    "model",
    "output",
    "parallel_tool_calls",
    "tool_choice",
    "tools",
    "metadata",
    "usage",
];

#[derive(Default)]
struct Stream {
    id: Option<Value>,
    items: Vec<Item>,
    ended: bool,
}

struct Item {
    added: Value,
    parts: Vec<Part>,
    text: String,
    done: Option<Value>,
}

/// A part of a message or of a summary.
struct Part {
    kind: String,
    text: String,
    annotations: Vec<Value>,
    logprobs: Vec<Value>,
    told: bool,
    done: Option<Value>,
}

pub(super) fn check(events: &[&str]) -> Result<(), String> {
    let mut stream = Stream::default();
    for (i, event) in events.iter().enumerate() {
        let (name, data) = event
            .strip_prefix("event: ")
            .and_then(|rest| rest.split_once("\ndata: "))
            .ok_or("an event without name or data")?;
        let value = json(data)?;
        if value["type"] != name || value["sequence_number"] != i {
            return Err(format!("{name} has another type or is not number {i}"));
        }
        let expected = ["response.created", "response.in_progress"].get(i);
        if stream.ended || expected.is_some_and(|expected| *expected != name) {
            return Err(format!("{name} has no place here"));
        }
        stream.event(name, &value).map_err(|what| format!("{name}: {what}"))?;
    }
    Ok(())
}

fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

impl Stream {
    fn event(&mut self, name: &str, value: &Value) -> Result<(), String> {
        match name {
            "response.created" | "response.in_progress" => self.lifecycle(&value["response"], "in_progress"),
            "response.completed" | "response.incomplete" => {
                self.ended = true;
                let status = name.trim_start_matches("response.");
                self.lifecycle(&value["response"], status)?;
                let reason = &value["response"]["incomplete_details"]["reason"];
                ensure(reason.is_string() == (status == "incomplete"), "the reason")
            }
            "response.output_item.added" => {
                let item = &value["item"];
                ensure(value["output_index"] == self.items.len(), "the next index")?;
                ensure(item["type"].is_string(), "a type")?;
                let (parts, text) = (Vec::new(), String::new());
                self.items.push(Item { added: item.clone(), parts, text, done: None });
                Ok(())
            }
            _ => {
                let index = value["output_index"].as_u64().ok_or("an index")?;
                let item =
                    self.items.get_mut(usize::try_from(index).unwrap()).ok_or("an item that is not open")?;
                ensure(item.done.is_none(), "an item that is done")?;
                if name == "response.output_item.done" {
                    return item.done(&value["item"]);
                }
                ensure(value["item_id"] == item.added["id"], "the id of its item")?;
                match name {
                    "response.function_call_arguments.delta" | "response.function_call_arguments.done" => {
                        item.arguments(value)
                    }
                    _ if name.contains("reasoning_summary") => item.part(name, value, "summary_index"),
                    _ => item.part(name, value, "content_index"),
                }
            }
        }
    }

    fn lifecycle(&mut self, response: &Value, status: &str) -> Result<(), String> {
        for name in DEMANDED {
            ensure(response.get(name).is_some(), name)?;
        }
        ensure(response["object"] == "response" && response["status"] == status, "the status")?;
        let id = self.id.get_or_insert_with(|| response["id"].clone());
        ensure(*id == response["id"] && id.is_string() && response["model"].is_string(), "the head")?;
        let done: Vec<&Value> = self.items.iter().filter_map(|item| item.done.as_ref()).collect();
        ensure(done.len() == self.items.len(), "an item that is open")?;
        let output = response["output"].as_array().ok_or("an array")?;
        ensure(output.iter().eq(done), "other items than were told")
    }
}

impl Item {
    fn arguments(&mut self, value: &Value) -> Result<(), String> {
        ensure(self.added["type"] == "function_call", "arguments of no call")?;
        if let Some(delta) = value["delta"].as_str() {
            self.text.push_str(delta);
            return Ok(());
        }
        ensure(
            value["arguments"] == self.text.as_str() && !self.text.is_empty(),
            "other arguments than were told",
        )
    }

    fn part(&mut self, name: &str, value: &Value, index: &str) -> Result<(), String> {
        let index = usize::try_from(value[index].as_u64().ok_or("an index")?).unwrap();
        if name.ends_with("part.added") {
            ensure(index == self.parts.len(), "the next part")?;
            let kind = value["part"]["type"].as_str().ok_or("a type")?.to_owned();
            self.parts.push(Part {
                kind,
                text: String::new(),
                annotations: Vec::new(),
                logprobs: Vec::new(),
                told: false,
                done: None,
            });
            return Ok(());
        }
        let part =
            self.parts.get_mut(index).filter(|part| part.done.is_none()).ok_or("a part that is not open")?;
        part.event(name, value)
    }

    fn done(&mut self, item: &Value) -> Result<(), String> {
        ensure(["id", "type", "call_id"].iter().all(|name| item[name] == self.added[name]), "another item")?;
        let parts: Vec<&Value> = self.parts.iter().filter_map(|part| part.done.as_ref()).collect();
        ensure(parts.len() == self.parts.len(), "a part that is open")?;
        match self.added["type"].as_str() {
            Some("message") => {
                ensure(item["content"].as_array().is_some_and(|own| own.iter().eq(parts)), "other parts")?;
            }
            Some("reasoning") => {
                ensure(item["summary"].as_array().is_some_and(|own| own.iter().eq(parts)), "other parts")?;
            }
            Some("function_call") => {
                ensure(
                    item["arguments"] == self.text.as_str() && item["status"] == "completed",
                    "the arguments",
                )?;
            }
            _ => {}
        }
        self.done = Some(item.clone());
        Ok(())
    }
}

impl Part {
    fn event(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let (kind, word) = match self.kind.as_str() {
            "output_text" => ("output_text", "text"),
            "refusal" => ("refusal", "refusal"),
            "summary_text" => ("reasoning_summary_text", "text"),
            other => return Err(format!("a part of type {other}")),
        };
        if name.ends_with("part.done") {
            let part = &value["part"];
            ensure(self.told && part["type"] == self.kind.as_str(), "another part")?;
            ensure(part[word] == self.text.as_str(), "another text")?;
            if kind == "output_text" {
                ensure(part["annotations"].as_array() == Some(&self.annotations), "other annotations")?;
                ensure(part["logprobs"].as_array() == Some(&self.logprobs), "other log probabilities")?;
            }
            self.done = Some(part.clone());
            return Ok(());
        }
        ensure(!self.told, "more of a text that is complete")?;
        match name.strip_prefix("response.").and_then(|name| name.strip_prefix(kind)) {
            Some(".delta") => {
                self.text.push_str(value["delta"].as_str().ok_or("a delta")?);
                if kind == "output_text" {
                    self.logprobs
                        .extend(value["logprobs"].as_array().ok_or("log probabilities")?.iter().cloned());
                }
                Ok(())
            }
            Some(".done") => {
                self.told = true;
                ensure(value[word] == self.text.as_str(), "another text")
            }
            Some(".annotation.added") => {
                ensure(value["annotation_index"] == self.annotations.len(), "the next annotation")?;
                self.annotations.push(value["annotation"].clone());
                Ok(())
            }
            _ => Err("has no place here".to_owned()),
        }
    }
}
