//! How much memory long rows take with their keys.

use crate::key::{KeyColumn, KeyKind};
use crate::on_bad::OnBad;
use crate::options::TableOptions;
use xsort_extsort::keyed::{KeyingMemory, RecordRoom, copies_bytes, of_keyed};
use xsort_extsort::variable::CompressionThreads;
use xsort_extsort::{LinesOptions, Reservation};

/// Copies of the longest row beside the engine's pool: as it was read, where its fields end, and
/// with a short key.
const COPIES: u64 = 3;
/// Bytes of a key that has more than a number, and isn't as long as its value.
const KEY_BYTES: u64 = 64;
/// The most for a value whose length is limited, and how many times as long its key may be.
const LIMITED_KEY_BYTES: u64 = 2 << 20;
const LIMITED_KEY_TIMES: u64 = 16;
/// Stuffing takes a byte in so many.
const STUFFED_BYTES: u64 = 254;

/// What a sort's rows take besides what other keyed records take.
#[derive(Clone, Debug)]
pub(crate) struct RowRoom {
    copies: u64,
    has_language: bool,
    is_compressed: bool,
    keys: Vec<KeyLength>,
}

/// How long a key can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyLength {
    /// At most [`KEY_BYTES`].
    Short,
    /// That of a value of limited length.
    Limited,
    /// So many times as long as the value.
    Times(u64),
}

impl RowRoom {
    /// Of rows that are compressed on their way out as `options` say.
    pub(crate) fn of(options: &TableOptions) -> RowRoom {
        let keys = &options.keys.0;
        let copies = keys.iter().map(|key| copies(key, options.on_bad)).max().unwrap_or(COPIES);
        // One row stands for a group of equal ones, another one is coming in.
        let is_grouped = options.unique.is_some();
        RowRoom {
            copies: copies + u64::from(is_grouped),
            has_language: keys.iter().any(|key| key.kind == KeyKind::Locale),
            is_compressed: options.compression.is_some(),
            keys: keys.iter().map(|key| key_length(key, options.on_bad)).collect(),
        }
    }

    /// The same of rows that aren't compressed.
    pub(crate) fn uncompressed(self) -> RowRoom {
        RowRoom { is_compressed: false, ..self }
    }

    /// The engine's settings, with what rows take on their way in and out.
    pub(crate) fn engine_options(&self, engine: &LinesOptions) -> LinesOptions {
        let RowRoom { copies, has_language, is_compressed, .. } = *self;
        let threads = engine.threads;
        let beside = move |budget| {
            let compression = CompressionThreads::of_budget(budget, threads);
            let compression_bytes = if is_compressed { compression.taken_bytes } else { 0 };
            // Keys by a language make rows under way twice as long as others.
            let keying = KeyingMemory::of_budget(budget, threads);
            let language_bytes = if has_language { keying.taken_bytes } else { 0 };
            compression_bytes + language_bytes + copies_bytes(budget, copies)
        };
        let reservation = engine.reservation.clone().and(Reservation::share(beside));
        of_keyed(&LinesOptions { reservation, ..engine.clone() })
    }

    /// How long rows may be.
    pub(crate) fn records(&self, engine: &LinesOptions) -> RecordRoom {
        let (rows, engine) = (self.clone(), engine.clone());
        RecordRoom::new(engine.budget_bytes, move |budget_bytes| {
            rows.engine_options(&LinesOptions { budget_bytes, ..engine.clone() })
        })
    }

    /// The most bytes that a row of so many bytes takes with its key, whatever is in it.
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

/// Copies of the longest row if this is its key. A value without its quotes or escapes is one, and
/// each byte of a key may take two.
fn copies(key: &KeyColumn, on_bad: OnBad) -> u64 {
    match key_length(key, on_bad) {
        KeyLength::Short | KeyLength::Limited => COPIES,
        KeyLength::Times(times) => COPIES + times + u64::from(times > 1),
    }
}

fn key_length(key: &KeyColumn, on_bad: OnBad) -> KeyLength {
    use KeyKind::{
        Bool, Date, DateTime, Float, Integer, Ip, Json, Length, Locale, Natural, NoCase, Number,
        Text, Version,
    };
    match (&key.kind, on_bad) {
        (Length, _) => KeyLength::Short,
        (Locale, _) => KeyLength::Limited,
        (Text | Json | NoCase, _) => KeyLength::Times(2),
        // A count comes before each number.
        (Natural | Version, _) => KeyLength::Times(4),
        (_, OnBad::Put(_)) => KeyLength::Times(2),
        (Integer | Number, OnBad::Refuse) => KeyLength::Times(1),
        (Float | Bool | Date | DateTime(_) | Ip, OnBad::Refuse) => KeyLength::Short,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{Keys, Place};

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
