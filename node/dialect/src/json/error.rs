//! Where and why bytes are not acceptable JSON.

/// Why, and where: line and column count from 1, the column in bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at line {line}, column {column}")]
pub struct Error {
    /// Why.
    pub kind: ErrorKind,
    /// Offset in bytes.
    pub at: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes, from 1.
    pub column: usize,
}

/// Why bytes are not acceptable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// Against the grammar.
    #[error("{0}")]
    Syntax(&'static str),
    /// The same member twice in one object.
    #[error("duplicate member `{0}`")]
    Duplicate(String),
    /// Deeper than 128 levels.
    #[error("nested deeper than 128 levels")]
    TooDeep,
    /// Not UTF-8.
    #[error("not valid UTF-8")]
    Utf8,
}
