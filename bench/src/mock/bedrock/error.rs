//! Bedrock's errors: one for each cause, and for what does not fit a shape.

use super::super::shape::{Misfit, Step, What};
use super::super::vendor::VendorError;

/// A request that is refused.
pub(super) fn invalid(message: impl Into<String>) -> VendorError {
    VendorError::new(400, "ValidationException", message)
}

/// What the model behind the API refuses, in its own words.
pub(super) fn of_model(message: impl std::fmt::Display) -> VendorError {
    invalid(format!("The model returned the following errors: {message}"))
}

/// The error for what does not fit.
pub(super) fn misfit(misfit: &Misfit) -> VendorError {
    let steps: Vec<_> = misfit
        .path()
        .map(|step| match step {
            Step::Member(name) => name.clone(),
            Step::Element(index) => index.to_string(),
        })
        .collect();
    let path = steps.join(".");
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match &misfit.what {
        What::Unknown(name) => of_model(format!(
            "Malformed input request: #: extraneous key [{}] is not permitted, please reformat your input and try \
             again.",
            below(name)
        )),
        What::Missing(name) => invalid(format!(
            "1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must not be null",
            below(name)
        )),
        What::Wrong("BYTES", _) => invalid(format!(
            "The format of the value at {path} is invalid. Provide a base64-encoded string for the value."
        )),
        What::Wrong("ENUM", found) => invalid(format!(
            "1 validation error detected: Value {found} at '{path}' failed to satisfy constraint: Member must \
             satisfy enum value set"
        )),
        What::Wrong(expected, found) => VendorError::new(
            400,
            "SerializationException",
            format!("{found} can not be converted to a value of the type {expected} at {path}"),
        ),
        What::Beyond(limit) => invalid(format!(
            "1 validation error detected: Value at '{path}' failed to satisfy constraint: {limit}"
        )),
        What::NotOne(name, known, _) => invalid(format!(
            "The {name} object at {path} must set one of the following keys: {}.",
            known.join(", ")
        )),
    }
}

/// The error for a cause, or else for a status.
pub(super) fn forced_error(cause: Option<&str>, status: Option<u16>, _model: &str) -> VendorError {
    let cause = cause.unwrap_or(match status {
        Some(401 | 403) => "invalid_key",
        Some(404) => "model_not_found",
        Some(429) => "rate_limit",
        Some(503) => "overloaded",
        _ => "",
    });
    match cause {
        "context_length" => of_model("Input is too long for requested model."),
        "content_policy" => invalid("The request was blocked by our content filters."),
        "model_not_found" => VendorError::new(
            404,
            "ResourceNotFoundException",
            "Model not found. This model version has reached the end of its life. Please refer to the AWS \
             documentation for more details.",
        ),
        "quota" => VendorError::new(
            400,
            "ServiceQuotaExceededException",
            "Your request exceeds the service quota for your account.",
        ),
        "rate_limit" => VendorError::new(
            429,
            "ThrottlingException",
            "Too many requests, please wait before trying again.",
        ),
        "overloaded" => {
            VendorError::new(503, "ServiceUnavailableException", "Bedrock is unable to process your request.")
        }
        "invalid_key" => VendorError::new(
            403,
            "AccessDeniedException",
            "Authentication failed: Please make sure your API Key is valid.",
        ),
        _ => by_status(status.unwrap_or(500)),
    }
}

fn by_status(status: u16) -> VendorError {
    match status {
        408 => VendorError::new(status, "ModelTimeoutException", "The model timed out."),
        424 => VendorError::new(status, "ModelErrorException", "The model failed."),
        400..=499 => VendorError::new(status, "ValidationException", "The request was refused."),
        _ => VendorError::new(
            status,
            "InternalServerException",
            "The system encountered an unexpected error during processing. Try your request again.",
        ),
    }
}

/// The exception that a stream ends with.
pub(super) fn exception(error: &VendorError) -> &'static str {
    match error.kind {
        "ThrottlingException" | "ServiceQuotaExceededException" => "throttlingException",
        "ServiceUnavailableException" => "serviceUnavailableException",
        "ModelTimeoutException" | "ModelErrorException" => "modelStreamErrorException",
        "InternalServerException" => "internalServerException",
        _ => "validationException",
    }
}
