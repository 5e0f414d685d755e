//! OpenAI Chat.

use super::json;
use serde_json::Value;

pub(super) fn check(events: &[&str]) -> Result<(), String> {
    let (mut finished, mut done, mut calls) = (false, false, 0);
    for (i, event) in events.iter().enumerate() {
        let data = event.strip_prefix("data: ").ok_or("an event without data")?;
        if done {
            return Err("something after [DONE]".to_owned());
        }
        if data == "[DONE]" {
            done = true;
            continue;
        }
        let chunk = json(data)?;
        if chunk["object"] != "chat.completion.chunk"
            || !chunk["id"].is_string()
            || !chunk["model"].is_string()
        {
            return Err("a chunk without its head".to_owned());
        }
        let choices = chunk["choices"].as_array().ok_or("no choices")?;
        let Some(choice) = choices.first() else {
            if !finished || !chunk["usage"].is_object() {
                return Err("a chunk without a choice before the end, or without usage".to_owned());
            }
            continue;
        };
        if finished {
            return Err("content after the reason".to_owned());
        }
        let delta = choice["delta"].as_object().ok_or("no delta")?;
        if (i == 0) != delta.contains_key("role") {
            return Err("the role comes once and first".to_owned());
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let index = call["index"].as_u64().ok_or("a call without an index")?;
            if call.get("id").is_some() {
                if index != calls || !call["function"]["name"].is_string() {
                    return Err("a call opens with the next index and its name".to_owned());
                }
                calls += 1;
            } else if index >= calls {
                return Err("arguments for a call that is not open".to_owned());
            }
        }
        finished = choice["finish_reason"].is_string();
    }
    if done && !finished { Err("[DONE] without a reason".to_owned()) } else { Ok(()) }
}
