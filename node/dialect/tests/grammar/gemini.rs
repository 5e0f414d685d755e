//! Gemini: each event is an answer with one candidate; only the last one has a reason and usage.

use super::json;
use serde_json::Value;

/// Lines, because Google's clients read lines: any that is neither empty nor `data: ` would break them.
pub(super) fn check(wire: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(wire).map_err(|error| error.to_string())?;
    let (mut finished, mut open, mut head) = (false, false, None);
    for line in text.split_terminator('\n') {
        if line.is_empty() {
            open = false;
            continue;
        }
        let data = line.strip_prefix("data: ").ok_or_else(|| format!("{line:?} is not data"))?;
        if open || finished {
            return Err(format!("{line} follows without an empty line, or behind the end in\n{text}"));
        }
        open = true;
        finished = event(&json(data)?, &mut head).map_err(|what| format!("{what} in\n{text}"))?;
    }
    if open || !(text.is_empty() || text.ends_with('\n')) {
        return Err("the last event is not closed".to_owned());
    }
    Ok(())
}

/// Whether it is the last one.
fn event(event: &Value, head: &mut Option<Value>) -> Result<bool, String> {
    let own = serde_json::json!([event["responseId"], event["modelVersion"]]);
    if !event["responseId"].is_string() || !event["modelVersion"].is_string() {
        return Err("an event without id or model".to_owned());
    }
    if *head.get_or_insert_with(|| own.clone()) != own {
        return Err("id or model change".to_owned());
    }
    let candidates = event["candidates"].as_array().ok_or("no candidates")?;
    let [candidate] = candidates.as_slice() else { return Err("not one candidate".to_owned()) };
    if candidate["index"] != 0 || candidate["content"]["role"] != "model" {
        return Err("a candidate without index or role".to_owned());
    }
    for part in candidate["content"]["parts"].as_array().ok_or("no parts")? {
        let call = &part["functionCall"];
        let whole = call["name"].is_string() && call["id"].is_string() && call["args"].is_object();
        if call.is_object() && !whole {
            return Err("a call that is not whole".to_owned());
        }
        let sealed = part.get("thoughtSignature");
        if sealed.is_some_and(|sealed| !sealed.is_string())
            || part.as_object().is_none_or(|part| part.is_empty())
        {
            return Err("a part that says nothing".to_owned());
        }
    }
    let finished = candidate["finishReason"].is_string();
    if finished != event["usageMetadata"].is_object() {
        return Err("usage comes with the reason".to_owned());
    }
    Ok(finished)
}
