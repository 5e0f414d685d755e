//! Just enough HTTP/1.1 framing for prebuilt messages: where a message ends.

use memchr::memmem;

/// How the body of a message is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
}

/// The head of a message in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes up to and with the empty line.
    pub(crate) bytes: usize,
    pub(crate) framing: Framing,
}

impl Head {
    /// Finds a complete head at the start of the buffer.
    pub(crate) fn find(buffer: &[u8]) -> Option<Self> {
        let bytes = memmem::find(buffer, b"\r\n\r\n")? + 4;
        let mut framing = Framing::Length(0);
        for line in buffer[..bytes].split(|byte| *byte == b'\n') {
            if let Some(value) = value_of(line, b"content-length:") {
                framing = Framing::Length(usize::try_from(number(value)).ok()?);
            } else if value_of(line, b"transfer-encoding:").is_some() {
                framing = Framing::Chunked;
                break;
            }
        }
        Some(Self { bytes, framing })
    }

    /// Where the message ends, once it is complete. The end of a chunked body is taken to be the end of the
    /// buffer, which holds for peers that send no second message before they have their answer.
    pub(crate) fn message_end(&self, buffer: &[u8]) -> Option<usize> {
        match self.framing {
            Framing::Length(length) => Some(self.bytes + length).filter(|end| *end <= buffer.len()),
            Framing::Chunked => buffer[self.bytes..].ends_with(b"0\r\n\r\n").then_some(buffer.len()),
        }
    }
}

fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let matches = line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name);
    matches.then(|| line[name.len()..].trim_ascii_start())
}

/// The decimal number at the start; 0 where there is none.
pub(crate) fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_end_where_their_framing_says() {
        let check = |text: &str, end: Option<usize>| {
            let head = Head::find(text.as_bytes());
            assert_eq!(head.and_then(|head| head.message_end(text.as_bytes())), end, "{text}");
        };
        check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", Some(41));
        check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", None);
        check("GET / HTTP/1.1\r\n\r\nrest", Some(18));
        check("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", Some(58));
        check("POST / HTTP/1.1\r\nhost: x", None);
    }
}
