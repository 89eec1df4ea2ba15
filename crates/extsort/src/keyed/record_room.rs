//! How long records may be in a budget, and the memory for copies of a long record.
//!
//! ```text
//!  budget          2 MiB ... 256 MiB ... 1 GiB ... 8 GiB
//!  longest record  1/16      16 MiB      16 MiB    128 MiB (1/64)
//! ```
//!
//! Besides the engine's pool, a record is in memory as it was read, and with its key before it:
//! where keys are built, and where records with equal keys are grouped. The number of copies
//! depends on the keys. The budget reserves that many copies of the longest record, less the memory
//! that the process may use beside the budget.

use super::order::ByKey;
use crate::job::least_budget::least_budget;
use crate::lines::{LinesOptions, stream_line_bytes_max};
use std::fmt;

const MIB: u64 = 1 << 20;
/// Share of the budget that a record may take, as a divisor, up to [`RECORD_BYTES`].
const RECORD_SHARE: u64 = 16;
const RECORD_BYTES: u64 = 16 * MIB;
/// Share of the budget, as a divisor, within which a record may exceed [`RECORD_BYTES`].
const LARGE_SHARE: u64 = 64;
/// A record with its key may be longer than the longest record by this factor.
const KEYED_SHARE: usize = 4;
/// Memory beside the budget for copies of the longest record, in bytes.
const BESIDE_BUDGET_BYTES: u64 = 48 * MIB;

/// Longest record in bytes that a budget of `budget_bytes` has room for.
#[must_use]
pub fn record_bytes_max(budget_bytes: u64) -> usize {
    (budget_bytes / RECORD_SHARE).min(RECORD_BYTES).max(budget_bytes / LARGE_SHARE) as usize
}

/// Bytes that the budget reserves for `copies` copies of the longest record.
#[must_use]
pub fn copies_bytes(budget_bytes: u64, copies: u64) -> u64 {
    (copies * record_bytes_max(budget_bytes) as u64).saturating_sub(BESIDE_BUDGET_BYTES)
}

/// The limits on the length of records.
pub struct RecordRoom {
    /// Longest record in bytes.
    pub record_bytes_max: usize,
    /// Longest keyed record in bytes that the engine takes.
    pub keyed_bytes_max: usize,
    budget_bytes: u64,
    engine: Box<dyn Fn(u64) -> LinesOptions + Send + Sync>,
}

impl RecordRoom {
    /// The room in a budget. `engine` returns the engine's settings for any budget.
    pub fn new(
        budget_bytes: u64,
        engine: impl Fn(u64) -> LinesOptions + Send + Sync + 'static,
    ) -> RecordRoom {
        RecordRoom {
            record_bytes_max: record_bytes_max(budget_bytes),
            keyed_bytes_max: keyed_bytes_max(&engine(budget_bytes)),
            budget_bytes,
            engine: Box::new(engine),
        }
    }

    /// The least budget in bytes for a record of `record_bytes` bytes, or `keyed_bytes` with its
    /// key. `None` if no budget is enough.
    #[must_use]
    pub fn budget_of(&self, record_bytes: u64, keyed_bytes: u64) -> Option<u64> {
        least_budget(self.budget_bytes, MIB, |budget| {
            record_bytes_max(budget) as u64 >= record_bytes
                && keyed_bytes_max(&(self.engine)(budget)) as u64 >= keyed_bytes
        })
    }
}

impl fmt::Debug for RecordRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordRoom")
            .field("record_bytes_max", &self.record_bytes_max)
            .field("keyed_bytes_max", &self.keyed_bytes_max)
            .finish_non_exhaustive()
    }
}

fn keyed_bytes_max(engine: &LinesOptions) -> usize {
    stream_line_bytes_max(engine, &ByKey).min(KEYED_SHARE * record_bytes_max(engine.budget_bytes))
}

/// The advice for a record that is too long: a budget that has room for it, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoreMemory(
    /// The least sufficient budget in bytes.
    pub Option<u64>,
);

