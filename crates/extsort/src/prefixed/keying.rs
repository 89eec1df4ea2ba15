//! Turns an input into keyed records: walks from prefix to prefix, and builds keys of the bytes
//! between.
//!
//! The walk is cheap enough to be done twice: when the reading thread cuts pieces, and when their
//! keys are built. So no index travels with a piece.

use super::bad_record::BadRecord;
use super::key_room::keyed_bytes_most;
use crate::Error;
use crate::keyed::{Cut, KeyWriter, Keying, MoreMemory, Piece, RecordRoom, end_key, push_record};
use parking_lot::Mutex;
use std::io::{self, Read};
use xsort_records::{Checksum, Key, KeyField, KeyKind, KeyRule, Layout, LayoutError, Prefix};

/// Bytes of the longest number.
const NUMBER_BYTES_MAX: usize = 16;
/// Offsets of keys up to this one are accepted, even if no record can be that long.
const OFFSET_BYTES_MAX: usize = 16 << 20;

/// Cuts prefixed records and builds their keys, for all inputs of a sort.
#[derive(Debug)]
pub(super) struct PrefixedKeying {
    prefix: Prefix,
    fields: Vec<Field>,
    /// How long records may be, with their prefixes.
    room: RecordRoom,
    pub(super) read: Mutex<RecordsRead>,
}

/// Counts the records that have their keys.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordsRead {
    /// Number and checksum of the records, with their prefixes.
    pub(super) checksum: Checksum,
    pub(super) bytes: u64,
}

#[derive(Debug)]
struct Field {
    field: KeyField,
    /// Encodes a number as a key; `None` for a field of bytes.
    number: Option<Layout>,
}

/// The next record of the input, or how much of it is missing.
enum Next {
    /// A whole record: the length of its prefix, and its whole length.
    Whole { prefix_bytes: usize, bytes: usize },
    /// A record that isn't complete yet, and has at most `bytes_max` bytes.
    Part { bytes_max: usize },
}

impl PrefixedKeying {
    /// Checks that records can have these fields.
    pub(super) fn new(
        prefix: Prefix,
        fields: &[KeyField],
        room: RecordRoom,
    ) -> Result<PrefixedKeying, Error> {
        let offset_max = room.record_bytes_max.max(OFFSET_BYTES_MAX);
        let fields = fields.iter().map(|field| Field::new(field, offset_max));
        let fields = fields.collect::<Result<_, _>>()?;
        Ok(PrefixedKeying { prefix, fields, room, read: Mutex::default() })
    }

    /// The advice for a record of `bytes` bytes that is too long to be read.
    fn room_for(&self, bytes: u64) -> MoreMemory {
        let fields = self.fields.iter().map(|field| &field.field);
        let keyed_bytes = keyed_bytes_most(fields, bytes);
        MoreMemory(self.room.budget_of(bytes, keyed_bytes))
    }

    /// Returns the record that `rest` begins with if it is whole, else how long it may be. `at` is
    /// its number and offset.
    fn next(&self, rest: &[u8], is_last: bool, at: Piece) -> Result<Next, BadRecord> {
        let (prefix, Piece { record, offset, .. }) = (self.prefix, at);
        let read = prefix.read(rest);
        let read = read.map_err(|reason| BadRecord::Prefix { record, offset, prefix, reason })?;
        let bytes_max = self.room.record_bytes_max;
        let Some((prefix_bytes, length)) = read else {
            return match is_last {
                true => Err(BadRecord::PartOfPrefix { record, offset, prefix }),
                false => Ok(Next::Part { bytes_max }),
            };
        };
        let bytes = match length.saturating_add(prefix_bytes as u64) {
            bytes if bytes <= bytes_max as u64 => bytes as usize,
            bytes => {
                let more = self.room_for(bytes);
                let bytes_max = bytes_max as u64;
                return Err(BadRecord::TooLong { record, offset, prefix, length, bytes_max, more });
            }
        };
        match rest.len() < bytes {
            true if is_last => {
                let there = (rest.len() - prefix_bytes) as u64;
                Err(BadRecord::PartOfRecord { record, offset, prefix, length, there })
            }
            true => Ok(Next::Part { bytes_max: bytes }),
            false => Ok(Next::Whole { prefix_bytes, bytes }),
        }
    }

