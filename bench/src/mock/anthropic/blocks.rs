//! Refuses what Anthropic refuses in content blocks.

use serde_json::{Map, Value};

use super::super::compose::signature;
use super::super::vendor::{IMAGE_TYPES, VendorError, decoded, sniffed};
use super::check::only;

/// Marks for the prompt cache in one request, at most.
const CACHE_MARKS_MAX: usize = 4;

/// Checks one block whose kind must be among `kinds`.
pub(super) fn check(block: &Value, path: &str, kinds: &[&str]) -> Result<(), VendorError> {
    let members = block
        .as_object()
        .ok_or_else(|| VendorError::invalid(format!("{path}: Input should be a valid dictionary")))?;
    let kind = members.get("type").and_then(Value::as_str);
    let kind = kind.ok_or_else(|| VendorError::invalid(format!("{path}.type: Field required")))?;
    if !kinds.contains(&kind) {
        let expected: Vec<_> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
        return Err(VendorError::invalid(format!(
            "{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {}",
            expected.join(", ")
        )));
    }
    let path = format!("{path}.{kind}");
    let known: &[&str] = match kind {
        "text" => &["type", "text", "cache_control", "citations"],
        "image" => &["type", "source", "cache_control"],
        "document" => &["type", "source", "cache_control", "title", "context", "citations"],
        "tool_use" => &["type", "id", "name", "input", "cache_control", "caller"],
        "tool_result" => &["type", "tool_use_id", "content", "is_error", "cache_control"],
        "thinking" => &["type", "thinking", "signature"],
        "redacted_thinking" => &["type", "data"],
        _ => return Ok(()),
    };
    only(members, known, &path)?;
    match kind {
        "text" => text(members, &path),
        "image" => image(members.get("source"), &path),
        "tool_use" => tool_use(members, &path),
        "tool_result" => tool_result(members, &path),
        "thinking" => thinking(members, &path),
        "redacted_thinking" => redacted(members, &path),
        _ => Ok(()),
    }
}

fn string<'a>(members: &'a Map<String, Value>, name: &str, path: &str) -> Result<&'a str, VendorError> {
    match members.get(name) {
        Some(Value::String(text)) => Ok(text),
        None => Err(VendorError::invalid(format!("{path}.{name}: Field required"))),
        Some(_) => Err(VendorError::invalid(format!("{path}.{name}: Input should be a valid string"))),
    }
}

fn text(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let text = string(members, "text", path)?;
    if text.is_empty() {
        return Err(VendorError::invalid("messages: text content blocks must be non-empty"));
    }
    if text.trim().is_empty() && path.starts_with("messages") {
        return Err(VendorError::invalid("messages: text content blocks must contain non-whitespace text"));
    }
    Ok(())
}

fn image(source: Option<&Value>, path: &str) -> Result<(), VendorError> {
    let source = source.and_then(Value::as_object);
    let source = source.ok_or_else(|| VendorError::invalid(format!("{path}.source: Field required")))?;
    let kind = string(source, "type", &format!("{path}.source"))?;
    let path = format!("{path}.source.{kind}");
    match kind {
        "base64" => {
            only(source, &["type", "media_type", "data"], &path)?;
            let media_type = string(source, "media_type", &path)?;
            if !IMAGE_TYPES.contains(&media_type) {
                return Err(VendorError::invalid(format!(
                    "{path}.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
                )));
            }
            let data = decoded(string(source, "data", &path)?)
                .ok_or_else(|| VendorError::invalid(format!("{path}: invalid base64 data")))?;
            match sniffed(&data) {
                Some(real) if real != media_type => Err(VendorError::invalid(format!(
                    "{path}.data: Image does not match the provided media type {media_type}"
                ))),
                _ => Ok(()),
            }
        }
        "url" => {
            only(source, &["type", "url"], &path)?;
            let url = string(source, "url", &path)?;
            if url.starts_with("https://") || url.starts_with("http://") {
                return Ok(());
            }
            Err(VendorError::invalid(format!("{path}.url: Only HTTPS URLs are supported.")))
        }
        "file" => only(source, &["type", "file_id"], &path),
        _ => Err(VendorError::invalid(format!(
            "{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: 'base64', \
             'file', 'url'"
        ))),
    }
}

fn tool_use(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let id = string(members, "id", path)?;
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if id.is_empty() || !id.chars().all(legal) {
        return Err(VendorError::invalid(format!(
            "{path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        )));
    }
    string(members, "name", path)?;
    match members.get("input") {
        Some(Value::Object(_)) => Ok(()),
        None => Err(VendorError::invalid(format!("{path}.input: Field required"))),
        Some(_) => Err(VendorError::invalid(format!("{path}.input: Input should be a valid dictionary"))),
    }
}

fn tool_result(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    string(members, "tool_use_id", path)?;
    match members.get("content") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) => {
            let kinds = ["text", "image", "document", "search_result"];
            for (at, part) in parts.iter().enumerate() {
                check(part, &format!("{path}.content.{at}"), &kinds)?;
            }
            Ok(())
        }
        Some(_) => Err(VendorError::invalid(format!("{path}.content: Input should be a valid string"))),
    }
}

fn thinking(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    let thought = string(members, "thinking", path)?;
    if string(members, "signature", path)? == signature(thought) {
        return Ok(());
    }
    let block = path.trim_end_matches(".thinking");
    Err(VendorError::invalid(format!("{block}: Invalid `signature` in `thinking` block")))
}

fn redacted(members: &Map<String, Value>, path: &str) -> Result<(), VendorError> {
    if string(members, "data", path)? == signature("redacted") {
        return Ok(());
    }
    let block = path.trim_end_matches(".redacted_thinking");
    Err(VendorError::invalid(format!("{block}: Invalid `data` in `redacted_thinking` block")))
}

/// At most four marks, each well formed, wherever they are.
pub(super) fn check_cache_marks(body: &Value) -> Result<(), VendorError> {
    let mut found = 0;
    count_marks(body, &mut found)?;
    if found > CACHE_MARKS_MAX {
        return Err(VendorError::invalid(format!(
            "A maximum of 4 blocks with cache_control may be provided. Found {found}."
        )));
    }
    Ok(())
}

/// serde_json has bounded the depth already. Schemas and inputs of tools are data, not blocks.
fn count_marks(value: &Value, found: &mut usize) -> Result<(), VendorError> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| count_marks(item, found)),
        Value::Object(members) => {
            if let Some(mark) = members.get("cache_control").filter(|mark| !mark.is_null()) {
                *found += 1;
                if mark.get("type").and_then(Value::as_str) != Some("ephemeral") {
                    return Err(VendorError::invalid("cache_control.type: Input should be 'ephemeral'"));
                }
            }
            let blocks =
                members.iter().filter(|(name, _)| !["input", "input_schema"].contains(&name.as_str()));
            blocks.map(|(_, member)| member).try_for_each(|member| count_marks(member, found))
        }
        _ => Ok(()),
    }
}
