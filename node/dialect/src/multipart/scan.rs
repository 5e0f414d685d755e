//! Finds the parts of a form in bytes that come in any pieces.

use super::{Error, boundary::boundary, head};
use memchr::memmem::Finder;

/// Parts that a form may have.
pub(super) const PARTS_MAX: usize = 256;
/// Spaces behind a boundary.
const PADDING_MAX: usize = 64;
/// What is looked at at once.
const PIECE: usize = 64 * 1024;

/// A part of a form. Offsets are those of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: Box<str>,
    /// It has the name of a file.
    pub file: bool,
    /// Where the line with the boundary before it begins.
    pub begin: u64,
    /// Where its content begins.
    pub content: u64,
    /// Where its content ends, once that is known: two bytes before the next boundary.
    pub end: Option<u64>,
}

/// Finds the parts of a form. What it needs to see again of bytes that it was fed it keeps: a boundary, or a head.
#[derive(Debug)]
pub struct Scanner {
    /// Two hyphens and the boundary.
    dash: Box<[u8]>,
    finder: Finder<'static>,
    state: State,
    window: Vec<u8>,
    /// The offset of the window in the body.
    base: u64,
    /// What of the window has been looked at; two bytes before it are kept.
    at: usize,
    /// Where the last boundary was.
    begun: u64,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first boundary.
    Preamble,
    /// Behind a boundary, in its line.
    Line,
    /// Behind the hyphens of the last one.
    LastLine,
    Head,
    Content,
    /// Behind the last boundary.
    Epilogue,
}

impl Scanner {
    /// For a body of this type.
    pub fn new(content_type: &[u8]) -> Result<Self, Error> {
        let dash: Box<[u8]> = [b"--", &*boundary(content_type)?].concat().into();
        let finder = Finder::new(&dash).into_owned();
        let (state, parts) = (State::Preamble, Vec::new());
        Ok(Self { dash, finder, state, window: Vec::new(), base: 0, at: 0, begun: 0, parts })
    }

    /// The next bytes of the body.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for piece in bytes.chunks(PIECE) {
            self.window.extend_from_slice(piece);
            while self.step()? {}
            let looked = self.at.saturating_sub(2);
            self.window.drain(..looked);
            self.base += looked as u64;
            self.at -= looked;
        }
        Ok(())
    }

    /// The body has ended.
    pub fn finish(&self) -> Result<(), Error> {
        match self.state {
            State::Epilogue => Ok(()),
            // The line of the last boundary needs no end.
            State::LastLine if self.rest().iter().all(|byte| matches!(byte, b' ' | b'\t')) => Ok(()),
            _ => Err(Error::Unended),
        }
    }

    /// The parts so far whose heads are complete, the last of them perhaps without its end.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The part whose content comes.
    pub fn open(&self) -> Option<&Part> {
        self.parts.last().filter(|_| self.state == State::Content)
    }

    /// Two hyphens and the boundary.
    pub(super) fn dash(&self) -> &[u8] {
        &self.dash
    }

    fn rest(&self) -> &[u8] {
        self.window.get(self.at..).unwrap_or_default()
    }

    /// Goes one step on; false where that takes more bytes.
    fn step(&mut self) -> Result<bool, Error> {
        match self.state {
            State::Preamble | State::Content | State::Epilogue => self.seek(),
            State::Line if self.rest().starts_with(b"--") => {
                self.at += 2;
                self.state = State::LastLine;
                Ok(true)
            }
            State::Line if self.rest() == b"-" => Ok(false),
            State::Line => self.end_line(State::Head),
            State::LastLine => self.end_line(State::Epilogue),
            State::Head => self.head(),
        }
    }

    /// Looks for the next boundary.
    fn seek(&mut self) -> Result<bool, Error> {
        let Some(found) = self.finder.find(self.rest()) else {
            self.at = self.at.max((self.window.len() + 1).saturating_sub(self.dash.len()));
            return Ok(false);
        };
        let found = self.at + found;
        let at = self.base + found as u64;
        match &self.window[..found] {
            [.., b'\r', b'\n'] => {}
            [] if at == 0 => {}
            // A line's end for some.
            [.., b'\r' | b'\n'] => return Err(Error::BoundaryInside),
            _ => {
                self.at = found + 1;
                return Ok(true);
            }
        }
        match (self.state, self.parts.last_mut()) {
            (State::Epilogue, _) => return Err(Error::BehindEnd),
            (State::Content, Some(part)) if at < part.content + 2 => {
                return Err(Error::Head("does not end with a blank line"));
            }
            (State::Content, Some(part)) => part.end = Some(at - 2),
            _ => {}
        }
        (self.state, self.begun) = (State::Line, at);
        self.at = found + self.dash.len();
        Ok(true)
    }

    /// Reads the line of a boundary to its end.
    fn end_line(&mut self, next: State) -> Result<bool, Error> {
        let padding = self.rest().iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match self.rest().get(padding..).unwrap_or_default() {
            _ if padding > PADDING_MAX => Err(Error::BoundaryInside),
            [] | [b'\r'] => Ok(false),
            [b'\r', b'\n', ..] => {
                self.at += padding + 2;
                self.state = next;
                Ok(true)
            }
            _ => Err(Error::BoundaryInside),
        }
    }

    fn head(&mut self) -> Result<bool, Error> {
        let rest = self.rest();
        let found = memchr::memmem::find(rest, b"\r\n\r\n");
        if found.unwrap_or(rest.len().saturating_sub(3)) > head::HEAD_BYTES_MAX {
            return Err(Error::HeadTooLarge);
        }
        if rest.starts_with(b"\r\n") {
            return Err(Error::Head("is empty"));
        }
        let Some(length) = found else { return Ok(false) };
        let (name, file) = head::read(&rest[..length])?;
        if self.parts.len() >= PARTS_MAX {
            return Err(Error::TooManyParts);
        }
        let content = self.base + (self.at + length + 4) as u64;
        self.at += length + 4;
        self.parts.push(Part { name, file, begin: self.begun, content, end: None });
        self.state = State::Content;
        Ok(true)
    }
}
