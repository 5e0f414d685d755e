//! Writes JSON into a byte vector; commas are kept by the writer.

use super::escape;
use crate::ir::{Json, Text};

/// A writer: `begin_object`, `key`, values, `end_object`. Each value puts the comma it needs before itself.
#[derive(Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
    /// Where the writer's own bytes begin.
    start: usize,
    layout: Layout,
}

/// What becomes of line ends between the tokens of a value that is written as it is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// They stay.
    #[default]
    Kept,
    /// They become spaces: a server-sent event ends where its line ends.
    OneLine,
}

impl Writer {
    /// A writer with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes), start: 0, layout: Layout::Kept }
    }

    /// Goes on in a line that has begun, behind `data: ` (as if nothing had been written), and does not end it.
    pub fn append_to(out: Vec<u8>) -> Self {
        Self { start: out.len(), out, layout: Layout::OneLine }
    }

    /// Opens an object.
    pub fn begin_object(&mut self) {
        self.raw(b"{");
    }

    /// Closes it.
    pub fn end_object(&mut self) {
        self.out.push(b'}');
    }

    /// Opens an array.
    pub fn begin_array(&mut self) {
        self.raw(b"[");
    }

    /// Closes it.
    pub fn end_array(&mut self) {
        self.out.push(b']');
    }

    /// A member's name; a plain string (escaped by the writer).
    pub fn key(&mut self, name: &str) {
        self.string(name);
        self.out.push(b':');
    }

    /// A member's name that is escaped already.
    pub fn key_escaped(&mut self, name: &[u8]) {
        self.quoted([name]);
        self.out.push(b':');
    }

    /// A plain string.
    pub fn string(&mut self, plain: &str) {
        self.raw(b"\"");
        escape(plain, &mut self.out);
        self.out.push(b'"');
    }

    /// Text, as it is.
    pub fn text(&mut self, text: &Text) {
        self.quoted([text.escaped()]);
    }

    /// A string made of texts one after the other.
    pub fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t Text>) {
        self.quoted(texts.into_iter().map(Text::escaped));
    }

    /// A value, as it is.
    pub fn json(&mut self, json: &Json) {
        self.raw(json.bytes());
    }

    /// Bytes that are a valid value.
    pub fn raw(&mut self, valid: &[u8]) {
        self.comma();
        let from = self.out.len();
        self.out.extend_from_slice(valid);
        if self.layout == Layout::OneLine && memchr::memchr2(b'\n', b'\r', valid).is_some() {
            // Inside of a string none can stand.
            self.out[from..].iter_mut().filter(|b| matches!(b, b'\n' | b'\r')).for_each(|b| *b = b' ');
        }
    }

    /// A whole number.
    pub fn u64(&mut self, number: u64) {
        self.raw(itoa::Buffer::new().format(number).as_bytes());
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.raw(if value { b"true" } else { b"false" });
    }

    /// `null`.
    pub fn null(&mut self) {
        self.raw(b"null");
    }

    /// What was written.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    fn quoted<'t>(&mut self, escaped: impl IntoIterator<Item = &'t [u8]>) {
        self.raw(b"\"");
        for part in escaped {
            self.out.extend_from_slice(part);
        }
        self.out.push(b'"');
    }

    /// The last byte tells: a value can end in none of those that may stand before the first one of a container or
    /// behind a name.
    fn comma(&mut self) {
        let written = &self.out[self.start..];
        if !matches!(written.last(), None | Some(b'{' | b'[' | b':')) {
            self.out.push(b',');
        }
    }
}
