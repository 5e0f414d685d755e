//! Anthropic's errors: their shape, and one for each cause.

use super::super::vendor::{VendorError, quoted};

/// The body of an error. In a stream there is no request id.
pub(super) fn render(error: &VendorError, request_id: Option<&str>) -> String {
    let id = request_id.map(|id| format!(r#","request_id":{}"#, quoted(id))).unwrap_or_default();
    format!(
        r#"{{"type":"error","error":{{"type":{},"message":{}}}{id}}}"#,
        quoted(error.kind),
        quoted(&error.message)
    )
}

/// The error for a cause, or else for a status.
pub(super) fn forced_error(cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
    let cause = cause.unwrap_or(match status {
        Some(401) => "invalid_key",
        Some(404) => "model_not_found",
        Some(429) => "rate_limit",
        Some(529) => "overloaded",
        _ => "",
    });
    match cause {
        "context_length" => VendorError::invalid("prompt is too long: 210000 tokens > 200000 maximum"),
        "content_policy" => VendorError::invalid("Output blocked by content filtering policy"),
        "model_not_found" => VendorError::new(404, "not_found_error", format!("model: {model}")),
        "quota" => VendorError::invalid(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits.",
        ),
        "rate_limit" => VendorError::new(
            429,
            "rate_limit_error",
            "This request would exceed the rate limit for your organization (org-mock) of 50 requests per minute. \
             For details, refer to: https://docs.claude.com/en/api/rate-limits.",
        ),
        "overloaded" => VendorError::new(529, "overloaded_error", "Overloaded"),
        "invalid_key" => VendorError::new(401, "authentication_error", "invalid x-api-key"),
        _ => by_status(status.unwrap_or(500)),
    }
}

fn by_status(status: u16) -> VendorError {
    match status {
        403 => VendorError::new(
            status,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        413 => VendorError::new(
            status,
            "request_too_large",
            "Request exceeds the maximum allowed number of bytes.",
        ),
        504 => VendorError::new(status, "timeout_error", "Request timed out."),
        400..=499 => VendorError::new(status, "invalid_request_error", "The request was refused."),
        _ => VendorError::new(status, "api_error", "Internal server error"),
    }
}

/// No key was sent.
pub(super) fn missing_key() -> VendorError {
    VendorError::new(401, "authentication_error", "x-api-key header is required")
}

/// No such path.
pub(super) fn unknown_path() -> VendorError {
    VendorError::new(404, "not_found_error", "Not Found")
}
