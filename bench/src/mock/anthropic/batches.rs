//! `/v1/messages/batches` and what lies below. A batch has ended when it is looked at for the first time.

use http::HeaderMap;
use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::kept::{Account, Thing};
use super::super::vendor::{Reply, Vendor as _, VendorError, fresh_id};
use super::{Anthropic, endpoints};

const CREATED: &str = "2026-01-01T00:00:00Z";

/// Answers whatever is asked about batches.
pub(crate) fn kept_batch(
    (method, id, action): (&str, &str, &str),
    (headers, body): (&HeaderMap, &[u8]),
    account: Account<'_>,
) -> Result<Reply, VendorError> {
    if !headers.contains_key("anthropic-version") {
        return Err(VendorError::invalid("anthropic-version: header is required"));
    }
    let unknown = || VendorError::new(404, "not_found_error", format!("Message batch `{id}` not found."));
    let look = || account.look(id).ok_or_else(unknown);
    let shown = match (method, action) {
        ("POST", "") if id.is_empty() => create(headers, body, account)?,
        ("GET", "") if id.is_empty() => {
            let data = account.all("message_batch");
            json!({ "data": data, "has_more": false, "first_id": null, "last_id": null })
        }
        ("GET", "") => look()?.shown,
        ("GET", "results") => {
            let thing = account.get(id).ok_or_else(unknown)?;
            ended(&thing, "has no available results until it has finished processing")?;
            return Ok(Reply::Bytes("application/x-jsonl", thing.content));
        }
        ("POST", "cancel") => {
            let mut thing = account.get(id).ok_or_else(unknown)?;
            if thing.shown["processing_status"] != "in_progress" {
                return Err(VendorError::invalid(format!(
                    "Batch {id} cannot be canceled because it has finished processing."
                )));
            }
            thing.shown["processing_status"] = json!("canceling");
            thing.shown["cancel_initiated_at"] = json!(CREATED);
            account.put(id, thing.clone());
            thing.shown
        }
        ("DELETE", "") => {
            let thing = account.get(id).ok_or_else(unknown)?;
            ended(&thing, "cannot be deleted because it is still processing")?;
            account.remove(id);
            json!({ "id": id, "type": "message_batch_deleted" })
        }
        _ => return Err(Anthropic.unknown_path(method, action)),
    };
    Ok(Reply::Whole(shown.to_string()))
}

fn ended(thing: &Thing, why: &str) -> Result<(), VendorError> {
    let is = thing.shown["processing_status"] == "ended";
    if is { Ok(()) } else { Err(VendorError::invalid(format!("Batch {} {why}.", thing.shown["id"]))) }
}

fn create(headers: &HeaderMap, body: &[u8], account: Account<'_>) -> Result<Value, VendorError> {
    let body: Value = serde_json::from_slice(body)
        .map_err(|error| VendorError::invalid(format!("The request body is not valid JSON: {error}")))?;
    let members = body.as_object().ok_or_else(|| VendorError::invalid("Input should be an object"))?;
    if let Some(name) = members.keys().find(|name| *name != "requests") {
        return Err(VendorError::invalid(format!("{name}: Extra inputs are not permitted")));
    }
    let requests = body.get("requests").and_then(Value::as_array);
    let requests = requests.ok_or_else(|| VendorError::invalid("requests: Field required"))?;
    let mut seen = Vec::new();
    let (mut lines, mut succeeded) = (String::new(), 0);
    for (at, request) in requests.iter().enumerate() {
        let name = request.get("custom_id").and_then(Value::as_str).filter(|name| name.len() <= 64);
        let name =
            name.ok_or_else(|| VendorError::invalid(format!("requests.{at}.custom_id: Field required")))?;
        if seen.contains(&name) {
            return Err(VendorError::invalid("requests: each `custom_id` must be unique"));
        }
        seen.push(name);
        let params = request.get("params").filter(|params| params.is_object());
        let params =
            params.ok_or_else(|| VendorError::invalid(format!("requests.{at}.params: Field required")))?;
        let result = result(headers, params);
        succeeded += usize::from(result["type"] == "succeeded");
        lines.push_str(&json!({ "custom_id": name, "result": result }).to_string());
        lines.push('\n');
    }
    let id = fresh_id("msgbatch_");
    let host = headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
    let counts = |processing, succeeded, errored| {
        json!({
            "processing": processing, "succeeded": succeeded, "errored": errored, "canceled": 0, "expired": 0,
        })
    };
    let shown = json!({
        "id": id, "type": "message_batch", "processing_status": "in_progress", "created_at": CREATED,
        "expires_at": "2026-01-02T00:00:00Z", "ended_at": null, "archived_at": null, "cancel_initiated_at": null,
        "results_url": null, "request_counts": counts(requests.len(), 0, 0),
    });
    let mut next = shown.clone();
    next["processing_status"] = json!("ended");
    next["ended_at"] = json!(CREATED);
    next["results_url"] = json!(format!("http://{host}/v1/messages/batches/{id}/results"));
    next["request_counts"] = counts(0, succeeded, requests.len() - succeeded);
    let thing =
        Thing { shown: shown.clone(), next: Some(next), content: lines.into_bytes(), ..Thing::default() };
    account.put(&id, thing);
    Ok(shown)
}

/// What becomes of one request.
fn result(headers: &HeaderMap, params: &Value) -> Value {
    let model = params.get("model").and_then(Value::as_str).unwrap_or_default();
    let answered = if model.contains('/') {
        Err(VendorError::new(404, "not_found_error", format!("model: {model}")))
    } else {
        endpoints::messages(params.to_string().as_bytes(), headers, &Behaviour::default())
    };
    match answered {
        Ok(Reply::Whole(message)) => {
            json!({ "type": "succeeded", "message": serde_json::from_str::<Value>(&message).unwrap_or_default() })
        }
        Ok(_) => json!({ "type": "errored", "error": { "type": "error", "error":
            { "type": "invalid_request_error", "message": "stream: not supported in batches" } } }),
        Err(error) => json!({ "type": "errored", "error": { "type": "error", "error":
            { "type": error.kind, "message": error.message } } }),
    }
}
