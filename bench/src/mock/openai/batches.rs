//! `/v1/batches`. A batch has completed when it is looked at for the first time.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::kept::{Account, Thing};
use super::super::vendor::{Reply, VendorError, fresh_id, unix_seconds};
use super::chat::{chat, parse};
use super::{files, responses};

const MEMBERS: &[&str] =
    &["completion_window", "endpoint", "input_file_id", "metadata", "output_expires_after"];
const ENDPOINTS: &[&str] = &["/v1/chat/completions", "/v1/responses"];

/// Answers whatever is asked about batches.
pub(crate) fn kept_batch(
    (method, id, action): (&str, &str, &str),
    body: &[u8],
    account: Account<'_>,
) -> Result<Reply, VendorError> {
    let unknown =
        || VendorError::new(404, "invalid_request_error", format!("No batch found with id '{id}'."));
    let is_batch = |thing: &Thing| thing.shown["object"] == "batch";
    let shown = match (method, action) {
        ("POST", "") if id.is_empty() => create(&parse(body)?, account)?,
        ("GET", "") if id.is_empty() => {
            json!({ "object": "list", "data": account.all("batch"), "has_more": false })
        }
        ("GET", "") => account.look(id).filter(is_batch).ok_or_else(unknown)?.shown,
        ("POST", "cancel") => {
            let mut thing = account.get(id).filter(is_batch).ok_or_else(unknown)?;
            if thing.next.take().is_none() {
                let status = thing.shown["status"].as_str().unwrap_or_default();
                return Err(VendorError::new(
                    409,
                    "invalid_request_error",
                    format!("Cannot cancel a batch with status '{status}'."),
                ));
            }
            thing.shown["status"] = json!("cancelling");
            account.put(id, thing.clone());
            thing.shown
        }
        _ => return Err(super::error::unknown_path(method, action)),
    };
    Ok(Reply::Whole(shown.to_string()))
}

fn create(body: &Value, account: Account<'_>) -> Result<Value, VendorError> {
    let members = body.as_object().into_iter().flatten();
    if let Some((name, _)) = members.clone().find(|(name, _)| !MEMBERS.contains(&name.as_str())) {
        return Err(VendorError::invalid(format!("Unknown parameter: '{name}'.")).at(name.clone()));
    }
    let word = |name: &str| {
        let word = body.get(name).and_then(Value::as_str);
        word.ok_or_else(|| VendorError::invalid(format!("Missing required parameter: '{name}'.")).at(name))
    };
    let (input, endpoint) = (word("input_file_id")?, word("endpoint")?);
    if !ENDPOINTS.contains(&endpoint) {
        return Err(VendorError::invalid(format!("Invalid value: '{endpoint}'.")).at("endpoint"));
    }
    if word("completion_window")? != "24h" {
        return Err(VendorError::invalid("Invalid value for 'completion_window'.").at("completion_window"));
    }
    let file = account.get(input).filter(|thing| thing.shown["object"] == "file");
    let file = file.ok_or_else(|| {
        VendorError::new(404, "invalid_request_error", format!("No such File object: {input}"))
            .at("input_file_id")
    })?;
    if file.shown["purpose"] != "batch" {
        return Err(VendorError::invalid("The input file must have the purpose 'batch'.").at("input_file_id"));
    }
    let (output, errors, total) = run(&file.content, endpoint, account);
    let id = fresh_id("batch_");
    let counts = |completed, failed| json!({ "total": total, "completed": completed, "failed": failed });
    let shown = json!({
        "id": id, "object": "batch", "endpoint": endpoint, "input_file_id": input, "completion_window": "24h",
        "status": "validating", "output_file_id": null, "error_file_id": null, "errors": null,
        "created_at": unix_seconds(), "metadata": body.get("metadata"), "request_counts": counts(0, 0),
    });
    let mut next = shown.clone();
    next["status"] = json!("completed");
    next["request_counts"] = counts(output.len(), errors.len());
    for (name, lines) in [("output_file_id", output), ("error_file_id", errors)] {
        if !lines.is_empty() {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let kept = files::keep(text.as_bytes(), (&format!("{id}_{name}.jsonl"), "batch_output"), account);
            next[name] = kept["id"].clone();
        }
    }
    account.put(&id, Thing { shown: shown.clone(), next: Some(next), ..Thing::default() });
    Ok(shown)
}

/// The lines of the two files that come of it, and how many requests there were.
fn run(content: &[u8], endpoint: &str, account: Account<'_>) -> (Vec<Value>, Vec<Value>, usize) {
    let (mut output, mut errors, mut total) = (Vec::new(), Vec::new(), 0);
    for line in content.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        total += 1;
        let request: Value = serde_json::from_slice(line).unwrap_or_default();
        let body = request["body"].to_string();
        let model = request["body"]["model"].as_str().unwrap_or_default();
        let answered = if request["method"] != "POST" || request["url"] != endpoint {
            Err(VendorError::invalid("The URL provided for this request does not match the batch endpoint."))
        } else if model.contains('/') {
            Err(VendorError::invalid(format!("The model `{model}` does not exist.")).code("model_not_found"))
        } else if endpoint == "/v1/responses" {
            responses::responses(body.as_bytes(), &Behaviour::default(), account)
        } else {
            chat(body.as_bytes(), &Behaviour::default(), account)
        };
        let id = fresh_id("batch_req_");
        let custom = &request["custom_id"];
        match answered {
            Ok(Reply::Whole(text)) => {
                let answer: Value = serde_json::from_str(&text).unwrap_or_default();
                let response = json!({ "status_code": 200, "request_id": fresh_id("req_"), "body": answer });
                output.push(json!({ "id": id, "custom_id": custom, "response": response, "error": null }));
            }
            Ok(_) => errors.push(json!({ "id": id, "custom_id": custom, "error": { "message": "stream" } })),
            Err(error) => {
                let why = json!({ "error": { "message": error.message, "code": error.code } });
                let response = json!({ "status_code": error.status, "body": why });
                errors.push(json!({ "id": id, "custom_id": custom, "response": response, "error": null }));
            }
        }
    }
    (output, errors, total)
}
