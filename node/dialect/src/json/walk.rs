//! Steps over the parts of a value that was checked before. Of bytes that are not valid it makes an early end.

use super::{Member, Raw, string};

/// A place inside an object or array.
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    /// Stands behind the opening bracket, or at the end if the value does not begin with it.
    pub(super) fn into(bytes: &'a [u8], open: u8) -> Self {
        Self { bytes, at: if bytes.first() == Some(&open) { 1 } else { bytes.len() } }
    }

    /// The next member.
    pub(super) fn member(&mut self) -> Option<Member<'a>> {
        self.space_and_comma();
        if self.peek() != b'"' {
            return None;
        }
        let start = self.at + 1;
        let end = string::end(self.bytes, start)?;
        self.at = end;
        self.space();
        if self.peek() != b':' {
            return None;
        }
        self.at += 1;
        self.space();
        Some(Member { key: self.bytes.get(start..end - 1)?, value: self.value()? })
    }

    /// Whether the object ends here and with it the bytes.
    pub(super) fn closed(&mut self) -> bool {
        self.space();
        self.peek() == b'}' && self.at + 1 == self.bytes.len()
    }

    /// The next element.
    pub(super) fn element(&mut self) -> Option<Raw<'a>> {
        self.space_and_comma();
        self.value()
    }

    fn value(&mut self) -> Option<Raw<'a>> {
        let start = self.at;
        match self.peek() {
            b'"' => self.at = string::end(self.bytes, start + 1)?,
            b'{' | b'[' => self.container()?,
            _ => self.scalar(),
        }
        // a value without bytes ends the walk
        self.bytes.get(start..self.at).filter(|value| !value.is_empty()).map(Raw::from_valid)
    }

    fn container(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match *self.bytes.get(self.at)? {
                b'"' => {
                    self.at = string::end(self.bytes, self.at + 1)?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn scalar(&mut self) {
        while !matches!(self.peek(), 0..=b' ' | b',' | b']' | b'}') {
            self.at += 1;
        }
    }

    fn space_and_comma(&mut self) {
        self.space();
        if self.peek() == b',' {
            self.at += 1;
            self.space();
        }
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }
}
