//! What requests of the admin API carry beside their path: bodies and conditions.

use super::{Problem, strict::Strict};
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Largest body of a request for one entity, and of one for the document.
pub(super) const BODY_BYTES_MAX: usize = 2 << 20;
pub(super) const DOCUMENT_BYTES_MAX: usize = 64 << 20;

/// A JSON body without members that are there twice.
pub(super) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let value = serde_json::from_slice(body).and_then(|Strict(value)| serde_json::from_value(value));
    value.map_err(|error| Problem::bad_request(format!("the body: {error}")))
}

/// A JSON body that may be missing.
pub(super) fn json_or_default<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, Problem> {
    if body.trim_ascii().is_empty() { Ok(T::default()) } else { json(body) }
}

/// What a request says it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// Nothing.
    None,
    /// It must be there, whatever it is.
    Any,
    /// It must not be there.
    Absent,
    /// It must be of this revision.
    Revision(u64),
}

/// The condition of `if-match` or `if-none-match: *`.
pub(super) fn condition(headers: &HeaderMap) -> Result<Condition, Problem> {
    if headers.get(header::IF_NONE_MATCH).is_some_and(|value| value == "*") {
        return Ok(Condition::Absent);
    }
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(Condition::None) };
    let text = value.to_str().unwrap_or_default().trim();
    if text == "*" {
        return Ok(Condition::Any);
    }
    let tag = text.strip_prefix("W/").unwrap_or(text).trim_matches('"');
    let revision = tag.parse().map_err(|_| {
        Problem::bad_request("`if-match` must be an ETag that this API gave, such as `\"12\"`, or `*`")
    })?;
    Ok(Condition::Revision(revision))
}

/// The ETag of a revision.
pub(super) fn etag(revision: u64) -> [(header::HeaderName, String); 1] {
    [(header::ETAG, format!("\"{revision}\""))]
}

/// JSON Merge Patch (RFC 7396): what the patch does not name stays.
pub(super) fn merge(target: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else { return patch };
    let mut members = match target {
        Value::Object(members) => members,
        _ => Default::default(),
    };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(&name);
        } else {
            let old = members.remove(&name).unwrap_or_default();
            members.insert(name, merge(old, value));
        }
    }
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patches_are_merged_as_the_rfc_says() {
        for (target, patch, wanted) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"a": "foo"}), json!("bar"), json!("bar")),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(merge(target.clone(), patch.clone()), wanted, "{target} {patch}");
        }
    }

    #[test]
    fn conditions_are_read() {
        let check = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            condition(&headers).ok()
        };
        assert_eq!(check("if-match", "\"12\""), Some(Condition::Revision(12)));
        assert_eq!(check("if-match", "W/\"12\""), Some(Condition::Revision(12)));
        assert_eq!(check("if-match", "*"), Some(Condition::Any));
        assert_eq!(check("if-none-match", "*"), Some(Condition::Absent));
        assert_eq!(check("if-match", "abc"), None);
        assert_eq!(check("accept", "x"), Some(Condition::None));
    }
}
