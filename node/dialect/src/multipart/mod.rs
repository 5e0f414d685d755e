//! `multipart/form-data` by the grammar of RFC 2046 and RFC 7578, on bytes, as they come: what parts a body has and where
//! they lie, so that it can be passed on as it is but for a few of them.

mod boundary;
mod error;
mod flat;
mod form;
mod head;
mod scan;

pub use boundary::is_form;
pub use error::Error;
pub use form::{Form, is_early};
pub use scan::{Part, Scanner};

#[cfg(test)]
mod tests;
