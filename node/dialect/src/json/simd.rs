//! Blocks in vector registers, and the choice between them. All `unsafe` of the crate is here.
#![allow(unsafe_code)] // vector instructions are only reachable so

use super::{blocks, swar::Swar};

/// `blocks::checked_end` with the best instructions of this processor.
pub(super) fn checked_end(bytes: &[u8], start: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    return match x86::Avx2::detect() {
        Some(lanes) => lanes.checked_end(bytes, start),
        None => blocks::checked_end(x86::Sse2, bytes, start),
    };
    #[cfg(target_arch = "aarch64")]
    return blocks::checked_end(arm::Neon, bytes, start);
    #[allow(unreachable_code)] // any other processor
    blocks::checked_end(Swar, bytes, start)
}

/// `blocks::end` with the best instructions of this processor.
pub(super) fn end(bytes: &[u8], start: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    return match x86::Avx2::detect() {
        Some(lanes) => lanes.end(bytes, start),
        None => blocks::end(x86::Sse2, bytes, start),
    };
    #[cfg(target_arch = "aarch64")]
    return blocks::end(arm::Neon, bytes, start);
    #[allow(unreachable_code)] // any other processor
    blocks::end(Swar, bytes, start)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use crate::json::blocks::{self, Lanes};
    use std::arch::x86_64::*;

    /// AVX2. A value exists only where the processor has it.
    #[derive(Clone, Copy)]
    pub(in crate::json) struct Avx2(());

    impl Avx2 {
        /// Asks the processor (the standard library remembers the answer).
        #[inline(always)]
        pub(in crate::json) fn detect() -> Option<Self> {
            is_x86_feature_detected!("avx2").then_some(Self(()))
        }

        pub(in crate::json) fn checked_end(self, bytes: &[u8], start: usize) -> Option<usize> {
            #[target_feature(enable = "avx2")]
            fn compiled(lanes: Avx2, bytes: &[u8], start: usize) -> Option<usize> {
                blocks::checked_end(lanes, bytes, start)
            }
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe { compiled(self, bytes, start) }
        }

        pub(in crate::json) fn end(self, bytes: &[u8], start: usize) -> Option<usize> {
            #[target_feature(enable = "avx2")]
            fn compiled(lanes: Avx2, bytes: &[u8], start: usize) -> Option<usize> {
                blocks::end(lanes, bytes, start)
            }
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe { compiled(self, bytes, start) }
        }
    }

    impl Lanes for Avx2 {
        type Block = [__m256i; 2];

        #[inline(always)]
        fn load(self, bytes: &[u8; 64]) -> Self::Block {
            let from = bytes.as_ptr().cast();
            // SAFETY: `self` exists, so the processor has AVX2; 64 bytes are there, and they need no alignment.
            unsafe { [_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))] }
        }

        #[inline(always)]
        fn stops(self, [low, high]: Self::Block) -> bool {
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe {
                let quote = _mm256_set1_epi8(b'"' as i8);
                let backslash = _mm256_set1_epi8(b'\\' as i8);
                let stops = |x| {
                    let named = _mm256_or_si256(_mm256_cmpeq_epi8(x, quote), _mm256_cmpeq_epi8(x, backslash));
                    _mm256_or_si256(named, control(x))
                };
                _mm256_movemask_epi8(_mm256_or_si256(stops(low), stops(high))) != 0
            }
        }

        #[inline(always)]
        fn any_of<const N: usize>(self, [low, high]: Self::Block, bytes: [u8; N]) -> u64 {
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe {
                let mut hits = [_mm256_setzero_si256(); 2];
                for byte in bytes {
                    let byte = _mm256_set1_epi8(byte as i8);
                    hits[0] = _mm256_or_si256(hits[0], _mm256_cmpeq_epi8(low, byte));
                    hits[1] = _mm256_or_si256(hits[1], _mm256_cmpeq_epi8(high, byte));
                }
                mask(hits)
            }
        }

        #[inline(always)]
        fn control(self, [low, high]: Self::Block) -> u64 {
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe { mask([control(low), control(high)]) }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn control(x: __m256i) -> __m256i {
        let highest = _mm256_set1_epi8(0x1f);
        _mm256_cmpeq_epi8(_mm256_max_epu8(x, highest), highest)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn mask([low, high]: [__m256i; 2]) -> u64 {
        let bits = |x| u64::from(_mm256_movemask_epi8(x) as u32);
        bits(low) | bits(high) << 32
    }

    /// SSE2, which every x86-64 processor has.
    #[derive(Clone, Copy)]
    pub(in crate::json) struct Sse2;

    impl Lanes for Sse2 {
        type Block = [__m128i; 4];

        #[inline(always)]
        fn load(self, bytes: &[u8; 64]) -> Self::Block {
            // SAFETY: 64 bytes are there, and they need no alignment.
            std::array::from_fn(|i| unsafe { _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>().add(i)) })
        }

        #[inline(always)]
        fn stops(self, block: Self::Block) -> bool {
            block.into_iter().fold(0, |stops, x| stops | sse2_any_of(x, *b"\"\\") | sse2_control(x)) != 0
        }

        #[inline(always)]
        fn any_of<const N: usize>(self, block: Self::Block, bytes: [u8; N]) -> u64 {
            block.into_iter().rev().fold(0, |mask, x| mask << 16 | u64::from(sse2_any_of(x, bytes)))
        }

        #[inline(always)]
        fn control(self, block: Self::Block) -> u64 {
            block.into_iter().rev().fold(0, |mask, x| mask << 16 | u64::from(sse2_control(x)))
        }
    }

    #[inline(always)]
    fn sse2_any_of<const N: usize>(x: __m128i, bytes: [u8; N]) -> u16 {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let mut hits = _mm_setzero_si128();
            for byte in bytes {
                hits = _mm_or_si128(hits, _mm_cmpeq_epi8(x, _mm_set1_epi8(byte as i8)));
            }
            _mm_movemask_epi8(hits) as u16
        }
    }

    #[inline(always)]
    fn sse2_control(x: __m128i) -> u16 {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe {
            let highest = _mm_set1_epi8(0x1f);
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(x, highest), highest)) as u16
        }
    }
}

