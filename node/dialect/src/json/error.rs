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
    /// The same member twice in one object. A long name is cut.
    #[error("duplicate member `{0}`")]
    Duplicate(String),
    /// Deeper than 128 levels.
    #[error("nested deeper than 128 levels")]
    TooDeep,
    /// More top-level members than an envelope holds.
    #[error("more than 4096 members in the top-level object")]
    TooManyMembers,
    /// Not UTF-8.
    #[error("not valid UTF-8")]
    Utf8,
}

impl Error {
    /// Finds the line and column of an offset.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, bytes: &[u8], at: usize) -> Self {
        let before = bytes.get(..at).unwrap_or(bytes);
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        Self { kind, at, line, column: before.len() - line_start + 1 }
    }
}
