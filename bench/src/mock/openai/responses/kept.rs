//! Answers that are kept: `/v1/responses/{id}` and below.

use serde_json::{Value, json};

use super::super::super::kept::{Account, Thing};
use super::super::super::vendor::{Events, Reply, VendorError, fresh_id};
use super::super::chat::parse;
use super::{ask, check};

/// What a request goes on with: the items of all turns before.
pub(super) fn previous(body: &Value, account: Account<'_>) -> Result<Vec<Value>, VendorError> {
    let Some(id) = body.get("previous_response_id").and_then(Value::as_str) else { return Ok(Vec::new()) };
    match account.get(id) {
        Some(thing) if thing.shown.get("object") == Some(&json!("response")) => Ok(thing.conversation),
        _ => Err(VendorError::invalid(format!("Previous response with id '{id}' not found."))
            .at("previous_response_id")
            .code("previous_response_not_found")),
    }
}

/// The input of a request as items.
pub(super) fn items(body: &Value) -> Vec<Value> {
    match body.get("input") {
        Some(Value::Array(items)) => items.clone(),
        Some(text) => {
            let content = json!([{ "type": "input_text", "text": text }]);
            vec![json!({ "id": fresh_id("msg_"), "type": "message", "role": "user", "content": content })]
        }
        None => Vec::new(),
    }
}

/// Keeps an answer, unless the client does not want that. What is told first: of one that is made in the background, that
/// it waits.
pub(super) fn keep(
    (body, before): (&Value, Vec<Value>),
    (whole, events): (&str, &Events),
    account: Account<'_>,
) -> Result<Option<Value>, VendorError> {
    let is = |name: &str| body.get(name) == Some(&json!(true));
    let background = is("background");
    if body.get("store") == Some(&json!(false)) {
        let refused = VendorError::invalid("background mode requires `store` to be true").at("background");
        return if background { Err(refused) } else { Ok(None) };
    }
    let done: Value = serde_json::from_str(whole).unwrap_or_default();
    let id = done.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut waiting = done.clone();
    for (name, value) in [("status", json!("queued")), ("output", json!([])), ("usage", Value::Null)] {
        waiting[name] = value;
    }
    let items = items(body);
    let output = done.get("output").and_then(Value::as_array).cloned().unwrap_or_default();
    let conversation = before.into_iter().chain(items.clone()).chain(output).collect();
    let thing = Thing {
        shown: if background { waiting.clone() } else { done.clone() },
        next: background.then_some(done),
        items,
        conversation,
        events: (background && is("stream")).then(|| events.clone()),
        ..Thing::default()
    };
    account.put(&id, thing);
    Ok(background.then_some(waiting))
}

/// `GET`, `DELETE /v1/responses/{id}` and what lies below.
pub(crate) fn kept(
    (method, id, action): (&str, &str, &str),
    query: &str,
    account: Account<'_>,
) -> Result<Reply, VendorError> {
    let unknown = || {
        VendorError::new(404, "invalid_request_error", format!("Response with id '{id}' not found."))
            .at("response_id")
    };
    let is_answer = |thing: &Thing| thing.shown.get("object") == Some(&json!("response"));
    account.get(id).filter(is_answer).ok_or_else(unknown)?;
    let streams = query.split('&').any(|pair| pair == "stream=true");
    let shown = match (method, action) {
        ("GET", "") if streams => {
            let thing = account.look(id).ok_or_else(unknown)?;
            let events = thing.events.ok_or_else(|| {
                VendorError::invalid(
                    "This response cannot be streamed because it was not created with background=true.",
                )
            })?;
            return Ok(Reply::Stream(after(events, query)));
        }
        ("GET", "") => account.look(id).ok_or_else(unknown)?.shown,
        ("DELETE", "") => {
            account.remove(id);
            json!({ "id": id, "object": "response", "deleted": true })
        }
        ("POST", "cancel") => {
            let mut thing = account.get(id).ok_or_else(unknown)?;
            if thing.shown.get("background") != Some(&json!(true)) {
                return Err(VendorError::invalid("Cannot cancel a synchronous response."));
            }
            if thing.next.take().is_some() {
                thing.shown["status"] = json!("cancelled");
                account.put(id, thing.clone());
            }
            thing.shown
        }
        ("GET", "input_items") => {
            let mut data = account.get(id).ok_or_else(unknown)?.items;
            data.reverse();
            let end = |item: Option<&Value>| item.and_then(|item| item.get("id").cloned());
            let (first, last) = (end(data.first()), end(data.last()));
            json!({ "object": "list", "data": data, "first_id": first, "last_id": last, "has_more": false })
        }
        _ => return Err(VendorError::new(405, "invalid_request_error", format!("Not allowed to {method}."))),
    };
    Ok(Reply::Whole(shown.to_string()))
}

/// The events behind the one that the client has seen last.
fn after(mut events: Events, query: &str) -> Events {
    let after = query.split('&').find_map(|pair| pair.strip_prefix("starting_after=")?.parse::<u64>().ok());
    let number = |data: &str| {
        serde_json::from_str::<Value>(data).ok().and_then(|data| data.get("sequence_number")?.as_u64())
    };
    for part in [&mut events.start, &mut events.content, &mut events.end] {
        part.retain(|event| after.is_none_or(|after| number(&event.data) > Some(after)));
    }
    events
}

/// `POST /v1/responses/input_tokens`.
pub(crate) fn input_tokens(body: &[u8], account: Account<'_>) -> Result<Reply, VendorError> {
    let mut body = parse(body)?;
    check::counted(&body)?;
    let before = previous(&body, account)?;
    body["input"] = before.into_iter().chain(items(&body)).collect();
    let count = ask::read(&body).input_tokens;
    Ok(Reply::Whole(json!({ "object": "response.input_tokens", "input_tokens": count }).to_string()))
}