#[cfg(target_arch = "aarch64")]
pub(super) mod arm {
    use crate::json::blocks::Lanes;
    use std::arch::aarch64::*;

    /// NEON, which every 64-bit ARM processor has that the standard library is built for.
    #[derive(Clone, Copy)]
    pub(in crate::json) struct Neon;

    impl Lanes for Neon {
        type Block = [uint8x16_t; 4];

        #[inline(always)]
        fn load(self, bytes: &[u8; 64]) -> Self::Block {
            // SAFETY: 64 bytes are there, and they need no alignment.
            std::array::from_fn(|i| unsafe { vld1q_u8(bytes.as_ptr().add(16 * i)) })
        }

        #[inline(always)]
        fn stops(self, block: Self::Block) -> bool {
            // SAFETY: every processor that the standard library for 64-bit ARM is built for has NEON.
            unsafe {
                let [a, b, c, d] = block.map(|x| {
                    let named = vorrq_u8(vceqq_u8(x, vdupq_n_u8(b'"')), vceqq_u8(x, vdupq_n_u8(b'\\')));
                    vorrq_u8(named, vcltq_u8(x, vdupq_n_u8(b' ')))
                });
                vmaxvq_u8(vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d))) != 0
            }
        }

        #[inline(always)]
        fn any_of<const N: usize>(self, block: Self::Block, bytes: [u8; N]) -> u64 {
            // SAFETY: as above.
            unsafe {
                let any = |hits, x, byte| vorrq_u8(hits, vceqq_u8(x, vdupq_n_u8(byte)));
                mask(block.map(|x| bytes.into_iter().fold(vdupq_n_u8(0), |hits, byte| any(hits, x, byte))))
            }
        }

        #[inline(always)]
        fn control(self, block: Self::Block) -> u64 {
            // SAFETY: as above.
            unsafe { mask(block.map(|x| vcltq_u8(x, vdupq_n_u8(b' ')))) }
        }
    }

    /// One bit a byte: each byte keeps the bit of its place among eight, then neighbours are added three times.
    #[inline]
    #[target_feature(enable = "neon")]
    fn mask(hits: [uint8x16_t; 4]) -> u64 {
        const PLACES: u64 = 0x8040_2010_0804_0201;
        let places = vreinterpretq_u8_u64(vdupq_n_u64(PLACES));
        let [a, b, c, d] = hits.map(|x| vandq_u8(x, places));
        let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }
}
