//! Reads one answer: the head, then a body with a length or in chunks, as cheaply as can be.

use crate::wire::{Framing, Head, number};

/// Bytes of the body's end that are kept.
const TAIL: usize = 64;
/// Bytes that a head may have.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// What is left of an answer: enough to tell a good one.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Bytes of the body, without chunk heads.
    pub(super) bytes: usize,
    tail: [u8; TAIL],
}

impl Answer {
    /// The last bytes of the body.
    pub(super) fn tail(&self) -> &[u8] {
        &self.tail[TAIL - self.bytes.min(TAIL)..]
    }

    fn take(&mut self, data: &[u8]) {
        self.bytes += data.len();
        if data.len() >= TAIL {
            self.tail.copy_from_slice(&data[data.len() - TAIL..]);
        } else {
            self.tail.rotate_left(data.len());
            self.tail[TAIL - data.len()..].copy_from_slice(data);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head,
    /// Bytes of the body to come.
    Length(usize),
    /// The size read so far of a chunk.
    Size(usize),
    /// Bytes of the chunk to come.
    Chunk(usize),
    /// Bytes of the line end behind a chunk.
    ChunkEnd(usize),
    /// Bytes of the last line end.
    End(usize),
    Done,
}

/// Takes an answer piece by piece. Trailers are not understood: the mock and the gateway send none.
#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    head: Vec<u8>,
    answer: Answer,
}

impl Reader {
    pub(super) fn new() -> Self {
        let answer = Answer { status: 0, bytes: 0, tail: [0; TAIL] };
        Self { state: State::Head, head: Vec::with_capacity(1024), answer }
    }

    /// Makes it ready for the next answer.
    pub(super) fn reset(&mut self) {
        self.state = State::Head;
        self.head.clear();
        self.answer.bytes = 0;
        self.answer.status = 0;
    }

    /// Takes what was read. True once the answer is complete.
    ///
    /// # Errors
    /// Where this is no HTTP answer.
    pub(super) fn take(&mut self, mut data: &[u8]) -> Result<bool, &'static str> {
        if self.state == State::Head {
            // Mostly the head comes in one piece and need not be copied.
            let found = if self.head.is_empty() { Head::find(data) } else { None };
            let (head, kept) = match found {
                Some(head) => (head, 0),
                None => {
                    let kept = self.head.len();
                    self.head.extend_from_slice(data);
                    match Head::find(&self.head) {
                        Some(head) => (head, kept),
                        None if self.head.len() > HEAD_BYTES_MAX => return Err("a head without an end"),
                        None => return Ok(false),
                    }
                }
            };
            let start = if kept == 0 { data } else { &self.head };
            let status = number(start.get(9..12).ok_or("no status line")?);
            self.answer.status = u16::try_from(status).map_err(|_| "no status line")?;
            data = &data[head.bytes - kept..];
            self.state = match head.framing {
                Framing::Length(0) => State::Done,
                Framing::Length(length) => State::Length(length),
                Framing::Chunked => State::Size(0),
            };
        }
        while !data.is_empty() && self.state != State::Done {
            data = &data[self.step(data)?..];
        }
        if data.is_empty() { Ok(self.state == State::Done) } else { Err("bytes behind the answer") }
    }

    /// Takes the next part of the body; returns how many bytes that was.
    fn step(&mut self, data: &[u8]) -> Result<usize, &'static str> {
        let part = |wanted: usize| wanted.min(data.len());
        let (next, taken) = match self.state {
            State::Length(left) | State::Chunk(left) => {
                let taken = part(left);
                self.answer.take(&data[..taken]);
                let next = match (self.state, left - taken) {
                    (State::Length(_), 0) => State::Done,
                    (State::Length(_), left) => State::Length(left),
                    (_, 0) => State::ChunkEnd(2),
                    (_, left) => State::Chunk(left),
                };
                (next, taken)
            }
            State::Size(size) => match data.first().copied().unwrap_or(b'\r') {
                b'\r' => (State::Size(size), 1),
                b'\n' if size == 0 => (State::End(2), 1),
                b'\n' => (State::Chunk(size), 1),
                digit => {
                    let digit = char::from(digit).to_digit(16).ok_or("no chunk size")?;
                    let size = size.checked_mul(16).ok_or("a chunk too large")?;
                    (State::Size(size + digit as usize), 1)
                }
            },
            State::ChunkEnd(left) if left > part(left) => (State::ChunkEnd(left - part(left)), part(left)),
            State::ChunkEnd(left) => (State::Size(0), left),
            State::End(left) if left > part(left) => (State::End(left - part(left)), part(left)),
            State::End(left) => (State::Done, left),
            State::Head | State::Done => (self.state, 0),
        };
        self.state = next;
        Ok(taken)
    }

    /// The answer, once it is complete.
    pub(super) fn answer(&self) -> &Answer {
        &self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_however_they_are_cut() {
        let check = |text: &str, bytes: usize, tail: &str| {
            for cut in 1..text.len() {
                let mut reader = Reader::new();
                for _ in 0..2 {
                    reader.reset();
                    let (first, second) = text.as_bytes().split_at(cut);
                    assert_eq!(reader.take(first), Ok(false), "{cut}");
                    assert_eq!(reader.take(second), Ok(true), "{cut}");
                    let answer = reader.answer();
                    assert_eq!((answer.status, answer.bytes), (200, bytes));
                    assert_eq!(std::str::from_utf8(answer.tail()).unwrap(), tail);
                }
            }
        };
        check("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 5, "hello");
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
            29,
            "abcabcdefghijklmnopqrstuvwxyz",
        );
    }

    #[test]
    fn long_bodies_keep_their_end() {
        let mut reader = Reader::new();
        reader.take(b"HTTP/1.1 200 OK\r\ncontent-length: 205\r\n\r\n").unwrap();
        reader.take(&[b'a'; 200]).unwrap();
        assert_eq!(reader.take(b"the e"), Ok(true));
        assert!(reader.answer().tail().ends_with(b"aathe e"));
        assert_eq!(reader.answer().tail().len(), TAIL);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        let check = |text: &str| assert!(Reader::new().take(text.as_bytes()).is_err(), "{text}");
        check("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab");
        check("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz");
    }
}
