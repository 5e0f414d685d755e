//! A stream for clients of Gemini that do not ask for server-sent events: one JSON array, an element for each event.

use trestle_dialect::Framing;

/// An array that is being written.
#[derive(Debug, Default)]
pub(crate) struct Array {
    elements: u64,
}

impl Array {
    /// Whole events as elements.
    pub(crate) fn elements(&mut self, events: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(events.len());
        for data in Framing::Sse.events(events).filter_map(|event| event.data) {
            out.extend_from_slice(if self.elements == 0 { b"[" } else { b",\r\n" });
            out.extend_from_slice(&data);
            self.elements += 1;
        }
        out
    }

    /// What closes it.
    pub(crate) fn end(&self) -> &'static [u8] {
        if self.elements == 0 { b"[]" } else { b"]" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_elements() {
        let mut array = Array::default();
        assert_eq!(array.end(), b"[]");
        let mut out = array.elements(b": alive\n\n");
        out.append(&mut array.elements(b"data: {\"a\":1}\n\ndata: {\"b\":2}\r\n\r\n"));
        out.append(&mut array.elements(b"data: {\"c\":3}\n\n"));
        out.extend_from_slice(array.end());
        assert_eq!(String::from_utf8(out).unwrap(), "[{\"a\":1},\r\n{\"b\":2},\r\n{\"c\":3}]");
    }
}