impl fmt::Display for MoreMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) => {
                let enough = bytes.div_ceil(MIB);
                write!(f, "-m {enough}M is enough for it, a longer one needs more")
            }
            None => f.write_str("no memory is enough for it"),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::keyed::of_keyed;
    use crate::lines::Reservation;
    use std::path::PathBuf;

    /// The room beside `copies` copies of the longest record.
    pub(crate) fn room(budget_bytes: u64, threads: usize, copies: u64) -> RecordRoom {
        RecordRoom::new(budget_bytes, move |budget_bytes| {
            of_keyed(&engine(budget_bytes, threads, copies))
        })
    }

    fn engine(budget_bytes: u64, threads: usize, copies: u64) -> LinesOptions {
        LinesOptions {
            delimiter: 0,
            reservation: Reservation::default()
                .with_share("copies", move |budget| copies_bytes(budget, copies)),
            scratch: vec![PathBuf::from("/scratch")],
            ..LinesOptions::new(budget_bytes, threads)
        }
    }

    const GIB: u64 = 1 << 30;

    #[test]
    fn records_grow_with_the_budget_but_for_a_stretch() {
        for (budget_bytes, expected) in [
            (2 * MIB, 128 << 10),
            (256 * MIB, 16 * MIB),
            (GIB, 16 * MIB),
            (2 * GIB, 32 * MIB),
            (8 * GIB, 128 * MIB),
        ] {
            assert_eq!(record_bytes_max(budget_bytes) as u64, expected);
        }
        let mut longest = 0;
        for mebibytes in 1..4096 {
            let now = record_bytes_max(mebibytes * MIB);
            assert!(now >= longest);
            longest = now;
        }
    }

    /// The decoders that a caller had reserved memory for took more of the larger budget.
    #[test]
    fn the_memory_that_is_named_is_enough_beside_what_the_caller_reserves() {
        let reserved =
            Reservation::default().with_share("decoders", |budget| (budget / 8).min(128 * MIB));
        let room = |budget_bytes, reservation: Reservation| {
            RecordRoom::new(budget_bytes, move |budget_bytes| {
                let reservation = reservation.clone();
                of_keyed(&LinesOptions { reservation, ..engine(budget_bytes, 2, 3) })
            })
        };
        for mebibytes in [2, 20, 64, 200] {
            let small = room(mebibytes * MIB, reserved.clone());
            for keyed in [small.keyed_bytes_max as u64 + 1, 3 * small.keyed_bytes_max as u64] {
                let enough = small.budget_of(1, keyed).unwrap();
                // As it is planned with that memory.
                let exact = Reservation::default().with("decoders", reserved.of(enough));
                assert!(room(enough, exact).keyed_bytes_max as u64 >= keyed, "{mebibytes} {keyed}");
            }
        }
    }

    /// Whatever is reserved, the engine has room for the longest record with a short key, and the
    /// budget that a refusal names is enough.
    #[test]
    fn the_longest_record_has_room_beside_its_copies() {
        for copies in [3, 6, 8] {
            for threads in [1, 2, 64] {
                let room_in = |budget_bytes| room(budget_bytes, threads, copies);
                for mebibytes in [2, 3, 8, 64, 128, 200, 256, 512, 1024, 3000, 8 << 10, 1 << 20] {
                    let room = room_in(mebibytes * MIB);
                    let long = room.record_bytes_max as u64;
                    assert!(room.keyed_bytes_max as u64 > long + long / 254, "{room:?}");
                    assert!(copies_bytes(mebibytes * MIB, copies) <= mebibytes * MIB / 3);
                    for (record, keyed) in [(long + 1, 0), (3 * long, 4 * long), (1, 5 * long)] {
                        let enough = room.budget_of(record, keyed).unwrap();
                        let other = room_in(enough);
                        assert!(enough > mebibytes * MIB, "{room:?} {record} {keyed} {enough}");
                        assert!(other.record_bytes_max as u64 >= record, "{other:?}");
                        assert!(other.keyed_bytes_max as u64 >= keyed, "{other:?}");
                    }
                }
                assert_eq!(room_in(GIB).budget_of(1 << 50, 0), None);
            }
        }
    }
}
