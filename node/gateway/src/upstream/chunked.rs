//! The chunked transfer coding, as a decoder that takes its input in any cuts (RFC 9112, section 7.1).

/// Bytes of chunk extensions and trailers that are read over in one message.
const ASIDE_BYTES_MAX: u32 = 16 * 1024;

/// Decodes one body.
#[derive(Debug)]
pub(super) struct Chunked {
    at: At,
    left: u64,
    aside: u32,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The first digit of a size.
    FirstDigit,
    /// More digits, or what ends them.
    Digits,
    /// What follows the digits up to the end of the line.
    Extension,
    /// The line feed after a size.
    SizeEnd,
    /// The bytes of a chunk.
    Data,
    /// The carriage return after a chunk.
    DataEnd,
    /// The line feed after a chunk.
    DataEnd2,
    /// The first byte of a line after the last chunk.
    Trailer,
    /// The rest of such a line.
    TrailerLine,
    /// The line feed that ends the body.
    End,
    /// Nothing.
    Ended,
}

/// The input is not in the chunked coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the chunks of the body make no sense")]
pub(super) struct NotChunked;

impl Chunked {
    pub(super) fn new() -> Self {
        Self { at: At::FirstDigit, left: 0, aside: 0 }
    }

    /// Whether the end of the body has been read.
    pub(super) fn is_ended(&self) -> bool {
        self.at == At::Ended
    }

    /// Appends the data in `input` to `out`; how many bytes of the input belong to this body.
    pub(super) fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, NotChunked> {
        let mut used = 0;
        while let Some(&byte) = input.get(used) {
            if self.at == At::Ended {
                break;
            }
            if self.at == At::Data {
                let data = &input[used..];
                let data =
                    &data[..usize::try_from(self.left).map_or(data.len(), |left| left.min(data.len()))];
                out.extend_from_slice(data);
                used += data.len();
                self.left -= data.len() as u64;
                if self.left == 0 {
                    self.at = At::DataEnd;
                }
                continue;
            }
            self.at = self.step(byte)?;
            used += 1;
        }
        Ok(used)
    }

    fn step(&mut self, byte: u8) -> Result<At, NotChunked> {
        Ok(match (self.at, byte) {
            (At::FirstDigit | At::Digits, digit) if digit.is_ascii_hexdigit() => {
                let digit = char::from(digit).to_digit(16).ok_or(NotChunked)?;
                self.left = self.left.checked_mul(16).ok_or(NotChunked)? + u64::from(digit);
                At::Digits
            }
            (At::Digits | At::Extension, b'\r') => At::SizeEnd,
            (At::Digits, b';' | b' ' | b'\t') => At::Extension,
            // A lone line feed here would end the line for others.
            (At::Extension, byte) if byte != b'\n' => self.aside(At::Extension)?,
            (At::SizeEnd, b'\n') if self.left == 0 => At::Trailer,
            (At::SizeEnd, b'\n') => At::Data,
            (At::DataEnd, b'\r') => At::DataEnd2,
            (At::DataEnd2, b'\n') => At::FirstDigit,
            (At::Trailer, b'\r') => At::End,
            (At::TrailerLine, b'\n') => At::Trailer,
            (At::Trailer | At::TrailerLine, _) => self.aside(At::TrailerLine)?,
            (At::End, b'\n') => At::Ended,
            _ => return Err(NotChunked),
        })
    }

    fn aside(&mut self, at: At) -> Result<At, NotChunked> {
        self.aside += 1;
        if self.aside > ASIDE_BYTES_MAX { Err(NotChunked) } else { Ok(at) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8], cut: usize) -> Result<(Vec<u8>, usize, bool), NotChunked> {
        let (mut chunked, mut out, mut used) = (Chunked::new(), Vec::new(), 0);
        for part in input.chunks(cut) {
            used += chunked.decode(part, &mut out)?;
        }
        Ok((out, used, chunked.is_ended()))
    }

    #[test]
    fn any_cuts_give_the_same() {
        let body =
            b"5\r\nhello\r\n1;name=\"v\"\r\n,\r\n0007 \r\n world!\r\n0\r\nExpires: never\r\nx: y\r\n\r\n";
        let input = [&body[..], b"HTTP/1.1"].concat();
        for cut in 1..input.len() {
            assert_eq!(
                decode(&input, cut),
                Ok((b"hello, world!".to_vec(), body.len(), true)),
                "cut at {cut}"
            );
        }
        for end in 0..body.len() {
            let (out, used, ended) = decode(&body[..end], 9).unwrap();
            assert!(b"hello, world!".starts_with(&out) && used == end && !ended, "ended at {end}");
        }
    }

    #[test]
    fn what_is_not_chunked_is_an_error() {
        for input in [
            &b"\r\n"[..],
            b"g\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n",
            b"1\na\r\n",
            b"1;x\na\r\n",
            b"1\r\nab\r\n",
            b"1\r\na\n",
            b"1\rx",
            b"10000000000000000\r\n",
            b"0\r\n\rx",
            b"{\"error\":1}",
        ] {
            assert_eq!(decode(input, 1), Err(NotChunked), "{}", String::from_utf8_lossy(input));
        }
        assert_eq!(decode(b"ffffffffffffffff\r\nabc", 4), Ok((b"abc".to_vec(), 21, false)));
    }

    #[test]
    fn extensions_and_trailers_are_bounded() {
        let long = "x".repeat(ASIDE_BYTES_MAX as usize);
        for (input, good) in [
            (format!("1;{long}\r\na\r\n"), true),
            (format!("1;{long}x\r\na\r\n"), false),
            (format!("1;{long}\r\na\r\n0\r\nx: y\r\n\r\n"), false),
            (format!("0\r\n{long}x: y\r\n\r\n"), false),
        ] {
            assert_eq!(decode(input.as_bytes(), 1000).is_ok(), good, "{} bytes", input.len());
        }
    }
}
