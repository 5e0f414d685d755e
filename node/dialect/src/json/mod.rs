//! The one JSON reader and the writer: values stay the bytes that they were.

mod error;
mod raw;
mod write;

pub use error::{Error, ErrorKind};
pub use raw::{Kind, Member, Raw};
pub use write::{Writer, escape, unescape};
