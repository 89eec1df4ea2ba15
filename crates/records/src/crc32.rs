//! The sum of the CRC-32s of many short records of one size, several records at a time.
//!
//! One CRC is a chain of instructions, each of which waits for the preceding one. Processors that
//! can compute several chains at once do so here; the others have `crc32fast`.
//!
//! | file | idea |
//! |---|---|
//! | `avx512` | by carry-less multiplication, on x86-64 |
//! | `aarch64` | by the instructions for CRCs |

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;

#[cfg(all(target_arch = "aarch64", not(miri)))]
use aarch64 as lanes;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use avx512 as lanes;

/// The sum of the CRC-32s of records of `record_bytes` bytes each.
pub(crate) fn sum(records: &[u8], record_bytes: usize) -> u128 {
    let at_once = if record_bytes <= lanes::LONGEST { lanes::records_at_once() } else { None };
    let fast_bytes =
        at_once.map_or(0, |count| records.len() - records.len() % (count * record_bytes));
    let (fast, rest) = records.split_at(fast_bytes);
    let rest = rest.chunks_exact(record_bytes).map(|one| u128::from(crc32fast::hash(one)));
    let fast = if fast.is_empty() { 0 } else { lanes::sum(fast, record_bytes) };
    fast + rest.sum::<u128>()
}

/// Other processors compute one CRC after the other.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod lanes {
    pub(super) const LONGEST: usize = 512;

    pub(super) const fn records_at_once() -> Option<usize> {
        None
    }

    pub(super) fn sum(_: &[u8], _: usize) -> u128 {
        unreachable!("nothing is computed side by side here")
    }
}

#[cfg(test)]
mod tests {
    use super::lanes::LONGEST;
    use super::*;

    #[test]
    fn records_of_all_sizes_have_the_sum_of_their_crcs() {
        // The buffer ends where a sanitizer would notice reads before or after the records.
        for record_bytes in 1..=LONGEST + 9 {
            for count in [0, 1, 3, 4, 5, 8, 11] {
                let at = |at: u64| ((at * at * 31) >> 5) as u8;
                let records: Vec<u8> = (0..(count * record_bytes) as u64).map(at).collect();
                let crcs = records.chunks_exact(record_bytes).map(crc32fast::hash);
                let expected: u128 = crcs.map(u128::from).sum();
                assert_eq!(sum(&records, record_bytes), expected, "{record_bytes} {count}");
            }
        }
    }
}
