//! Turns an input into keyed records: walks from length to length, and builds keys.

use crate::bad_record::BadRecord;
use crate::order::{Alignment, BamOrder};
use std::io::{self, Read};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use xsort_extsort::keyed::{Cut, Keying, MoreMemory, Piece, RecordRoom, end_key, push_record};

/// Bytes of the number before a record.
const LENGTH_BYTES: usize = 4;
/// Most bytes of a key and its marks beside the record: a name twice, or a text of a tag.
const KEY_BYTES: u64 = 1 << 10;
/// Stuffing adds one byte per this many bytes.
const STUFFED_BYTES: u64 = 254;

/// Cuts records of BAM and builds their keys, for all inputs of a sort.
#[derive(Debug)]
pub(crate) struct BamKeying {
    pub(crate) order: BamOrder,
    /// Sequences of the header.
    pub(crate) sequences: u32,
    pub(crate) room: RecordRoom,
    /// Bytes of the records that have keys.
    pub(crate) bytes: AtomicU64,
}

impl BamKeying {
    /// Bytes of the record that `rest` begins with, with its length; `None` if more of it has to be
    /// read to tell.
    fn bytes_of(&self, rest: &[u8], at: Piece) -> Result<Option<usize>, BadRecord> {
        let Some(length) = rest.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let Piece { record, offset, .. } = at;
        let length = u64::from(u32::from_le_bytes(*length));
        let (bytes, bytes_max) = (length + LENGTH_BYTES as u64, self.room.record_bytes_max as u64);
        if bytes > bytes_max {
            let keyed_bytes = 2 * (bytes + bytes / STUFFED_BYTES) + KEY_BYTES;
            let more = MoreMemory(self.room.budget_of(bytes, keyed_bytes));
            return Err(BadRecord::TooLong { record, offset, length, bytes_max, more });
        }
        Ok(Some(bytes as usize))
    }
}

impl Keying for BamKeying {
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
            let there = bytes.len() - own;
            match self.bytes_of(&bytes[own..], at) {
                Ok(Some(whole)) if whole <= there => own += whole,
                // The records before it come first: one of them may be bad, too.
                Ok(_) | Err(_) if records > 0 => break,
                Ok(whole) if is_last => {
                    let length = whole.map_or(LENGTH_BYTES as u64, |whole| whole as u64);
                    let (Piece { record, offset, .. }, there) = (at, there as u64);
                    return Err(BadRecord::Part { record, offset, length, there }.into());
                }
                Ok(whole) => {
                    let bytes_max = whole.unwrap_or(self.room.record_bytes_max);
                    return Ok(Cut::Part { bytes_max });
                }
                Err(bad) => return Err(bad.into()),
            }
            records += 1;
        }
        Ok(Cut::Records { bytes: own, records })
    }

    fn too_long(&self, _: &[u8], _: &mut dyn Read, _: Piece) -> io::Error {
        unreachable!("a record says how long it is, and the cut refuses it")
    }

    fn key(&self, bytes: &[u8], (): &(), at: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let (mut begin, mut number, mut name) = (0, 0, Vec::new());
        while begin < bytes.len() {
            let (record, offset) = (at.record + number, at.offset + begin as u64);
            let at = Piece { record, offset, ..at };
            let Some(own) = self.bytes_of(&bytes[begin..], at)? else {
                unreachable!("the cut has found its end")
            };
            let whole = &bytes[begin..begin + own];
            let alignment = Alignment::new(&whole[LENGTH_BYTES..], self.sequences)
                .map_err(|what| BadRecord::Impossible { record, offset, what })?;
            let before = keyed.len();
            self.order.push_key(&alignment, keyed, &mut name);
            end_key(keyed);
            push_record(keyed, whole, b"");
            if keyed.len() - before > self.room.keyed_bytes_max {
                let (length, bytes_max) = (own as u64, self.room.record_bytes_max as u64);
                let keyed_bytes = (keyed.len() - before) as u64;
                let more = MoreMemory(self.room.budget_of(length, keyed_bytes));
                return Err(BadRecord::TooLong { record, offset, length, bytes_max, more }.into());
            }
            (begin, number) = (begin + own, number + 1);
        }
        self.bytes.fetch_add(bytes.len() as u64, Relaxed);
        Ok(())
    }
}
