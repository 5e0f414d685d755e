//! Encrypted reasoning, which must come back as it went out.

use serde_json::Value;

use super::super::super::compose::signature;
use super::super::super::kept::Account;
use super::super::super::vendor::VendorError;

/// What all of it begins with.
const MARK: &str = "gAAAAA";

/// Stands in the ids of items that the vendor keeps, right behind the kind.
pub(super) const KEPT: &str = "1";

/// Stands in those of items that it does not keep.
pub(super) const NOT_KEPT: &str = "0";

/// The encrypted content of an item: it depends on the account, and on the item's id and summary.
pub(super) fn seal(account: Account<'_>, id: &str, summary: &str) -> String {
    format!("{}{}", prefix(account), signature(&format!("{id} {summary}")))
}

/// What tells one account from another.
fn prefix(account: Account<'_>) -> String {
    format!("{MARK}{}", signature(account.key))
}

/// Checks that an item is kept, where it is not told whole.
pub(super) fn is_kept(item: &Value) -> Result<(), VendorError> {
    let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
    if id.split_once('_').is_some_and(|(_, rest)| rest.starts_with(KEPT)) {
        return Ok(());
    }
    Err(VendorError::new(
        404,
        "invalid_request_error",
        format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with \
             `store` set to true, or remove this item from your input."
        ),
    )
    .at("input"))
}

/// Checks reasoning that came back.
pub(super) fn verify(item: &Value, account: Account<'_>) -> Result<(), VendorError> {
    let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
    let Some(content) = item.get("encrypted_content").and_then(Value::as_str) else {
        return is_kept(item);
    };
    let parts = item.get("summary").and_then(Value::as_array).into_iter().flatten();
    let summary: String = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    let reason = match content.strip_prefix(&prefix(account)) {
        Some(_) if content == seal(account, id, &summary) => return Ok(()),
        Some(_) => "Encrypted content item_id did not match the target item id.",
        None => "Encrypted content could not be decrypted or parsed.",
    };
    Err(VendorError::invalid(format!(
        "The encrypted content for item {id} could not be verified. Reason: {reason}"
    ))
    .code("invalid_encrypted_content"))
}
