//! Amazon Bedrock.

use crate::{Listed, Provider, Row};

/// Amazon Bedrock.
pub(crate) fn bedrock(row: Row) -> Result<Box<dyn Provider>, Vec<String>> {
    Ok(Box::new(Listed::new(row)?))
}
