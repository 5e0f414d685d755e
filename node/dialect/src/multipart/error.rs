//! Why a body is not an acceptable form.

use super::{head::HEAD_BYTES_MAX, scan::PARTS_MAX};

/// Why a body is not an acceptable form. Forms that two readers could read in two ways are not acceptable: a gateway that
/// checks the one and a provider that acts on the other would be of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The header.
    #[error("the content-type must name one boundary of 1 to 70 characters")]
    Boundary,
    /// Where the boundary stands.
    #[error("the boundary stands at the begin of a line inside of a part, or its line does not end with it")]
    BoundaryInside,
    /// After the end.
    #[error("there is a part behind the last boundary")]
    BehindEnd,
    /// The end.
    #[error("the body ends without its last boundary")]
    Unended,
    /// A part.
    #[error("the head of a part {0}")]
    Head(&'static str),
    /// A part, too.
    #[error("the head of a part is larger than {HEAD_BYTES_MAX} bytes")]
    HeadTooLarge,
    /// All of them.
    #[error("there are more than {PARTS_MAX} parts")]
    TooManyParts,
}
