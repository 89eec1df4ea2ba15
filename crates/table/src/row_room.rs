//! The memory that long rows take with their keys.

use crate::key::{Column, KeyColumn, KeyKind, Keys};
use crate::on_bad::OnBad;
use crate::options::TableOptions;
use crate::ranks::Ranks;
use xsort_extsort::LinesOptions;
use xsort_extsort::keyed::{KeyingMemory, RecordRoom, copies_bytes, of_keyed};
use xsort_extsort::lines::{CompressionThreads, PositionIndex};

/// Copies of the longest row beside the engine's pool: as it was read, the index of its fields, and
/// with a short key.
const COPIES: u64 = 3;
/// Bytes of a key other than a number that is shorter than its value.
const KEY_BYTES: u64 = 64;
/// Most bytes of the key of a value of limited length, and the factor by which it may exceed the
/// value.
const LIMITED_KEY_BYTES: u64 = 2 << 20;
const LIMITED_KEY_TIMES: u64 = 16;
/// Stuffing adds one byte per this many bytes.
const STUFFED_BYTES: u64 = 254;

/// The memory that a sort's rows take beyond that of other keyed records.
#[derive(Clone, Debug)]
pub(crate) struct RowRoom {
    copies: u64,
    has_language: bool,
    is_compressed: bool,
    is_indexed: bool,
    /// Bytes of the samples in which values have ranks.
    ranks_bytes: u64,
    /// Bytes of lists of names.
    lists_bytes: u64,
    keys: Vec<KeyLength>,
}

/// The length of a key, in relation to its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyLength {
    /// At most [`KEY_BYTES`].
    Short,
    /// The key of a value of limited length.
    Limited,
    /// At most the value's length times this factor.
    Times(u64),
}

impl RowRoom {
    /// The room for rows, including their compression in the output, with these options.
    pub(crate) fn of(options: &TableOptions) -> RowRoom {
        let keys: Vec<&KeyColumn> = options.keys.columns().collect();
        let copies = keys.iter().map(|key| copies(key, options.on_bad)).max().unwrap_or(COPIES);
        // One row is kept for a group of equal ones, and another one is being read.
        let is_grouped = options.unique.is_some();
        RowRoom {
            copies: copies + u64::from(is_grouped),
            has_language: keys.iter().any(|key| key.kind == KeyKind::Locale),
            is_compressed: options.compression.is_some(),
            is_indexed: options.index.is_some(),
            ranks_bytes: ranks_bytes(options),
            lists_bytes: lists_bytes(&options.keys),
            keys: keys.iter().map(|key| key_length(key, options.on_bad)).collect(),
        }
    }

    /// Removes the memory for compression and an index.
    pub(crate) fn uncompressed(self) -> RowRoom {
        RowRoom { is_compressed: false, is_indexed: false, ..self }
    }

    /// The engine's settings, with the memory for reading rows, building their keys and writing
    /// them.
    pub(crate) fn engine_options(&self, engine: &LinesOptions) -> LinesOptions {
        let RowRoom { copies, has_language, is_compressed, is_indexed, .. } = *self;
        let RowRoom { ranks_bytes, lists_bytes, .. } = *self;
        let threads = engine.threads;
        let compression = move |budget| CompressionThreads::of_budget(budget, threads).taken_bytes;
        // Keys by a language double the memory of pieces in flight.
        let language = move |budget| KeyingMemory::of_budget(budget, threads).taken_bytes;
        let share = |is_there, bytes: u64| if is_there { bytes } else { 0 };
        let reservation = engine
            .reservation
            .clone()
            .with_share("compressors of the output", move |budget| {
                share(is_compressed, compression(budget))
            })
            .with_share("index of the output", move |budget| {
                share(is_indexed, PositionIndex::taken_bytes(budget))
            })
            .with_share("keys by a language", move |budget| share(has_language, language(budget)))
            .with_share("ranks of a curve", move |_| ranks_bytes)
            .with_share("lists of names", move |_| lists_bytes)
            .with_share("copies of the longest row", move |budget| copies_bytes(budget, copies));
        of_keyed(&LinesOptions { reservation, ..engine.clone() })
    }

