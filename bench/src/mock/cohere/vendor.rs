//! What Cohere does in its own way, whatever the endpoint.

use super::super::vendor::{Vendor, VendorError};
use super::error;

/// Cohere.
pub(crate) struct Cohere;

impl Vendor for Cohere {
    fn missing_key(&self) -> VendorError {
        VendorError::new(401, "", "no api key supplied")
    }

    fn unknown_path(&self, _method: &str, path: &str) -> VendorError {
        VendorError::new(404, "", format!("endpoint '{path}' not found."))
    }

    fn forced_error(&self, cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
        error::forced_error(cause, status, model)
    }

    fn render(&self, error: &VendorError, request_id: &str) -> String {
        error::render(error, request_id)
    }

    fn id_header(&self) -> &'static str {
        "x-debug-trace-id"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("x-endpoint-monthly-call-limit", "1000"), ("x-trial-endpoint-call-limit", "20")]
    }
}
