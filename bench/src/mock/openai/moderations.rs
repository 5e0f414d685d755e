//! Whether a text is harmful.

use serde_json::{Value, json};

use super::super::vendor::{Reply, VendorError, quoted};
use super::check::{known_members, missing, model as check_model};
use super::other::members;

/// `POST /v1/moderations`: what says `harm` is flagged.
pub(crate) fn moderations(body: &[u8]) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(members, &["model", "input"])?;
    check_model(members)?;
    let inputs = match members.get("input") {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => items.iter().map(ToString::to_string).collect(),
        _ => return Err(missing("input")),
    };
    let results: Vec<_> = inputs
        .iter()
        .map(|text| {
            let flagged = text.contains("harm");
            json!({
                "flagged": flagged, "categories": { "violence": flagged },
                "category_scores": { "violence": if flagged { 0.9 } else { 0.01 } },
            })
        })
        .collect();
    let model = members.get("model").and_then(Value::as_str).unwrap_or_default();
    Ok(Reply::Whole(format!(r#"{{"id":"modr-1","model":{},"results":{}}}"#, quoted(model), json!(results))))
}
