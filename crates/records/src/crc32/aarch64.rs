//! By aarch64's instructions for CRCs, four records at a time.
//!
//! `crc32x` takes eight bytes. Processors start one of them each cycle but need two or three for
//! its result, so four chains side by side keep the unit busy. All processors since 2016 have the
//! instructions, which ARMv8.0 left optional.
#![allow(unsafe_code)]

use std::arch::aarch64::{__crc32b, __crc32d};
use std::arch::is_aarch64_feature_detected;

/// Size in bytes of the longest records. Longer ones are few, so that one chain is enough.
pub(super) const LONGEST: usize = 512;

/// The number of records computed in parallel; `None` if the processor can't do that.
pub(super) fn records_at_once() -> Option<usize> {
    is_aarch64_feature_detected!("crc").then_some(4)
}

/// The sum of the CRCs of records, whose number is a multiple of [`records_at_once`].
///
/// # Panics
/// If the processor lacks the instructions.
pub(super) fn sum(records: &[u8], record_bytes: usize) -> u128 {
    assert!(records_at_once().is_some());
    // SAFETY: the processor has the instructions.
    let sum = |four| unsafe { sum_of_four(four, record_bytes) };
    records.chunks_exact(4 * record_bytes).map(sum).sum()
}

#[target_feature(enable = "crc")]
fn sum_of_four(records: &[u8], record_bytes: usize) -> u128 {
    let records: [_; 4] =
        std::array::from_fn(|nth| records[nth * record_bytes..][..record_bytes].as_chunks::<8>());
    let [a, b, c, d] = records.map(|(words, _)| words);
    // CRCs begin and end with complements.
    let mut crcs = [u32::MAX; 4];
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        for (crc, word) in crcs.iter_mut().zip([a, b, c, d]) {
            *crc = __crc32d(*crc, u64::from_le_bytes(*word));
        }
    }
    for (crc, (_, rest)) in crcs.iter_mut().zip(records) {
        for &byte in rest {
            *crc = __crc32b(*crc, byte);
        }
    }
    crcs.iter().map(|crc| u128::from(!crc)).sum()
}
