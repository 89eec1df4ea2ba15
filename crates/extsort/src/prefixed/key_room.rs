//! The memory that records take with their keys.

use xsort_records::{KeyField, KeyKind};

/// Keys of up to this many bytes take almost no memory.
const SHORT_KEY_BYTES_MAX: usize = 1 << 20;
/// Copies of the longest record beside the engine's pool: as it was read, with a quarter of its
/// length read after it, and with its key.
const COPIES: u64 = 3;
/// Copies of the longest record if its key is as long, since each byte of the key may take two.
/// Sorts of records of 16 MiB in 256 MiB took up to 36 MiB too much without it (two cores, November
/// 2026).
const COPIES_WITH_KEY: u64 = 6;
/// Bytes of a code.
const CODE_BYTES: u64 = 2;
const NUMBER_BYTES_MAX: u64 = 16;
/// Stuffing adds one byte per this many bytes.
const STUFFED_BYTES: u64 = 254;

/// Number of copies of the longest record that the budget must have memory for.
pub(super) fn copies(fields: &[KeyField]) -> u64 {
    let text_bytes = fields.iter().filter(|field| field.kind == KeyKind::Bytes);
    let text_bytes: usize = text_bytes.map(|field| field.length).fold(0, usize::saturating_add);
    match fields.is_empty() || text_bytes > SHORT_KEY_BYTES_MAX {
        true => COPIES_WITH_KEY,
        false => COPIES,
    }
}

/// Most bytes that a record of `record_bytes` bytes takes with its key, whatever its content.
pub(super) fn keyed_bytes_most<'f>(
    fields: impl ExactSizeIterator<Item = &'f KeyField>,
    record_bytes: u64,
) -> u64 {
    let own = |field: &KeyField| match field.kind {
        KeyKind::Bytes => (field.length as u64).min(record_bytes).saturating_add(1),
        _ => NUMBER_BYTES_MAX,
    };
    let text_bytes = match fields.len() {
        0 => record_bytes,
        _ => fields.map(own).fold(0, u64::saturating_add),
    };
    // After the key: its end, the kind of record, a code where none is full, and the end.
    let marks = CODE_BYTES + 1 + 1 + 1;
    record_bytes
        .saturating_add(record_bytes / STUFFED_BYTES + marks)
        .saturating_add(text_bytes.saturating_mul(CODE_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(specs: &str) -> Vec<KeyField> {
        specs.split_whitespace().map(|spec| spec.parse().unwrap()).collect()
    }

    #[test]
    fn long_keys_take_more_copies() {
        for (specs, expected) in [
            ("", COPIES_WITH_KEY),
            ("0:8", COPIES),
            ("0:8:u64 9:1048576", COPIES),
            ("0:1000000 9:1000000", COPIES_WITH_KEY),
        ] {
            assert_eq!(copies(&fields(specs)), expected, "{specs}");
        }
    }

    #[test]
    fn no_record_takes_more() {
        assert_eq!(keyed_bytes_most(fields("").iter(), 2540), 2540 + 10 + 5 + 2 * 2540);
        assert!(keyed_bytes_most(fields("0:8 8:8:u64").iter(), 2540) < 2540 + 80);
        assert_eq!(keyed_bytes_most(fields("").iter(), u64::MAX), u64::MAX);
    }
}