    /// Appends the key of a record. `body` is the record without its prefix. Returns the first
    /// field that the record is too short for, if there is one.
    fn push_key(
        &self,
        keyed: &mut Vec<u8>,
        body: &[u8],
        numbers: &[Option<KeyRule<'_>>],
    ) -> Option<KeyField> {
        if self.fields.is_empty() {
            KeyWriter { out: keyed, is_descending: false }.text(body);
        }
        for (Field { field, .. }, number) in self.fields.iter().zip(numbers) {
            let &KeyField { offset, length, descending: is_descending, .. } = field;
            let end = offset.saturating_add(length);
            match number {
                None => {
                    let part = body.get(offset..end.min(body.len())).unwrap_or_default();
                    KeyWriter { out: keyed, is_descending }.text(part);
                }
                Some(_) if body.len() < end => return Some(*field),
                Some(number) => {
                    let mut buffer = [0; NUMBER_BYTES_MAX];
                    let encoded = &mut buffer[..length];
                    number.encode(&body[offset..end], encoded);
                    // The direction is already in the encoded bytes.
                    KeyWriter { out: keyed, is_descending: false }.fixed(encoded);
                }
            }
        }
        None
    }
}

impl Field {
    fn new(field: &KeyField, offset_max: usize) -> Result<Field, Error> {
        let &KeyField { offset, length, kind, .. } = field;
        if offset >= offset_max {
            return Err(Error::Settings(format!(
                "--key {field}: no record has a byte there: they have {offset_max} at most in \
                 this memory (-m)"
            )));
        }
        let settings = |error: LayoutError| Error::Settings(format!("--key {field}: {error}"));
        let number = match kind {
            KeyKind::Bytes => None,
            _ => {
                let own = KeyField { offset: 0, ..*field };
                Some(Layout::new(length, vec![own]).map_err(settings)?)
            }
        };
        Ok(Field { field: *field, number })
    }
}

impl Keying for PrefixedKeying {
    type Index = ();

    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        at: Piece,
        (): &mut (),
    ) -> io::Result<Cut> {
        let (mut own, mut records) = (0, 0);
        while own < bytes.len() && records < records_max as u64 {
            let at = Piece { record: at.record + records, offset: at.offset + own as u64, ..at };
            match self.next(&bytes[own..], is_last, at) {
                Ok(Next::Whole { bytes, .. }) => own += bytes,
                // The records before it come first: one of them may be bad, too.
                Ok(Next::Part { .. }) | Err(_) if records > 0 => break,
                Ok(Next::Part { bytes_max }) => return Ok(Cut::Part { bytes_max }),
                Err(bad) => return Err(bad.into()),
            }
            records += 1;
        }
        Ok(Cut::Records { bytes: own, records })
    }

    fn too_long(&self, _: &[u8], _: &mut dyn Read, _: Piece) -> io::Error {
        unreachable!("a prefix says how long its record is, and the cut refuses it")
    }

