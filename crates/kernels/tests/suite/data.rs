//! Inputs: records whose keys follow a pattern, and the oracle.

use crate::keys::Fields;
use xsort_records::Key;
use xsort_testing::Random;

/// What the bytes of the records look like. Patterns are of whole records, so that every key rule
/// sees some of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Uniform,
    Equal,
    MostlyEqual,
    FewDistinct,
    Zipf,
    /// Only the last byte is random.
    SharedPrefix,
    /// A few long prefixes, random in the last bytes.
    Clusters,
    /// Every record shares a prefix of another length with the one before.
    Staircase,
    /// Bytes of 0 and 255 only, so that words of all zeros and all ones occur.
    Extremes,
    Sorted,
    Reversed,
    NearlySorted,
    /// Sorted, every key several times.
    SortedTies,
    ReversedTies,
}

impl Pattern {
    const ALL: [Pattern; 14] = [
        Pattern::Uniform,
        Pattern::Equal,
        Pattern::FewDistinct,
        Pattern::Clusters,
        Pattern::Staircase,
        Pattern::Extremes,
        Pattern::Sorted,
        Pattern::Reversed,
        Pattern::MostlyEqual,
        Pattern::Zipf,
        Pattern::SharedPrefix,
        Pattern::NearlySorted,
        Pattern::SortedTies,
        Pattern::ReversedTies,
    ];

    /// All patterns; under Miri, which is a thousand times slower, the ones that take different
    /// paths.
    pub(crate) fn all() -> &'static [Pattern] {
        if cfg!(miri) { &Self::ALL[..8] } else { &Self::ALL }
    }

    /// `count` records of `record_bytes` bytes; the ordered patterns are ordered by `key`.
    pub(crate) fn records(
        self,
        key: Fields,
        count: usize,
        record_bytes: usize,
        seed: u64,
    ) -> Vec<u8> {
        let mut random = Random::new(seed);
        let mut bytes = vec![0x2a; count * record_bytes];
        let distinct = |of: u64, out: &mut [u8]| {
            Random::new(seed ^ of.wrapping_mul(0x1234_5678_9abc_def1)).fill(out);
        };
        for (place, record) in bytes.chunks_exact_mut(record_bytes).enumerate() {
            match self {
                Pattern::Equal => {}
                Pattern::MostlyEqual if random.below(100) > 0 => {}
                Pattern::FewDistinct => distinct(random.word() % 7, record),
                Pattern::SortedTies | Pattern::ReversedTies => {
                    distinct(random.below(count / 5 + 1) as u64, record);
                }
                Pattern::Zipf => {
                    distinct(
                        (count as f64).powf(random.below(1000) as f64 / 1000.0) as u64,
                        record,
                    );
                }
                Pattern::SharedPrefix => record[record_bytes - 1] = random.word() as u8,
                Pattern::Clusters => {
                    distinct(random.word() % 5, record);
                    random.fill(&mut record[record_bytes - record_bytes.div_ceil(8)..]);
                }
                Pattern::Staircase => {
                    let step = place % record_bytes;
                    record[step] = 0x2a ^ (1 << (place % 8));
                }
                Pattern::Extremes => {
                    let bits = random.word();
                    for (at, byte) in record.iter_mut().enumerate() {
                        *byte = if bits >> (at / 8 % 64) & 1 == 0 { 0 } else { 0xff };
                    }
                }
                _ => random.fill(record),
            }
        }
        let ordered = match self {
            Pattern::Sorted | Pattern::NearlySorted | Pattern::SortedTies => true,
            Pattern::Reversed | Pattern::ReversedTies => false,
            _ => return bytes,
        };
        let mut order = oracle(key, &bytes, record_bytes);
        if !ordered {
            order.reverse();
        }
        if self == Pattern::NearlySorted && count > 1 {
            for _ in 0..count.div_ceil(50) {
                order.swap(random.below(count), random.below(count));
            }
        }
        order.iter().flat_map(|&index| record_of(&bytes, record_bytes, index).to_vec()).collect()
    }
}

/// The stable order by `compare`, from the standard library.
pub(crate) fn oracle<K: Key>(key: K, records: &[u8], record_bytes: usize) -> Vec<u64> {
    let mut order: Vec<u64> = (0..(records.len() / record_bytes) as u64).collect();
    order.sort_by(|&a, &b| {
        key.compare(record_of(records, record_bytes, a), record_of(records, record_bytes, b))
    });
    order
}

pub(crate) fn record_of(records: &[u8], record_bytes: usize, index: u64) -> &[u8] {
    &records[index as usize * record_bytes..][..record_bytes]
}

/// Numbers of records worth trying: around the bounds between methods.
pub(crate) fn counts() -> Vec<usize> {
    if cfg!(miri) {
        vec![0, 1, 2, 5, 70]
    } else {
        vec![0, 1, 2, 3, 4, 5, 8, 16, 17, 21, 63, 64, 65, 127, 300, 1000, 5000]
    }
}
