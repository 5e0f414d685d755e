//! The one JSON reader and the writer: values stay the bytes that they were.

mod blocks;
mod error;
mod escape;
mod find;
mod names;
mod number;
mod raw;
mod scan;
mod simd;
mod string;
mod swar;
mod walk;
mod write;

pub use error::{Error, ErrorKind};
pub(crate) use escape::escapes_to;
pub use escape::{escape, unescape};
pub(crate) use find::string_members;
pub(crate) use names::{Names, shown};
pub(crate) use raw::offset_in;
pub use raw::{Incomplete, Kind, Member, Raw};
pub(crate) use scan::Scan;
pub use write::Writer;

#[cfg(test)]
mod tests;
