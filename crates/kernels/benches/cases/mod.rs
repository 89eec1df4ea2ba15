//! What the benches work on: a ten-byte key at the front of records, sizes in and out of cache, and
//! patterns that break sorts.

use std::cmp::Ordering;
use xsort_records::Key;

/// Ten bytes at the front, as in the Sort Benchmark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

/// Bytes of [`Plain`].
const KEY_BYTES: usize = 10;

/// The key of the record at the front of `bytes`.
pub(crate) fn key_of(bytes: &[u8]) -> &[u8] {
    &bytes[..KEY_BYTES]
}

impl Key for Plain {
    #[inline(always)]
    fn bytes(&self) -> usize {
        KEY_BYTES
    }

    #[inline(always)]
    fn word(&self, record: &[u8], at: usize) -> u64 {
        let mut word = [0; 8];
        if at + 8 <= KEY_BYTES {
            word.copy_from_slice(&record[at..at + 8]);
        } else if at < KEY_BYTES {
            // The record is longer than the key by eight bytes: read over its end, then cut.
            word.copy_from_slice(&record[at..at + 8]);
            return u64::from_be_bytes(word) & u64::MAX << (8 * (at + 8 - KEY_BYTES));
        }
        u64::from_be_bytes(word)
    }

    #[inline(always)]
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        key_of(a).cmp(key_of(b))
    }

    fn compare_encoded(&self, record: &[u8], encoded: &[u8]) -> Ordering {
        key_of(record).cmp(encoded)
    }

    fn encode(&self, record: &[u8], out: &mut [u8]) {
        out.copy_from_slice(key_of(record));
    }
}

/// One input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    count: usize,
    pub(crate) record_bytes: usize,
    pattern: Pattern,
    #[allow(dead_code, reason = "each bench is a crate of its own, and one has no use for it")]
    pub(crate) beside_std: bool,
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    Uniform,
    Equal,
    MostlyEqual,
    Zipf,
    /// Six constant leading bytes.
    Prefix,
    Ascending,
    Descending,
}

/// 4,096 records of 100 bytes fit L2, 1.3 million do not fit any cache.
pub(crate) const CASES: [Case; 10] = [
    case("4Ki x 100", 4096, 100, Pattern::Uniform, true),
    case("1.3M x 100", 1_342_177, 100, Pattern::Uniform, true),
    case("1M x 128", 1 << 20, 128, Pattern::Uniform, false),
    case("32Ki x 4096", 1 << 15, 4096, Pattern::Uniform, false),
    case("1.3M x 100 equal", 1_342_177, 100, Pattern::Equal, false),
    case("1.3M x 100 99% equal", 1_342_177, 100, Pattern::MostlyEqual, false),
    case("1.3M x 100 zipf", 1_342_177, 100, Pattern::Zipf, false),
    case("1.3M x 100 six constant bytes", 1_342_177, 100, Pattern::Prefix, false),
    case("1.3M x 100 ascending", 1_342_177, 100, Pattern::Ascending, false),
    case("1.3M x 100 descending", 1_342_177, 100, Pattern::Descending, false),
];

const fn case(
    name: &'static str,
    count: usize,
    record_bytes: usize,
    pattern: Pattern,
    beside_std: bool,
) -> Case {
    Case { name, count, record_bytes, pattern, beside_std }
}

/// Whether this is a run as a test: then everything is tiny.
pub(crate) fn is_test() -> bool {
    !std::env::args().any(|argument| argument == "--bench")
}

/// SplitMix64.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The records of a case, the same each time.
pub(crate) fn records(case: &Case) -> Vec<u8> {
    let count = if is_test() { case.count.min(300) } else { case.count };
    let mut records = vec![7; count * case.record_bytes];
    let mut state = 1;
    for (place, record) in records.chunks_exact_mut(case.record_bytes).enumerate() {
        let (word, tail) = (random(&mut state), random(&mut state));
        let mut key = [0; 16];
        key[..8].copy_from_slice(&word.to_be_bytes());
        key[8..].copy_from_slice(&tail.to_be_bytes());
        match case.pattern {
            Pattern::Uniform => {}
            Pattern::Equal => key = [5; 16],
            Pattern::MostlyEqual if word % 100 == 0 => {}
            Pattern::MostlyEqual => key = [5; 16],
            Pattern::Zipf => {
                let rank = (count as f64).powf((word >> 11) as f64 / (1_u64 << 53) as f64) as u64;
                key[..8].copy_from_slice(&random(&mut rank.clone()).to_be_bytes());
                key[8..].fill(0);
            }
            Pattern::Prefix => key[..6].fill(9),
            Pattern::Ascending => key[..8].copy_from_slice(&(place as u64).to_be_bytes()),
            Pattern::Descending => {
                key[..8].copy_from_slice(&((count - place) as u64).to_be_bytes());
            }
        }
        record[..KEY_BYTES].copy_from_slice(&key[..KEY_BYTES]);
    }
    records
}
