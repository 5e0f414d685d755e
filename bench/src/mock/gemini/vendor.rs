//! What Gemini does in its own way, whatever the endpoint.

use super::super::vendor::{Vendor, VendorError};
use super::error;

/// The Gemini API.
pub(crate) struct Gemini;

impl Vendor for Gemini {
    fn missing_key(&self) -> VendorError {
        VendorError::new(
            403,
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or \
             other form of API consumer identity to call this API.",
        )
    }

    fn unknown_path(&self, _method: &str, path: &str) -> VendorError {
        VendorError::new(404, "NOT_FOUND", format!("{path} is not found for API version v1beta."))
    }

    fn forced_error(&self, cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
        error::forced_error(cause, status, model)
    }

    fn render(&self, error: &VendorError, _request_id: &str) -> String {
        error::render(error)
    }

    fn id_header(&self) -> &'static str {
        "x-mock-request-id"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("server-timing", "gfet4t7; dur=412"), ("vary", "Origin, X-Origin, Referer")]
    }
}
