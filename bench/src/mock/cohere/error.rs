//! Cohere's errors: their shape, and one for each cause.

use super::super::vendor::{VendorError, quoted};

/// The body of an error.
pub(super) fn render(error: &VendorError, request_id: &str) -> String {
    format!(r#"{{"id":{},"message":{}}}"#, quoted(request_id), quoted(&error.message))
}

/// A 400 for a request that is not valid.
pub(super) fn invalid(message: impl AsRef<str>) -> VendorError {
    VendorError::new(400, "", format!("invalid request: {}", message.as_ref()))
}

/// A 422 for a member that does not exist.
pub(super) fn unknown_field(name: &str, endpoint: &str) -> VendorError {
    VendorError::new(
        422,
        "",
        format!(
            "unknown field: parameter '{name}' is not a valid field. For proper usage, please refer to \
             https://docs.cohere.com/reference/{endpoint}"
        ),
    )
}

/// A 400 for a member of the wrong type.
pub(super) fn wrong_type(path: &str, expected: &str, got: &serde_json::Value) -> VendorError {
    let got = match got {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    };
    VendorError::new(
        400,
        "",
        format!("invalid type: parameter {path} is of type {got} but should be of type {expected}."),
    )
}

/// The error for a cause, or else for a status.
pub(super) fn forced_error(cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
    let cause = cause.unwrap_or(match status {
        Some(401) => "invalid_key",
        Some(402) => "quota",
        Some(404) => "model_not_found",
        Some(429) => "rate_limit",
        Some(503) => "overloaded",
        _ => "",
    });
    let error = |status, message: &str| VendorError::new(status, "", message);
    match cause {
        "context_length" => error(
            400,
            "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 210000. Try \
             using a shorter prompt, or enabling prompt truncating.",
        ),
        "content_policy" => error(400, "invalid request: the prompt was blocked by our content filters"),
        "model_not_found" => error(
            404,
            &format!(
                "model '{model}' not found, make sure the correct model ID was used and that you have access to the \
                 model."
            ),
        ),
        "quota" => error(
            402,
            "Please add or update your payment method at https://dashboard.cohere.com/billing?tab=payment to \
             continue",
        ),
        "rate_limit" => error(
            429,
            "You are using a Trial key, which is limited to 20 API calls / minute. You can continue to use the Trial \
             key for free or upgrade to a Production key with higher rate limits at \
             'https://dashboard.cohere.com/api-keys'.",
        ),
        "overloaded" => error(503, "the service is overloaded, please try again later"),
        "invalid_key" => error(401, "invalid api token"),
        _ => match status.unwrap_or(500) {
            status @ 400..=499 => error(status, "invalid request: the request was refused."),
            status => error(status, "internal server error, this has been reported to our developers."),
        },
    }
}
