//! The headers of a request, as a map or where they lie in its head.

use bytes::Bytes;
use http::HeaderMap;
use smallvec::SmallVec;

/// The headers of a request.
#[derive(Debug)]
pub enum Headers {
    /// A map.
    Map(HeaderMap),
    /// Lines of an HTTP/1 head, read in place: the pipeline looks at few of them, and a map costs more to fill than
    /// these looks.
    Lines(Lines),
}

/// The header lines of an HTTP/1 head.
#[derive(Debug)]
pub struct Lines {
    head: Bytes,
    lines: SmallVec<[Line; 24]>,
}

/// Where a name and its value lie. A head is never larger than offsets of this size can tell.
#[derive(Debug, Clone, Copy)]
struct Line {
    name: (u16, u16),
    value: (u16, u16),
}

impl Lines {
    /// Lines of `head`, each as name and value; `None` if one lies outside of it.
    pub fn new<'a>(head: &'a [u8], lines: impl Iterator<Item = (&'a str, &'a [u8])>) -> Option<Self> {
        let within = |part: &[u8]| {
            let at = (part.as_ptr() as usize).checked_sub(head.as_ptr() as usize)?;
            let end = at.checked_add(part.len()).filter(|end| *end <= head.len())?;
            Some((u16::try_from(at).ok()?, u16::try_from(end).ok()?))
        };
        let line = |(name, value): (&str, &[u8])| {
            // An empty value may lie anywhere.
            let value = if value.is_empty() { (0, 0) } else { within(value)? };
            Some(Line { name: within(name.as_bytes())?, value })
        };
        let lines = lines.map(line).collect::<Option<_>>()?;
        Some(Self { head: Bytes::copy_from_slice(head), lines })
    }

    fn part(&self, (at, end): (u16, u16)) -> &[u8] {
        self.head.get(usize::from(at)..usize::from(end)).unwrap_or_default()
    }

    fn get_all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.lines.iter().filter_map(move |line| {
            let same = usize::from(line.name.1 - line.name.0) == name.len()
                && self.part(line.name).eq_ignore_ascii_case(name.as_bytes());
            same.then(|| self.part(line.value))
        })
    }
}

impl Headers {
    /// The first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&[u8]> {
        match self {
            Self::Map(map) => map.get(name).map(http::HeaderValue::as_bytes),
            Self::Lines(lines) => lines.get_all(name).next(),
        }
    }

    /// The first value of a name, if it is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// All values of a name.
    pub(crate) fn get_all(&self, name: &str) -> SmallVec<[&[u8]; 2]> {
        match self {
            Self::Map(map) => map.get_all(name).iter().map(http::HeaderValue::as_bytes).collect(),
            Self::Lines(lines) => lines.get_all(name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_say_the_same() {
        let head =
            b"POST / HTTP/1.1\r\nX-Api-Key: abc\r\nempty:\r\nbeta: 1\r\nBETA: 2\r\nbytes: \xff\r\n\r\n";
        let mut parsed = [httparse::EMPTY_HEADER; 8];
        let mut request = httparse::Request::new(&mut parsed);
        request.parse(head).unwrap();
        let lines = Lines::new(head, request.headers.iter().map(|h| (h.name, h.value))).unwrap();
        let mut map = HeaderMap::new();
        for header in request.headers.iter() {
            map.append(
                http::HeaderName::from_bytes(header.name.as_bytes()).unwrap(),
                http::HeaderValue::from_bytes(header.value).unwrap(),
            );
        }
        for headers in [Headers::Lines(lines), Headers::Map(map)] {
            assert_eq!(headers.text("x-api-key"), Some("abc"));
            assert_eq!(headers.get("empty"), Some(&b""[..]));
            assert_eq!(headers.get_all("beta")[..], [b"1", b"2"]);
            assert_eq!((headers.get("bytes"), headers.text("bytes")), (Some(&b"\xff"[..]), None));
            assert_eq!(headers.get("x-api-ke"), None);
            assert!(headers.get_all("x-none").is_empty());
        }
    }

    #[test]
    fn a_line_must_lie_in_its_head() {
        let head = b"a: b\r\n\r\n".to_vec();
        let elsewhere = b"a: b\r\n\r\n".to_vec();
        let name = std::str::from_utf8(&elsewhere[..1]).unwrap();
        assert!(Lines::new(&head, [(name, &elsewhere[3..4])].into_iter()).is_none());
    }
}
