//! Numbers and texts as bytes: small numbers are short, and reading never goes beyond the end.

/// Most bytes of a number.
pub(crate) const NUMBER_BYTES_MAX: usize = 10;

/// Seven bits a byte, the lowest first; the top bit says that more follow (LEB128).
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The length, then the bytes; cut at the last whole character within so many bytes.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str, bytes_max: usize) {
    let text = &text[..text.floor_char_boundary(bytes_max)];
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Bytes that are read from the front. `None` where they end too soon or do not make sense.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that is a length or a count.
    pub(crate) fn count(&mut self, max: usize) -> Option<usize> {
        self.number()?.try_into().ok().filter(|count| *count <= max)
    }

    /// Steps over texts, whatever is in them.
    pub(crate) fn skip_texts(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            let bytes = self.count(self.0.len())?;
            self.bytes(bytes)?;
        }
        Some(())
    }

    /// Steps over numbers.
    pub(crate) fn skip_numbers(&mut self, count: usize) -> Option<()> {
        for _ in 0..count {
            let length = self.0.iter().position(|byte| *byte < 0x80)? + 1;
            self.bytes(length)?;
        }
        Some(())
    }

    pub(crate) fn text(&mut self, bytes_max: usize) -> Option<&'a str> {
        let count = self.count(bytes_max)?;
        std::str::from_utf8(self.bytes(count)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, number);
            assert!(out.len() <= NUMBER_BYTES_MAX);
            for cut in 0..out.len() {
                assert_eq!(Reader(&out[..cut]).number(), None, "{number} of {cut} bytes");
            }
            assert_eq!(Reader(&out).number(), Some(number));
        }
        assert_eq!(Reader(&[0xFF; 10]).number(), None, "too large");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        for (text, max, expected) in [("", 3, ""), ("abc", 3, "abc"), ("abcd", 3, "abc"), ("aéé", 4, "aé")]
        {
            let mut out = Vec::new();
            put_text(&mut out, text, max);
            assert_eq!(Reader(&out).text(max), Some(expected));
        }
    }
}
