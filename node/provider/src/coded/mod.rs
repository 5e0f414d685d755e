//! Vendors that need more than a row, one file each.

mod bedrock;
pub(crate) use bedrock::bedrock;

mod vertex;
pub(crate) use vertex::vertex;
