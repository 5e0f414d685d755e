//! `/v1/files`: what was uploaded, for the key that did.

use serde_json::{Value, json};

use super::super::form;
use super::super::kept::{Account, Thing};
use super::super::vendor::{Reply, VendorError, fresh_id, unix_seconds};

const PURPOSES: &[&str] = &["assistants", "batch", "fine-tune", "vision", "user_data", "evals"];

/// Answers whatever is asked about files.
pub(crate) fn kept_file(
    (method, id, action): (&str, &str, &str),
    (content_type, body): (&str, &[u8]),
    account: Account<'_>,
) -> Result<Reply, VendorError> {
    let unknown =
        || VendorError::new(404, "invalid_request_error", format!("No such File object: {id}")).at("id");
    let get = || account.get(id).filter(|thing| thing.shown["object"] == "file").ok_or_else(unknown);
    let shown = match (method, action) {
        ("POST", "") if id.is_empty() => upload(content_type, body, account)?,
        ("GET", "") if id.is_empty() => {
            json!({ "object": "list", "data": account.all("file"), "has_more": false })
        }
        ("GET", "") => get()?.shown,
        ("GET", "content") => return Ok(Reply::Bytes("application/octet-stream", get()?.content)),
        ("DELETE", "") => {
            get()?;
            account.remove(id);
            json!({ "object": "file", "deleted": true, "id": id })
        }
        _ => return Err(super::error::unknown_path(method, action)),
    };
    Ok(Reply::Whole(shown.to_string()))
}

fn upload(content_type: &str, body: &[u8], account: Account<'_>) -> Result<Value, VendorError> {
    if !form::is_form(content_type) {
        return Err(VendorError::invalid("Invalid Content-Type header: expected multipart/form-data."));
    }
    let parts = form::parse(content_type, body)
        .map_err(|why| VendorError::invalid(format!("Could not parse multipart form: {why}")))?;
    if let Some(other) = parts
        .iter()
        .find(|part| !matches!(&*part.name, "file" | "purpose") && !part.name.starts_with("expires_after["))
    {
        return Err(VendorError::invalid(format!("Unknown parameter: '{}'.", other.name)));
    }
    let only = |name: &str| {
        let mut named = parts.iter().filter(|part| part.name == name);
        let part =
            named.next().ok_or_else(|| VendorError::invalid(format!("'{name}' is a required property")));
        if named.next().is_some() {
            Err(VendorError::invalid(format!("'{name}' is there twice")))
        } else {
            part
        }
    };
    let (file, purpose) = (only("file")?, String::from_utf8_lossy(only("purpose")?.content).into_owned());
    let filename = file.filename.as_deref().ok_or_else(|| VendorError::invalid("'file' must be a file"))?;
    if !PURPOSES.contains(&&*purpose) {
        return Err(VendorError::invalid(format!("'{purpose}' is not one of {PURPOSES:?} - 'purpose'")));
    }
    Ok(keep(file.content, (filename, &purpose), account))
}

/// Refuses a request that names a file which this key does not have. Ids that nobody could have got here pass: what they
/// would name is not looked at.
pub(super) fn check(body: &Value, account: Account<'_>) -> Result<(), VendorError> {
    match body {
        Value::Array(items) => items.iter().try_for_each(|item| check(item, account)),
        Value::Object(members) => members.iter().try_for_each(|(name, value)| match value.as_str() {
            Some(id) if name == "file_id" && (id.starts_with("file-0000") || id.len() > 40) => {
                let unknown = || VendorError::invalid(format!("No such File object: {id}")).at("file_id");
                account.get(id).map(drop).ok_or_else(unknown)
            }
            _ => check(value, account),
        }),
        _ => Ok(()),
    }
}

/// Keeps bytes as a file.
pub(super) fn keep(content: &[u8], (filename, purpose): (&str, &str), account: Account<'_>) -> Value {
    let id = fresh_id("file-");
    let shown = json!({
        "object": "file", "id": id, "purpose": purpose, "filename": filename, "bytes": content.len(),
        "created_at": unix_seconds(), "expires_at": null, "status": "processed", "status_details": null,
    });
    account.put(&id, Thing { shown: shown.clone(), content: content.to_vec(), ..Thing::default() });
    shown
}
