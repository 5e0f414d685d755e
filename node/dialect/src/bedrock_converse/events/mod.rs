//! Streamed answers of Bedrock Converse: binary messages, whose type says what their JSON is.
//!
//! `messageStop` ends the answer; `metadata` with the usage follows and ends the stream. A reader that has seen the
//! first counts the answer as whole, so that a stream which breaks off between them has lost its usage and nothing
//! else; a glance knows no more than its event and takes the second for the end, as what stands behind an end is not
//! passed on.

mod decode;
mod encode;
mod exception;
mod frames;
mod glance;

pub(super) use decode::Reader;
pub(super) use encode::Writer;
pub(super) use glance::glance;
