//! Refuses what OpenAI refuses in content parts.

use serde_json::{Map, Value};

use super::super::super::vendor::{IMAGE_TYPES, VendorError, decoded, sniffed};
use super::super::check::{invalid_value, missing, wrong_type};
use super::check::only;

/// What users and operators say.
pub(super) const INPUT: &[&str] = &["input_text", "input_image", "input_file", "input_audio"];
/// What functions give back.
pub(super) const OUTPUT: &[&str] = &["input_text", "input_image", "input_file"];
/// What the model said.
pub(super) const SAID: &[&str] = &["output_text", "refusal"];

/// Checks a content: a string, or parts of these kinds.
pub(super) fn check(content: &Value, path: &str, kinds: &[&str]) -> Result<(), VendorError> {
    match content {
        Value::String(_) => Ok(()),
        Value::Array(_) => check_all(content, path, kinds),
        other => Err(wrong_type(path, "one of an array of objects or string", other)),
    }
}

/// Checks parts of these kinds.
pub(super) fn check_all(parts: &Value, path: &str, kinds: &[&str]) -> Result<(), VendorError> {
    let parts = parts.as_array().ok_or_else(|| wrong_type(path, "an array of objects", parts))?;
    parts.iter().enumerate().try_for_each(|(at, part)| check_part(part, &format!("{path}[{at}]"), kinds))
}

fn check_part(part: &Value, path: &str, kinds: &[&str]) -> Result<(), VendorError> {
    let members = part.as_object().ok_or_else(|| wrong_type(path, "an object", part))?;
    let kind_path = format!("{path}.type");
    let kind = members.get("type").and_then(Value::as_str).ok_or_else(|| missing(&kind_path))?;
    if !kinds.contains(&kind) {
        return Err(invalid_value(&kind_path, kind, kinds));
    }
    let (known, text): (&[&str], &str) = match kind {
        "input_text" => (&["type", "text", "prompt_cache_breakpoint"], "text"),
        "summary_text" => (&["type", "text"], "text"),
        "output_text" => (&["type", "text", "annotations", "logprobs"], "text"),
        "refusal" => (&["type", "refusal"], "refusal"),
        "input_image" => (&["type", "image_url", "file_id", "detail", "prompt_cache_breakpoint"], ""),
        "input_file" => (
            &["type", "file_data", "file_id", "file_url", "filename", "detail", "prompt_cache_breakpoint"],
            "",
        ),
        _ => return Ok(()),
    };
    only(members, known, &format!("{path}."))?;
    match kind {
        "input_image" => check_image(members, path),
        "input_file" => check_file(members, path),
        _ => {
            let path = format!("{path}.{text}");
            match members.get(text) {
                Some(Value::String(_)) => Ok(()),
                None => Err(missing(&path)),
                Some(other) => Err(wrong_type(&path, "a string", other)),
            }
        }
    }
}

fn check_image(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let details = ["low", "high", "auto", "original"];
    if let Some(detail) = members.get("detail").and_then(Value::as_str)
        && !details.contains(&detail)
    {
        return Err(invalid_value(&format!("{path}.detail"), detail, &details));
    }
    let url_path = format!("{path}.image_url");
    let url = match members.get("image_url") {
        Some(Value::String(url)) => url,
        None | Some(Value::Null) if members.get("file_id").is_some_and(Value::is_string) => return Ok(()),
        None | Some(Value::Null) => return Err(missing(&url_path)),
        Some(other) => return Err(wrong_type(&url_path, "an image URL", other)),
    };
    if url.starts_with("https://") || url.starts_with("http://") {
        return Ok(());
    }
    let invalid = |what: &str| {
        let what = format!(
            "Invalid '{url_path}'. Expected a base64-encoded data URL with an image MIME type (e.g. \
             'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {what}."
        );
        Err(VendorError::invalid(what).at(url_path.clone()).code("invalid_value"))
    };
    match url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
        None => invalid("a value without the 'data:' prefix"),
        Some((kind, _)) if !IMAGE_TYPES.contains(&kind) => invalid("unsupported MIME type"),
        Some((kind, data)) => match decoded(data) {
            None => invalid("an invalid base64-encoded value"),
            Some(data) if sniffed(&data).is_some_and(|real| real != kind) => {
                Err(VendorError::invalid("The image data you provided does not represent a valid image.")
                    .code("invalid_image"))
            }
            Some(_) => Ok(()),
        },
    }
}

fn check_file(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let Some(data) = text("file_data") else {
        if text("file_id").or(text("file_url")).is_some() {
            return Ok(());
        }
        return Err(missing(&format!("{path}.file_id")));
    };
    if text("filename").is_none() {
        return Err(missing(&format!("{path}.filename")));
    }
    let plain = data.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    if plain.is_some_and(|(_, data)| decoded(data).is_some()) {
        return Ok(());
    }
    let path = format!("{path}.file_data");
    Err(VendorError::invalid(format!(
        "Invalid '{path}'. Expected a base64-encoded data URL with a MIME type (e.g. \
         'data:application/pdf;base64,SGVsbG8='), but got a value without the 'data:' prefix."
    ))
    .at(path)
    .code("invalid_value"))
}