    /// The limits on the length of rows.
    pub(crate) fn records(&self, engine: &LinesOptions) -> RecordRoom {
        let (rows, engine) = (self.clone(), engine.clone());
        RecordRoom::new(engine.budget_bytes, move |budget_bytes| {
            rows.engine_options(&LinesOptions { budget_bytes, ..engine.clone() })
        })
    }

    /// Most bytes that a row of `row_bytes` bytes takes with its key, whatever its content.
    pub(crate) fn keyed_bytes_most(&self, row_bytes: u64) -> u64 {
        let own = |key: &KeyLength| {
            KEY_BYTES
                + match key {
                    KeyLength::Short => 0,
                    KeyLength::Limited => LIMITED_KEY_BYTES.min(LIMITED_KEY_TIMES * row_bytes),
                    KeyLength::Times(times) => times * row_bytes,
                }
        };
        let keys: u64 = self.keys.iter().map(own).sum();
        row_bytes + row_bytes / STUFFED_BYTES + KEY_BYTES + keys
    }
}

fn ranks_bytes(options: &TableOptions) -> u64 {
    let columns = options.keys.0.iter().filter_map(|key| match &key.column {
        Column::Curve(curve) => Some(curve.columns.len() as u64),
        _ => None,
    });
    columns.sum::<u64>() * Ranks::MEMORY_BYTES
}

/// Bytes of memory of the lists that order names.
pub(crate) fn lists_bytes(keys: &Keys) -> u64 {
    let bytes = |key: &KeyColumn| match &key.kind {
        KeyKind::Listed(listed) => listed.memory_bytes(),
        _ => 0,
    };
    keys.columns().map(bytes).sum()
}

/// Copies of the longest row if this is its key. A value without its quotes or escapes is one copy,
/// and each byte of a key may take two.
fn copies(key: &KeyColumn, on_bad: OnBad) -> u64 {
    match key_length(key, on_bad) {
        KeyLength::Short | KeyLength::Limited => COPIES,
        KeyLength::Times(times) => COPIES + times + u64::from(times > 1),
    }
}

fn key_length(key: &KeyColumn, on_bad: OnBad) -> KeyLength {
    use KeyKind::{
        Bits, Bool, Chromosome, Date, DateTime, Float, Integer, Ip, Json, Length, Listed, Locale,
        Natural, NoCase, Number, Text, Version,
    };
    match (&key.kind, on_bad) {
        (Length, _) => KeyLength::Short,
        (Locale, _) => KeyLength::Limited,
        (Text | Json | NoCase, _) => KeyLength::Times(2),
        // A count precedes each number.
        (Natural | Version, _) => KeyLength::Times(4),
        // The same, and the name itself.
        (Chromosome, _) => KeyLength::Times(6),
        (Listed(listed), _) if listed.are_others_last => KeyLength::Times(2),
        (_, OnBad::Put(_)) => KeyLength::Times(2),
        (Integer | Number, OnBad::Refuse) => KeyLength::Times(1),
        (Float | Bool | Bits(_) | Date | DateTime(_) | Ip | Listed(_), OnBad::Refuse) => {
            KeyLength::Short
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Place;

    #[test]
    fn copies_are_as_many_as_keys_may_need() {
        let put = OnBad::Put(Place::Last);
        for (keys, on_bad, expected) in [
            ("a:date,b:length,c:locale", OnBad::Refuse, 3),
            ("a:int", OnBad::Refuse, 4),
            ("a:date", put, 6),
            ("a:int,b", OnBad::Refuse, 6),
            ("a:natural", OnBad::Refuse, 8),
        ] {
            let keys: Keys = keys.parse().unwrap();
            let most = keys.0.iter().map(|key| copies(key, on_bad)).max();
            assert_eq!(most, Some(expected), "{keys:?}");
        }
    }
}
