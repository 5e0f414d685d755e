//! Parts: they have the same form in requests and answers.

mod arguments;
mod calls;
mod media;
mod read;
mod results;

pub(super) use arguments::write_arguments;
pub(super) use calls::Calls;
pub(super) use media::{write_media, write_media_source};
pub(super) use read::read_part;
pub(super) use results::{Apart, is_seen_apart, write_response};
