//! What a well-formed stream is in each dialect, checked without the codecs.

use serde_json::Value;
use trestle_dialect::Dialect;

/// Checks a whole stream, or the part of one that has no end yet.
pub(crate) fn check(dialect: Dialect, wire: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(wire).map_err(|error| error.to_string())?;
    // A comment has one line end, so it stands before the first line of an event.
    let text: String = text.split_inclusive('\n').filter(|line| !line.starts_with(':')).collect();
    if !text.is_empty() && !text.ends_with("\n\n") {
        return Err("the last event is not closed".to_owned());
    }
    let events: Vec<&str> = text.split("\n\n").filter(|event| !event.is_empty()).collect();
    let result = match dialect {
        Dialect::OpenAiChat => openai(&events),
        Dialect::AnthropicMessages => anthropic(&events),
    };
    result.map_err(|what| format!("{what} in\n{text}"))
}

fn json(data: &str) -> Result<Value, String> {
    serde_json::from_str(data).map_err(|error| format!("{error}: {data}"))
}

fn openai(events: &[&str]) -> Result<(), String> {
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

fn anthropic(events: &[&str]) -> Result<(), String> {
    let (mut next, mut open, mut told, mut stopped) = (0, None, false, false);
    for (i, event) in events.iter().enumerate() {
        let (name, data) = event
            .strip_prefix("event: ")
            .and_then(|rest| rest.split_once("\ndata: "))
            .ok_or("an event without name or data")?;
        let value = json(data)?;
        if value["type"] != name {
            return Err("name and type differ".to_owned());
        }
        if (i == 0) != (name == "message_start") {
            return Err("message_start comes once and first".to_owned());
        }
        if stopped {
            return Err("something after message_stop".to_owned());
        }
        let index = value["index"].as_u64();
        match name {
            "message_start" | "ping" => {}
            "content_block_start" if open.is_none() && index == Some(next) && !told => {
                open = index;
                next += 1;
            }
            "content_block_delta" if open.is_some() && index == open => {}
            "content_block_stop" if open.is_some() && index == open => open = None,
            "message_delta" if open.is_none() && !told => {
                told = value["delta"]["stop_reason"].is_string() && value["usage"].is_object();
            }
            "message_stop" if told => stopped = true,
            _ => return Err(format!("{name} {index:?} has no place here")),
        }
    }
    Ok(())
}
