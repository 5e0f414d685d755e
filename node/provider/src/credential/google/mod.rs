//! Credentials of Google.

mod source;
pub(super) use source::{check, fetch};

mod json;

mod assertion;

mod external;
