//! Content encodings of answers: none, gzip, or Brotli in stored blocks.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use super::behaviour::Behaviour;

/// Encodes a body piece by piece; each piece can be decoded as soon as it has arrived.
pub(crate) enum Encoder {
    /// As it is.
    Plain,
    /// gzip, flushed after each piece.
    Gzip(GzEncoder<Vec<u8>>),
    /// Brotli stored blocks (RFC 7932, section 9.2), after as many bits of stream header as are due.
    Brotli { header_bits: u32 },
}

impl Encoder {
    pub(crate) fn new(behaviour: &Behaviour) -> Self {
        if behaviour.has("gzip") {
            Self::Gzip(GzEncoder::new(Vec::new(), Compression::default()))
        } else if behaviour.has("br") {
            Self::Brotli { header_bits: 1 }
        } else {
            Self::Plain
        }
    }

    /// The `content-encoding` to announce.
    pub(crate) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Gzip(_) => Some("gzip"),
            Self::Brotli { .. } => Some("br"),
        }
    }

    /// Encodes one piece. Writing to memory cannot fail.
    pub(crate) fn piece(&mut self, data: &[u8]) -> Bytes {
        match self {
            Self::Plain => Bytes::copy_from_slice(data),
            Self::Gzip(gzip) => {
                let _ = gzip.write_all(data);
                let _ = gzip.flush();
                std::mem::take(gzip.get_mut()).into()
            }
            Self::Brotli { .. } if data.is_empty() => Bytes::new(),
            Self::Brotli { header_bits } => stored_blocks(data, std::mem::take(header_bits)).into(),
        }
    }

    /// What ends the body.
    pub(crate) fn end(self) -> Bytes {
        match self {
            Self::Plain => Bytes::new(),
            Self::Gzip(gzip) => gzip.finish().unwrap_or_default().into(),
            Self::Brotli { .. } => Bytes::from_static(&[3]),
        }
    }
}

/// The block header is, from the lowest bit: the window (one 0 bit, in the first block only), "last" (0), the
/// size of the length (00: four nibbles), the length less one, and "uncompressed" (1).
fn stored_blocks(data: &[u8], header_bits: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 8);
    let mut shift = header_bits;
    for block in data.chunks(1 << 16) {
        let length = u32::try_from(block.len() - 1).unwrap_or(0);
        let header = (length << 3 | 1 << 19) << shift;
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
        shift = 0;
    }
    out
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn gzip_pieces_decode() {
        let mut encoder = Encoder::new(&Behaviour::parse("gzip").unwrap());
        let mut all = encoder.piece(b"one ").to_vec();
        all.extend(encoder.piece(b"two"));
        all.extend(encoder.end());
        let mut text = String::new();
        flate2::read::GzDecoder::new(&all[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }

    #[test]
    fn brotli_stored_block_has_the_layout_of_the_rfc() {
        // 21 header bits: 0, 0, 00, 0000000000000010, 1; then "abc"; then the empty last block.
        assert_eq!(stored_blocks(b"abc", 1), [0x20, 0, 0x10, b'a', b'b', b'c']);
        assert_eq!(stored_blocks(b"abc", 0), [0x10, 0, 0x08, b'a', b'b', b'c']);
    }
}
