//! By carry-less multiplication, four records at a time, on x86-64 with AVX-512.
//!
//! A CRC is the remainder of a polynomial over two elements, so it is the sum of its words'
//! remainders. Each word is multiplied by the power of x for its distance from the record's end.
//! These powers are precomputed, no product waits for another, and only the sum of all is reduced,
//! four records at a time. Long buffers are folded instead, each multiplication after the preceding
//! one, as `crc32fast` does from 128 bytes on (Gopal et al., "Fast CRC Computation for Generic
//! Polynomials Using PCLMULQDQ Instruction", Intel 2009). The last three steps and their constants
//! are from that paper.
//!
//! 100 bytes take 3.7 ns, and 15.2 with `crc32fast` (one core of an AMD EPYC with AVX-512). With
//! the 128 bits of older processors it would be 10.3, and from 256 bytes on slower than folding.
//! `crc-fast` 1.10 took 50 ns in a separate function where `crc32fast` took 11 (a Xeon).
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// Size in bytes of the longest records for which this is faster.
pub(super) const LONGEST: usize = 512;

/// Number of words of the longest record.
const WORDS: usize = LONGEST / 8;

/// The polynomial without its highest power. Its bits are reversed, as in all that follows.
const LOWER_POWERS: u32 = 0xedb8_8320;

/// The factors of a record's last words: x^32 for the last one, x^96 for the one before, and so on.
static FACTORS: [u64; WORDS] = factors();

const fn factors() -> [u64; WORDS] {
    let mut factors = [0; WORDS];
    let mut power = LOWER_POWERS;
    let mut word = WORDS;
    while word > 0 {
        word -= 1;
        // One bit up, because the product of reversed bits is one bit shorter than its factors.
        factors[word] = (power as u64) << 1;
        let mut bit = 0;
        while bit < 64 {
            power = if power & 1 == 1 { power >> 1 ^ LOWER_POWERS } else { power >> 1 };
            bit += 1;
        }
    }
    factors
}

/// Number of CRCs whose sum fits 64 bits.
const RECORDS_MAX: usize = 1 << 30;

/// x^64.
const POWER_64: i64 = 0x1_63cd_6124;
/// The polynomial with its highest power, and the quotient of x^64 by it.
const POLYNOMIAL: i64 = 0x1_db71_0641;
const QUOTIENT: i64 = 0x1_f701_1641;

/// The number of records computed in parallel; `None` if the processor can't do that.
pub(super) fn records_at_once() -> Option<usize> {
    let has_all = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("vpclmulqdq");
    has_all.then_some(4)
}

/// The sum of the CRCs of records, whose number is a multiple of [`records_at_once`].
///
/// # Panics
/// If the processor lacks the instructions, or records are longer than [`LONGEST`].
pub(super) fn sum(records: &[u8], record_bytes: usize) -> u128 {
    assert!(records_at_once().is_some() && record_bytes <= LONGEST);
    // CRCs begin and end with complements. Their effect is the same in each CRC.
    let of_zeros = crc32fast::hash(&[0; LONGEST][..record_bytes]);
    let parts = records.chunks(record_bytes * RECORDS_MAX);
    // SAFETY: the processor has these features.
    parts.map(|part| u128::from(unsafe { sum_of_fours(part, record_bytes, of_zeros) })).sum()
}

#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn sum_of_fours(records: &[u8], record_bytes: usize, of_zeros: u32) -> u64 {
    // The remainder is in the upper half of the lower word of each lane.
    const LOWER_WORDS: __mmask8 = 0b0101_0101;
    let of_zeros = _mm512_set1_epi64(of_zeros.into());
    let mut sums = _mm512_setzero_si512();
    for four in records.chunks_exact(4 * record_bytes) {
        let products = |nth: usize| products(&four[nth * record_bytes..][..record_bytes]);
        let sum = sums_of_lanes([products(0), products(1), products(2), products(3)]);
        let remainders = _mm512_srli_epi64::<32>(remainders(sum));
        let crcs = _mm512_maskz_xor_epi64(LOWER_WORDS, remainders, of_zeros);
        sums = _mm512_add_epi64(sums, crcs);
    }
    _mm512_reduce_add_epi64(sums).cast_unsigned()
}

/// The products of a record's words. Their sum is the sum of the four lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn products(record: &[u8]) -> __m512i {
    let (head, blocks) = record.split_at(record.len() % 64);
    let mut factors = FACTORS[WORDS - 8 * record.len().div_ceil(64)..].as_chunks().0.iter();
    let mut sum = _mm512_setzero_si512();
    if !head.is_empty() {
        // At the end of its block, after zeros.
        let zeros = 64 - head.len();
        let begin = head.as_ptr().wrapping_sub(zeros).cast();
        // SAFETY: the mask excludes all bytes before the head, so they are not read.
        let block = unsafe { _mm512_maskz_loadu_epi8(!0 << zeros, begin) };
        sum = add_products(sum, block, factors.next().expect("one for each block"));
    }
    for (block, factors) in blocks.as_chunks::<64>().0.iter().zip(factors) {
        // SAFETY: the block has 64 bytes.
        let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        sum = add_products(sum, block, factors);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn add_products(sum: __m512i, words: __m512i, factors: &[u64; 8]) -> __m512i {
    // SAFETY: eight words are 64 bytes.
    let factors = unsafe { _mm512_loadu_si512(factors.as_ptr().cast()) };
    let even = _mm512_clmulepi64_epi128::<0x00>(words, factors);
    let odd = _mm512_clmulepi64_epi128::<0x11>(words, factors);
    _mm512_xor_si512(sum, _mm512_xor_si512(even, odd))
}

/// Returns the sum of the first vector's lanes in the first lane, and so on.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums_of_lanes([a, b, c, d]: [__m512i; 4]) -> __m512i {
    // Lanes 0 and 1 of both, and lanes 2 and 3.
    const LOWER: i32 = 0b01_00_01_00;
    const UPPER: i32 = 0b11_10_11_10;
    // Lanes 0 and 2 of both, and lanes 1 and 3.
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let halves = |a, b| {
        let lower = _mm512_shuffle_i64x2::<LOWER>(a, b);
        _mm512_xor_si512(lower, _mm512_shuffle_i64x2::<UPPER>(a, b))
    };
    let (ab, cd) = (halves(a, b), halves(c, d));
    let even = _mm512_shuffle_i64x2::<EVEN>(ab, cd);
    _mm512_xor_si512(even, _mm512_shuffle_i64x2::<ODD>(ab, cd))
}

/// The remainders of each lane's 96 bits: first reduced to 64, then by Barrett's reduction.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn remainders(sums: __m512i) -> __m512i {
    let low = |lanes| _mm512_maskz_mov_epi32(0b0001_0001_0001_0001, lanes);
    let times =
        |lanes, factor| _mm512_clmulepi64_epi128::<0x00>(low(lanes), _mm512_set1_epi64(factor));
    let rest = _mm512_xor_si512(times(sums, POWER_64), _mm512_bsrli_epi128::<4>(sums));
    let quotients = times(rest, QUOTIENT);
    _mm512_xor_si512(rest, times(quotients, POLYNOMIAL))
}
