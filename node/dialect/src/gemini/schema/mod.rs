//! Schemas. Gemini has a form of its own (`Schema`: types in upper case, `nullable`), and takes a part of JSON Schema.

mod keyword;
mod read;
mod resolve;
mod write;

pub(super) use keyword::Place;
pub(super) use read::read;
pub(super) use write::write;
