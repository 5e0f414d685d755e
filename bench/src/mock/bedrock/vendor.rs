//! What Bedrock does in its own way, whatever the endpoint.

use super::super::vendor::{Vendor, VendorError, quoted};
use super::error;

/// Amazon Bedrock.
pub(crate) struct Bedrock;

impl Vendor for Bedrock {
    fn missing_key(&self) -> VendorError {
        VendorError::new(403, "MissingAuthenticationTokenException", "Missing Authentication Token")
    }

    fn unknown_path(&self, _method: &str, _path: &str) -> VendorError {
        VendorError::new(404, "UnknownOperationException", "")
    }

    fn forced_error(&self, cause: Option<&str>, status: Option<u16>, model: &str) -> VendorError {
        error::forced_error(cause, status, model)
    }

    /// The type stands in a header alone.
    fn render(&self, error: &VendorError, _request_id: &str) -> String {
        format!(r#"{{"message":{}}}"#, quoted(&error.message))
    }

    fn error_header(&self, error: &VendorError) -> Option<(&'static str, String)> {
        let kind = error.kind;
        Some(("x-amzn-errortype", format!("{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/")))
    }

    fn id_header(&self) -> &'static str {
        "x-amzn-requestid"
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}
