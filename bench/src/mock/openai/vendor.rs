//! What OpenAI does in its own way, whatever the endpoint.

use super::super::vendor::{Vendor, VendorError};
use super::error;

/// OpenAI.
pub(crate) struct OpenAi;

impl Vendor for OpenAi {
    fn missing_key(&self) -> VendorError {
        error::missing_key()
    }

    fn unknown_path(&self, method: &str, path: &str) -> VendorError {
        error::unknown_path(method, path)
    }

    fn forced_error(&self, cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
        error::forced_error(cause, status, model)
    }

    fn render(&self, error: &VendorError, _request_id: &str) -> String {
        error::render(error)
    }

    fn id_header(&self) -> &'static str {
        "x-request-id"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("openai-organization", "org-mock"),
            ("openai-processing-ms", "12"),
            ("openai-version", "2020-10-01"),
            ("x-ratelimit-limit-requests", "10000"),
            ("x-ratelimit-remaining-requests", "9999"),
            ("x-ratelimit-reset-requests", "6ms"),
        ]
    }
}
