//! Checks bytes against the grammar of RFC 8259, strictly and without recursion.

use super::{Error, ErrorKind, string};
use crate::hints::Hints;
use std::ops::Range;

/// Containers within each other, the outermost included.
const DEPTH_MAX: u32 = 128;

/// A place in a text that is checked from the front to the back.
pub(crate) struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// One bit for each open container, the innermost lowest: 1 is an object.
    objects: u128,
    depth: u32,
    hints: Hints,
}

impl<'a> Scan<'a> {
    /// Starts at the first byte that is not white space. All bytes are checked to be UTF-8 first.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        if simdutf8::basic::from_utf8(bytes).is_err() {
            let at = simdutf8::compat::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
            return Err(Error::new(ErrorKind::Utf8, bytes, at));
        }
        let mut scan = Self { bytes, at: 0, objects: 0, depth: 0, hints: Hints::default() };
        if bytes.starts_with(b"\xef\xbb\xbf") {
            return Err(scan.wrong("a byte-order mark is not allowed before JSON"));
        }
        scan.space();
        Ok(scan)
    }

    /// The offset of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// What the strings so far tell.
    pub(crate) fn hints(&self) -> Hints {
        self.hints
    }

    /// Checks that only white space follows.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.wrong("expected nothing after the value")) }
    }

    /// Steps into the object that begins here; `false` if it is empty, and then steps out of it again.
    pub(crate) fn enter_object(&mut self) -> Result<bool, Error> {
        if self.peek() != b'{' {
            return Err(self.wrong("expected an object"));
        }
        self.open(b'{')?;
        let empty = self.peek() == b'}';
        if empty {
            self.close();
        }
        Ok(!empty)
    }

    /// After a member's value: `true` if another member follows, `false` if the object has ended.
    pub(crate) fn next_member(&mut self) -> Result<bool, Error> {
        self.space();
        match self.peek() {
            b',' => {
                self.at += 1;
                self.space();
                Ok(true)
            }
            b'}' => {
                self.close();
                Ok(false)
            }
            _ => Err(self.wrong("expected `,` or `}` after a member")),
        }
    }

    /// A member's name and the colon after it. The span is the inside of the name.
    pub(crate) fn name(&mut self) -> Result<Range<usize>, Error> {
        if self.peek() != b'"' {
            return Err(self.wrong("expected a member's name in double quotes"));
        }
        let start = self.at + 1;
        self.string()?;
        let end = self.at - 1;
        self.space();
        if self.peek() != b':' {
            return Err(self.wrong("expected `:` after a member's name"));
        }
        self.at += 1;
        self.space();
        Ok(start..end)
    }

    /// A value of any kind; its span.
    pub(crate) fn value(&mut self) -> Result<Range<usize>, Error> {
        let (start, outside) = (self.at, self.depth);
        loop {
            match self.peek() {
                b'"' => self.string()?,
                open @ (b'{' | b'[') => {
                    self.open(open)?;
                    // the closing one lies two behind the opening one in ASCII
                    if self.peek() == open + 2 {
                        self.close();
                    } else {
                        self.element_start()?;
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return Err(self.wrong("expected a value")),
            }
            if !self.after_value(outside)? {
                return Ok(start..self.at);
            }
        }
    }

    /// Closes what ends after a value. `true` if another value follows inside of the containers that were opened
    /// since the depth was `outside`, `false` if they are all closed.
    fn after_value(&mut self, outside: u32) -> Result<bool, Error> {
        while self.depth > outside {
            self.space();
            match (self.peek(), self.objects & 1 == 1) {
                (b',', _) => {
                    self.at += 1;
                    self.space();
                    self.element_start()?;
                    return Ok(true);
                }
                (b'}', true) | (b']', false) => self.close(),
                (_, true) => return Err(self.wrong("expected `,` or `}` after a member")),
                (_, false) => return Err(self.wrong("expected `,` or `]` after an element")),
            }
        }
        Ok(false)
    }

    /// In an object, the name that stands before a value; in an array nothing.
    fn element_start(&mut self) -> Result<(), Error> {
        if self.objects & 1 == 1 {
            self.name()?;
        }
        Ok(())
    }

    fn open(&mut self, open: u8) -> Result<(), Error> {
        if self.depth == DEPTH_MAX {
            return Err(Error::new(ErrorKind::TooDeep, self.bytes, self.at));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(open == b'{');
        self.at += 1;
        self.space();
        Ok(())
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.objects >>= 1;
        self.at += 1;
    }

    fn string(&mut self) -> Result<(), Error> {
        match string::checked_end(self.bytes, self.at + 1) {
            Some(end) => {
                self.hints.note(self.bytes.get(self.at + 1..end - 1).unwrap_or_default());
                self.at = end;
                Ok(())
            }
            None => {
                let (at, why) = string::first_fault(self.bytes, self.at + 1);
                Err(Error::new(ErrorKind::Syntax(why), self.bytes, at))
            }
        }
    }

    fn number(&mut self) -> Result<(), Error> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
            if self.peek().is_ascii_digit() {
                return Err(self.wrong("a number must not begin with 0"));
            }
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Error> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.wrong("expected a digit")) }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Error> {
        if self.bytes.get(self.at..self.at + word.len()) != Some(word) {
            return Err(self.wrong("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    /// The next byte; 0, which no grammar rule takes, at the end.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[cold]
    fn wrong(&self, why: &'static str) -> Error {
        let why = if self.at >= self.bytes.len() { "unexpected end of the text" } else { why };
        Error::new(ErrorKind::Syntax(why), self.bytes, self.at)
    }
}
