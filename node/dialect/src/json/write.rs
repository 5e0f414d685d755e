//! Writes JSON into a byte vector; commas are kept by the writer.

use crate::ir::{Json, Text};
use std::borrow::Cow;

/// Appends the escaped form of a plain string, without quotes.
#[allow(unused_variables, clippy::unimplemented)]
pub fn escape(plain: &str, out: &mut Vec<u8>) {
    unimplemented!()
}

/// The plain string; a lone surrogate becomes U+FFFD.
#[allow(unused_variables, clippy::unimplemented)]
pub fn unescape(escaped: &[u8]) -> Cow<'_, str> {
    unimplemented!()
}

/// A writer: `begin_object`, `key`, values, `end_object`. Each value puts the comma it needs before itself.
#[derive(Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
}

#[allow(unused_variables, clippy::unimplemented)]
impl Writer {
    /// A writer with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes) }
    }

    /// Goes on after bytes that are there already (as if nothing had been written).
    pub fn append_to(out: Vec<u8>) -> Self {
        Self { out }
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        unimplemented!()
    }

    /// Closes it.
    pub fn end_object(&mut self) {
        unimplemented!()
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        unimplemented!()
    }

    /// Closes it.
    pub fn end_array(&mut self) {
        unimplemented!()
    }

    /// A member's name; a plain string (escaped by the writer).
    pub fn key(&mut self, name: &str) {
        unimplemented!()
    }

    /// A member's name that is escaped already.
    pub fn key_escaped(&mut self, name: &[u8]) {
        unimplemented!()
    }

    /// A plain string.
    pub fn string(&mut self, plain: &str) {
        unimplemented!()
    }

    /// Text, as it is.
    pub fn text(&mut self, text: &Text) {
        unimplemented!()
    }

    /// A string made of texts one after the other.
    pub fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t Text>) {
        unimplemented!()
    }

    /// A value, as it is.
    pub fn json(&mut self, json: &Json) {
        unimplemented!()
    }

    /// Bytes that are a valid value.
    pub fn raw(&mut self, valid: &[u8]) {
        unimplemented!()
    }

    /// A whole number.
    pub fn u64(&mut self, number: u64) {
        unimplemented!()
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        unimplemented!()
    }

    /// `null`.
    pub fn null(&mut self) {
        unimplemented!()
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }
}