    fn key(&self, bytes: &[u8], (): &(), at: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let numbers = self.fields.iter().map(|field| field.number.as_ref().map(Layout::rule));
        let numbers: Vec<Option<KeyRule<'_>>> = numbers.collect();
        let (mut begin, mut checksum) = (0, Checksum::default());
        while begin < bytes.len() {
            let at = Piece {
                record: at.record + checksum.records(),
                offset: at.offset + begin as u64,
                ..at
            };
            let Next::Whole { prefix_bytes, bytes: own } = self.next(&bytes[begin..], true, at)?
            else {
                unreachable!("a last record is whole or bad")
            };
            let whole = &bytes[begin..begin + own];
            let (body, before) = (&whole[prefix_bytes..], keyed.len());
            if let Some(field) = self.push_key(keyed, body, &numbers) {
                let (record, offset, length) = (at.record, at.offset, body.len());
                return Err(BadRecord::TooShort { record, offset, length, field }.into());
            }
            end_key(keyed);
            push_record(keyed, whole, b"");
            let (bytes, bytes_max) = (keyed.len() - before, self.room.keyed_bytes_max);
            if bytes > bytes_max {
                let Piece { record, offset, .. } = at;
                let more = MoreMemory(self.room.budget_of(own as u64, bytes as u64));
                return Err(BadRecord::LongKey { record, offset, bytes, bytes_max, more }.into());
            }
            checksum.add_records(whole, own);
            begin += own;
        }
        let mut read = self.read.lock();
        read.checksum.merge(checksum);
        read.bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed::room;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    fn keying(prefix: Prefix, fields: &[&str]) -> PrefixedKeying {
        let fields: Vec<KeyField> = fields.iter().map(|field| field.parse().unwrap()).collect();
        PrefixedKeying::new(prefix, &fields, room(2 << 20, 1, 3)).unwrap()
    }

    /// A record with a prefix of one byte, or of a varint of two.
    fn whole(prefix: Prefix, body: &[u8]) -> Vec<u8> {
        let length = body.len() as u8;
        match prefix {
            Prefix::Varint => [&[length & 0x7f | 0x80, length >> 7], body].concat(),
            _ => [&[length], body].concat(),
        }
    }

    fn first_key(keying: &PrefixedKeying, body: &[u8]) -> Vec<u8> {
        let mut keyed = Vec::new();
        let at = Piece { input: 0, record: 1, offset: 0 };
        keying.key(&whole(keying.prefix, body), &(), at, &mut keyed).unwrap();
        keyed
    }

    fn bodies() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(0xfe), Just(0xff), any::<u8>()];
        vec(byte, 0..6)
    }

    proptest! {
        /// Wherever reads end, the pieces are the records one by one.
        #[test]
        fn pieces_are_whole_records(
            bodies in vec(bodies(), 0..40),
            is_varint: bool,
            wanted in 1..60usize,
            records_max in 1..9usize,
        ) {
            let prefix = if is_varint { Prefix::Varint } else { Prefix::U8 };
            let keying = keying(prefix, &[]);
            let records: Vec<Vec<u8>> = bodies.iter().map(|body| whole(prefix, body)).collect();
            let text = records.concat();
            let (mut begin, mut next, mut read) = (0, 0, wanted);
            while begin < text.len() {
                let end = text.len().min(begin + read);
                let at = Piece { input: 0, record: 1 + next as u64, offset: begin as u64 };
                let is_last = end == text.len();
                match keying.cut(&text[begin..end], is_last, records_max, at, &mut ()).unwrap() {
                    Cut::Part { .. } => read += wanted,
                    Cut::Records { bytes, records: count } => {
                        prop_assert!(count > 0 && count as usize <= records_max);
                        let expected = records[next..next + count as usize].concat();
                        prop_assert_eq!(&text[begin..begin + bytes], &expected[..]);
                        (begin, next, read) = (begin + bytes, next + count as usize, wanted);
                    }
                }
            }
            prop_assert_eq!(next, records.len());
            let mut keyed = Vec::new();
            keying.key(&text, &(), Piece { input: 0, record: 1, offset: 0 }, &mut keyed).unwrap();
            let read = *keying.read.lock();
            prop_assert_eq!(read.checksum.records(), next as u64);
            prop_assert_eq!(read.bytes, text.len() as u64);
        }

        /// A record that has only a part of a field of bytes compares as a shorter text.
        #[test]
        fn keys_compare_as_parts_of_records_do(a in bodies(), b in bodies()) {
            let part = |body: &[u8], from: usize, to: usize| -> Vec<u8> {
                body.iter().copied().take(to).skip(from).collect()
            };
            let order = |fields: &[&str]| {
                let keying = keying(Prefix::U8, fields);
                let keys = [&a, &b].map(|body| first_key(&keying, body));
                let ends = keys.each_ref().map(|key| {
                    key.windows(2).position(|two| two == [1, 1]).unwrap()
                });
                keys[0][..ends[0]].cmp(&keys[1][..ends[1]])
            };
            prop_assert_eq!(order(&[]), a.cmp(&b));
            let by_part: Ordering = part(&a, 1, 4).cmp(&part(&b, 1, 4));
            prop_assert_eq!(order(&["1:3"]), by_part);
            prop_assert_eq!(order(&["1:3:desc"]), by_part.reverse());
            let by_both = part(&a, 4, 6).cmp(&part(&b, 4, 6)).then(by_part.reverse());
            prop_assert_eq!(order(&["4:2", "1:3:desc"]), by_both);
            let padded = |body: &[u8]| [body, &[7; 4]].concat();
            let number = |body: &[u8]| i16::from_le_bytes([padded(body)[1], padded(body)[2]]);
            let keying = keying(Prefix::U8, &["1:2:i16le:desc", "0:1"]);
            let [ka, kb] = [&a, &b].map(|body| first_key(&keying, &padded(body)));
            let expected = number(&b).cmp(&number(&a)).then(padded(&a)[0].cmp(&padded(&b)[0]));
            if expected.is_ne() {
                prop_assert_eq!(ka.cmp(&kb), expected);
            }
        }
    }

    #[test]
    fn bad_records_are_named() {
        let said = |keying: &PrefixedKeying, bytes: &[u8]| {
            let at = Piece { input: 0, record: 5, offset: 100 };
            match keying.cut(bytes, true, 100, at, &mut ()) {
                Err(error) => error.to_string(),
                Ok(_) => keying.key(bytes, &(), at, &mut Vec::new()).unwrap_err().to_string(),
            }
        };
        let short = Prefix::U8;
        let wide: Prefix = "prefixed:u32be".parse().unwrap();
        for (prefix, bytes, words) in [
            (short, &[3, 1, 2][..], "ends in record 5, from byte 100 on: of the 3 bytes"),
            (wide, &[0, 0], "ends in the prefix of record 5, at byte 100"),
            (wide, &[1, 0, 0, 0], "has 16777216 bytes by its prefix"),
            (Prefix::Varint, &[0xff; 10], "byte 100 is a varint of more than 10 bytes"),
            (short, &[4, 1, 2, 3, 4, 1, 0], "record 6, from byte 105 on, has 1 bytes"),
        ] {
            let said = said(&keying(prefix, &["1:2:u16"]), bytes);
            assert!(said.contains(words), "{said}");
        }
    }
}
