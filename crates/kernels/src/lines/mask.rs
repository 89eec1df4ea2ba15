//! Masks of 64 bytes: bit `i` tells whether byte `i` equals another byte.
//!
//! SSE2 and NEON are part of every x86-64 and aarch64 processor, so nothing is detected at run
//! time. NEON lacks an instruction that collects one bit of each byte: each byte keeps the bit of
//! its own position, and three pairwise additions collect eight of them in a byte.
#![allow(unsafe_code)]

/// Number of bytes that one mask covers.
pub const MASK_BYTES: usize = 64;

/// One bit for each byte, the lowest for the first: set if the byte is `wanted`.
#[inline(always)]
pub fn mask(block: &[u8; MASK_BYTES], wanted: u8) -> u64 {
    vectors::mask(block, wanted)
}

/// One bit for each byte, the lowest for the first: set if both have the same byte.
#[inline(always)]
pub(super) fn equal_bytes(a: &[u8; MASK_BYTES], b: &[u8; MASK_BYTES]) -> u64 {
    vectors::equal_bytes(a, b)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors {
    use super::MASK_BYTES;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
    };

    #[inline(always)]
    pub(super) fn mask(block: &[u8; MASK_BYTES], wanted: u8) -> u64 {
        // SAFETY: SSE2 is part of x86-64, and the four loads read the 64 bytes of the block.
        unsafe {
            let wanted = _mm_set1_epi8(wanted.cast_signed());
            let part = |at: usize| {
                let bytes = _mm_loadu_si128(block.as_ptr().add(at).cast::<__m128i>());
                u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)).cast_unsigned()) << at
            };
            part(0) | part(16) | part(32) | part(48)
        }
    }

    #[inline(always)]
    pub(super) fn equal_bytes(a: &[u8; MASK_BYTES], b: &[u8; MASK_BYTES]) -> u64 {
        // SAFETY: SSE2 is part of x86-64, and the loads read the 64 bytes of both.
        unsafe {
            let part = |at: usize| {
                let [a, b] =
                    [a, b].map(|bytes| _mm_loadu_si128(bytes.as_ptr().add(at).cast::<__m128i>()));
                u64::from(_mm_movemask_epi8(_mm_cmpeq_epi8(a, b)).cast_unsigned()) << at
            };
            part(0) | part(16) | part(32) | part(48)
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod vectors {
    use super::MASK_BYTES;
    use std::arch::aarch64::{
        uint8x16_t, vandq_u8, vceqq_u8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vpaddq_u8,
        vreinterpretq_u64_u8,
    };

    /// The bit of each byte within its group of eight.
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

    #[inline(always)]
    pub(super) fn mask(block: &[u8; MASK_BYTES], wanted: u8) -> u64 {
        // SAFETY: NEON is part of aarch64.
        let wanted = unsafe { vdupq_n_u8(wanted) };
        collected(|at| {
            // SAFETY: NEON is part of aarch64, and all offsets are of 16 bytes in the block.
            unsafe { vceqq_u8(vld1q_u8(block.as_ptr().add(at)), wanted) }
        })
    }

    #[inline(always)]
    pub(super) fn equal_bytes(a: &[u8; MASK_BYTES], b: &[u8; MASK_BYTES]) -> u64 {
        collected(|at| {
            // SAFETY: NEON is part of aarch64, and all offsets are of 16 bytes in both.
            unsafe { vceqq_u8(vld1q_u8(a.as_ptr().add(at)), vld1q_u8(b.as_ptr().add(at))) }
        })
    }

    /// The mask of what four comparisons tell: those of 16 bytes at the offsets 0, 16, 32 and 48.
    #[inline(always)]
    fn collected(equal: impl Fn(usize) -> uint8x16_t) -> u64 {
        // SAFETY: NEON is part of aarch64, and the load reads the 16 bytes of the constant.
        unsafe {
            let bits = vld1q_u8(BITS.as_ptr());
            let part = |at| vandq_u8(equal(at), bits);
            let pairs = vpaddq_u8(vpaddq_u8(part(0), part(16)), vpaddq_u8(part(32), part(48)));
            vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
        }
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
use portable as vectors;

/// Without vector instructions.
#[cfg(any(test, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable {
    use super::MASK_BYTES;

    pub(super) fn mask(block: &[u8; MASK_BYTES], wanted: u8) -> u64 {
        equal_bytes(block, &[wanted; MASK_BYTES])
    }

    pub(super) fn equal_bytes(a: &[u8; MASK_BYTES], b: &[u8; MASK_BYTES]) -> u64 {
        a.iter().zip(b).enumerate().fold(0, |equal, (at, (a, b))| equal | u64::from(a == b) << at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_find_what_is_found_byte_by_byte() {
        let mut random = 1_u64;
        for _ in 0..1000 {
            // Few values, so that all numbers of equal bytes occur.
            let [a, b] = [(); 2].map(|()| {
                std::array::from_fn(|_| {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    [0, 1, 0x7f, 0x80, 0xff][(random >> 33) as usize % 5]
                })
            });
            assert_eq!(equal_bytes(&a, &b), portable::equal_bytes(&a, &b));
            for wanted in [0, 1, 2, 0x7f, 0x80, 0xff] {
                assert_eq!(mask(&a, wanted), portable::mask(&a, wanted), "{wanted}");
            }
        }
        for at in 0..MASK_BYTES {
            let mut block = [b'x'; MASK_BYTES];
            block[at] = b'\n';
            assert_eq!((mask(&block, b'\n'), mask(&block, b'x')), (1 << at, !(1 << at)));
        }
    }
}
