//! Gemini's errors: their shape, one for each cause, and for what does not fit a shape.

use serde_json::{Value, json};

use super::super::shape::{Misfit, Step, What};
use super::super::vendor::VendorError;

/// A request that is refused.
pub(super) fn invalid(message: impl Into<String>) -> VendorError {
    VendorError::new(400, "INVALID_ARGUMENT", message)
}

/// A member that is refused, as the vendor names it: `* GenerateContentRequest.contents: contents is not specified`.
pub(super) fn member(path: &str, what: &str) -> VendorError {
    invalid(format!("* GenerateContentRequest.{path}: {what}\n"))
}

/// The body of an error.
pub(super) fn render(error: &VendorError) -> String {
    let mut body = json!({ "code": error.status, "message": error.message, "status": error.kind });
    let kind = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
    let details = match (error.code, &error.param) {
        (Some("API_KEY_INVALID"), _) => json!([{
            "@type": kind("ErrorInfo"), "reason": "API_KEY_INVALID", "domain": "googleapis.com",
            "metadata": { "service": "generativelanguage.googleapis.com" },
        }]),
        (Some(quota @ ("PerMinute" | "PerDay")), _) => json!([
            { "@type": kind("QuotaFailure"), "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": format!("GenerateRequests{quota}PerProjectPerModel-FreeTier"),
                "quotaDimensions": { "location": "global" }, "quotaValue": "10",
            }] },
            { "@type": kind("RetryInfo"), "retryDelay": "34s" },
        ]),
        (_, Some(field)) => json!([{
            "@type": kind("BadRequest"),
            "fieldViolations": [{ "field": field, "description": error.message }],
        }]),
        _ => Value::Null,
    };
    if !details.is_null() {
        body["details"] = details;
    }
    json!({ "error": body }).to_string()
}

/// The error for what does not fit.
pub(super) fn misfit(misfit: &Misfit) -> VendorError {
    let mut path = String::new();
    for step in misfit.path() {
        match step {
            Step::Element(index) => path.push_str(&format!("[{index}]")),
            Step::Member(name) if path.is_empty() => path.push_str(name),
            Step::Member(name) => path.push_str(&format!(".{name}")),
        }
    }
    let place = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
    let message = match &misfit.what {
        What::Unknown(name) => {
            format!("Invalid JSON payload received. Unknown name \"{name}\"{place}: Cannot find field.")
        }
        What::Missing(name) => format!("* GenerateContentRequest.{path}.{name}: required field is not set\n"),
        What::Wrong("BYTES", _) => {
            format!("Invalid value{place} (TYPE_BYTES), Base64 decoding failed for the value.")
        }
        What::Wrong(expected, found) => format!("Invalid value{place} (TYPE_{expected}), {found}"),
        What::Beyond(limit) => format!("Invalid value{place}: {limit}"),
        What::NotOne(_, _, 0) => {
            format!(
                "* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field\n"
            )
        }
        What::NotOne(..) => format!("Invalid value{place} (oneof), oneof field 'data' is already set."),
    };
    invalid(message).at(path)
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
        "context_length" => {
            invalid("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")
        }
        "content_policy" => {
            invalid("The prompt could not be submitted. This prompt contains sensitive words.")
        }
        "model_not_found" => VendorError::new(
            404,
            "NOT_FOUND",
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call \
                 ListModels to see the list of available models and their supported methods."
            ),
        ),
        "quota" => exhausted().code("PerDay"),
        "rate_limit" => exhausted().code("PerMinute"),
        "overloaded" => {
            VendorError::new(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
        }
        "invalid_key" => invalid("API key not valid. Please pass a valid API key.").code("API_KEY_INVALID"),
        _ => by_status(status.unwrap_or(500)),
    }
}

fn exhausted() -> VendorError {
    VendorError::new(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. For more information on this \
         error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
    )
}

fn by_status(status: u16) -> VendorError {
    match status {
        403 => VendorError::new(
            status,
            "PERMISSION_DENIED",
            "Your API key was reported as leaked. Please use another API key.",
        ),
        504 => VendorError::new(
            status,
            "DEADLINE_EXCEEDED",
            "The service was unable to finish processing within the deadline.",
        ),
        400..=499 => VendorError::new(status, "INVALID_ARGUMENT", "Request contains an invalid argument."),
        _ => VendorError::new(
            status,
            "INTERNAL",
            "An internal error has occurred. Please retry or report in \
             https://developers.generativeai.google/guide/troubleshooting",
        ),
    }
}
