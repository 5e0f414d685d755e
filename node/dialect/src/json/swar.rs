//! Blocks in ordinary registers, eight bytes at a time: for processors without vector instructions that we know.

use super::blocks::Lanes;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// The answer for any processor.
#[derive(Clone, Copy)]
pub(super) struct Swar;

impl Lanes for Swar {
    type Block = [u64; 8];

    #[inline(always)]
    fn load(self, bytes: &[u8; 64]) -> Self::Block {
        let (words, _) = bytes.as_chunks();
        std::array::from_fn(|i| u64::from_le_bytes(words[i]))
    }

    #[inline(always)]
    fn stops(self, block: Self::Block) -> bool {
        block.into_iter().any(|word| stops(word) != 0)
    }

    #[inline(always)]
    fn any_of<const N: usize>(self, block: Self::Block, bytes: [u8; N]) -> u64 {
        mask(block, |word| bytes.into_iter().fold(0, |hits, byte| hits | equal(word, byte)))
    }

    #[inline(always)]
    fn control(self, block: Self::Block) -> u64 {
        mask(block, |word| !((word & !HIGH).wrapping_add(ONES * 0x60) | word) & HIGH)
    }
}

/// The high bits of the bytes that are a quote, a backslash or a control character; above the lowest such byte there
/// may be false ones.
#[inline(always)]
pub(super) fn stops(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64)) | control) & HIGH
}

/// The high bits of the bytes that are equal, exactly: no carry leaves a byte.
#[inline(always)]
fn equal(word: u64, byte: u8) -> u64 {
    let differ = word ^ (ONES * u64::from(byte));
    !((differ & !HIGH).wrapping_add(!HIGH) | differ) & HIGH
}

/// One bit a byte out of the high bits of each word.
#[inline(always)]
fn mask(block: [u64; 8], hits: impl Fn(u64) -> u64) -> u64 {
    block.into_iter().rev().fold(0, |mask, word| {
        // the product brings each byte's lowest bit to its place in the highest byte
        mask << 8 | (hits(word) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}
