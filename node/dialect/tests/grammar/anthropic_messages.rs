//! Anthropic Messages.

use super::json;

pub(super) fn check(events: &[&str]) -> Result<(), String> {
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
