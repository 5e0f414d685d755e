//! What Anthropic does in its own way, whatever the endpoint.

use super::super::vendor::{Vendor, VendorError};
use super::error;

/// Anthropic.
pub(crate) struct Anthropic;

impl Vendor for Anthropic {
    fn missing_key(&self) -> VendorError {
        error::missing_key()
    }

    fn unknown_path(&self, _method: &str, _path: &str) -> VendorError {
        error::unknown_path()
    }

    fn forced_error(&self, cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
        error::forced_error(cause, status, model)
    }

    fn render(&self, error: &VendorError, request_id: &str) -> String {
        error::render(error, Some(request_id))
    }

    fn id_header(&self) -> &'static str {
        "request-id"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("anthropic-organization-id", "org-mock"),
            ("anthropic-ratelimit-requests-limit", "4000"),
            ("anthropic-ratelimit-requests-remaining", "3999"),
            ("anthropic-ratelimit-requests-reset", "2030-01-01T00:00:00Z"),
        ]
    }
}
