//! OpenAI's errors: their shape, and one for each cause.

use super::super::vendor::{VendorError, quoted};

/// The body of an error.
pub(super) fn render(error: &VendorError) -> String {
    let optional = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), quoted);
    format!(
        r#"{{"error":{{"message":{},"type":{},"param":{},"code":{}}}}}"#,
        quoted(&error.message),
        quoted(error.kind),
        optional(error.param.as_deref()),
        optional(error.code)
    )
}

/// The error for a cause, or else for a status.
pub(super) fn forced_error(cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
    let cause = cause.unwrap_or(match status {
        Some(401) => "invalid_key",
        Some(404) => "model_not_found",
        Some(429) => "rate_limit",
        Some(503) => "overloaded",
        _ => "",
    });
    match cause {
        "context_length" => VendorError::invalid(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 \
             tokens. Please reduce the length of the messages.",
        )
        .at("messages")
        .code("context_length_exceeded"),
        "content_policy" => VendorError::invalid(
            "Your request was rejected as a result of our safety system. Your prompt may contain text that is \
             not allowed by our safety system.",
        )
        .code("content_policy_violation"),
        "model_not_found" => VendorError::new(
            404,
            "invalid_request_error",
            format!("The model `{model}` does not exist or you do not have access to it."),
        )
        .code("model_not_found"),
        "quota" => VendorError::new(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details. For more information \
             on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        )
        .code("insufficient_quota"),
        "rate_limit" => VendorError::new(
            429,
            "requests",
            format!(
                "Rate limit reached for {model} in organization org-mock on requests per min (RPM): Limit 3, Used \
                 3, Requested 1. Please try again in 20s. Visit \
                 https://platform.openai.com/account/rate-limits to learn more."
            ),
        )
        .code("rate_limit_exceeded"),
        "overloaded" => VendorError::new(
            503,
            "server_error",
            "The engine is currently overloaded, please try again later",
        ),
        "invalid_key" => invalid_key("sk-mock"),
        _ => by_status(status.unwrap_or(500)),
    }
}

fn by_status(status: u16) -> VendorError {
    match status {
        400..=499 => VendorError::new(status, "invalid_request_error", "The request was refused."),
        _ => VendorError::new(
            status,
            "server_error",
            "The server had an error while processing your request. Sorry about that!",
        ),
    }
}

/// No key was sent.
pub(super) fn missing_key() -> VendorError {
    VendorError::new(
        401,
        "invalid_request_error",
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer \
         auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank username) if you're \
         accessing the API from your browser and are prompted for a username and password. You can obtain an API \
         key from https://platform.openai.com/account/api-keys.",
    )
}

fn invalid_key(key: &str) -> VendorError {
    let shown = format!("{}****", key.chars().take(3).collect::<String>());
    VendorError::new(
        401,
        "invalid_request_error",
        format!(
            "Incorrect API key provided: {shown}. You can find your API key at \
             https://platform.openai.com/account/api-keys."
        ),
    )
    .code("invalid_api_key")
}

/// No such path.
pub(super) fn unknown_path(method: &str, path: &str) -> VendorError {
    VendorError::new(404, "invalid_request_error", format!("Invalid URL ({method} {path})"))
}
