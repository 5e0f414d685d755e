//! Compressed answers and requests, expanded within a bound.

use flate2::write::{GzDecoder, ZlibDecoder};
use std::io::{self, Write};

/// What a `content-encoding` header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Not compressed.
    Identity,
    /// gzip.
    Gzip,
    /// zlib.
    Deflate,
    /// Brotli.
    Brotli,
    /// Something that we cannot expand.
    Unknown,
}

impl Encoding {
    /// Reads the value of the header.
    pub(crate) fn of(value: &[u8]) -> Self {
        match value {
            b"identity" | b"" => Self::Identity,
            b"gzip" | b"x-gzip" => Self::Gzip,
            b"deflate" => Self::Deflate,
            b"br" => Self::Brotli,
            _ => Self::Unknown,
        }
    }
}

/// Expands one body as its chunks come.
pub(crate) struct Inflate {
    decoder: Decoder,
    left: u64,
}

enum Decoder {
    Gzip(GzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
    Brotli(Box<brotli_decompressor::DecompressorWriter<Vec<u8>>>),
}

/// Why a body could not be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InflateError {
    /// It is not what its header says.
    #[error("the body is not valid for its content-encoding")]
    Corrupt,
    /// It grows beyond the bound.
    #[error("the body is larger than allowed once it is decompressed")]
    TooLarge,
    /// We do not know the encoding.
    #[error("content-encoding is not one of gzip, deflate, br")]
    Unknown,
}

impl Inflate {
    /// For a body in that encoding; `None` where there is nothing to expand.
    pub(crate) fn new(encoding: Encoding, bytes_max: u64) -> Result<Option<Self>, InflateError> {
        let decoder = match encoding {
            Encoding::Identity => return Ok(None),
            Encoding::Gzip => Decoder::Gzip(GzDecoder::new(Vec::new())),
            Encoding::Deflate => Decoder::Deflate(ZlibDecoder::new(Vec::new())),
            Encoding::Brotli => {
                Decoder::Brotli(Box::new(brotli_decompressor::DecompressorWriter::new(Vec::new(), 4096)))
            }
            Encoding::Unknown => return Err(InflateError::Unknown),
        };
        Ok(Some(Self { decoder, left: bytes_max }))
    }

    /// Expands one chunk. A bomb is stopped after each 4 KB of input, so that what is held stays near the bound.
    pub(crate) fn push(&mut self, chunk: &[u8]) -> Result<Vec<u8>, InflateError> {
        let mut out = Vec::new();
        for part in chunk.chunks(4096) {
            self.write(part).map_err(|_| InflateError::Corrupt)?;
            let more = std::mem::take(self.output());
            self.left = self.left.checked_sub(more.len() as u64).ok_or(InflateError::TooLarge)?;
            if out.is_empty() { out = more } else { out.extend_from_slice(&more) }
        }
        Ok(out)
    }

    /// The rest, once the input has ended; an input that was cut off is an error.
    pub(crate) fn finish(&mut self) -> Result<Vec<u8>, InflateError> {
        let ended = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Deflate(decoder) => decoder.try_finish(),
            Decoder::Brotli(decoder) => decoder.close(),
        };
        ended.map_err(|_| InflateError::Corrupt)?;
        let rest = std::mem::take(self.output());
        self.left = self.left.checked_sub(rest.len() as u64).ok_or(InflateError::TooLarge)?;
        Ok(rest)
    }

    fn write(&mut self, part: &[u8]) -> io::Result<()> {
        match &mut self.decoder {
            Decoder::Gzip(decoder) => {
                decoder.write_all(part)?;
                decoder.flush()
            }
            Decoder::Deflate(decoder) => {
                decoder.write_all(part)?;
                decoder.flush()
            }
            Decoder::Brotli(decoder) => decoder.write_all(part),
        }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Deflate(decoder) => decoder.get_mut(),
            Decoder::Brotli(decoder) => decoder.get_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{
        Compression,
        write::{GzEncoder, ZlibEncoder},
    };

    fn inflate(encoding: &str, max: u64) -> Result<Option<Inflate>, InflateError> {
        Inflate::new(Encoding::of(encoding.as_bytes()), max)
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn expands_in_any_cuts() {
        let plain = b"data: {\"a\":1}\n\n".repeat(500);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(&plain).unwrap();
        for (encoding, packed) in [("gzip", gzip(&plain)), ("deflate", zlib.finish().unwrap())] {
            for cut in [1, 7, 100_000] {
                let mut inflate = inflate(encoding, 1 << 20).unwrap().unwrap();
                let mut out = Vec::new();
                for chunk in packed.chunks(cut) {
                    out.extend(inflate.push(chunk).unwrap());
                }
                out.extend(inflate.finish().unwrap());
                assert_eq!(out, plain, "{encoding} cut at {cut}");
            }
        }
    }

    #[test]
    fn bombs_cuts_and_lies_are_errors() {
        let bomb = gzip(&vec![0; 5_000_000]);
        assert_eq!(inflate("gzip", 1_000_000).unwrap().unwrap().push(&bomb), Err(InflateError::TooLarge));
        let packed = gzip(b"hello");
        let mut cut = inflate("gzip", 100).unwrap().unwrap();
        let _ = cut.push(&packed[..packed.len() - 6]);
        assert_eq!(cut.finish(), Err(InflateError::Corrupt));
        assert_eq!(
            inflate("gzip", 100).unwrap().unwrap().push(b"not gzip at all"),
            Err(InflateError::Corrupt)
        );
        assert!(matches!(inflate("zstd", 100), Err(InflateError::Unknown)));
        assert!(inflate("identity", 100).unwrap().is_none());
    }
}
