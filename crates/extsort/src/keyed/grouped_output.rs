//! Writes one record for each group of records with equal keys.
//!
//! The records come sorted and with all duplicates, since a run on scratch has no place for counts.
//! So grouping costs a full sort and one comparison per record. Two records are in memory: the one
//! kept for its group so far, and the one being read.

use super::encode::{RECORD_END, key_bytes};
use super::restore::Restore;
use std::io::{self, Write};

/// Bytes per write, at most. Each write has whole records.
const WRITE_BYTES: usize = 64 << 10;

/// Which record of a group is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first one in the order of the input.
    First,
    /// The last one in the order of the input.
    Last,
}

/// Returns a number of first bytes of a keyed record.
type GroupBytes = Box<dyn Fn(&[u8]) -> usize + Send>;

/// Takes keyed records in order, and writes one for each key.
pub struct GroupedOutput<W, F> {
    to: W,
    /// `None` if each record is a group of its own.
    keep: Option<Keep>,
    write_bytes: usize,
    /// Returns the bytes of a keyed record that those of its group have in common.
    group_bytes: GroupBytes,
    /// Appends a record, given the size of its group.
    append: F,
    groups_left: u64,
    /// The keyed record kept for the group, without its end.
    kept: Vec<u8>,
    records: u64,
    /// The beginning of a keyed record whose end is still to come.
    begun: Vec<u8>,
    out: Vec<u8>,
    /// Bytes written so far.
    pub written_bytes: u64,
    /// Records in all closed groups.
    pub records_taken: u64,
}

impl<W: Write, F: FnMut(&mut Vec<u8>, u64, &[u8])> GroupedOutput<W, F> {
    /// An output that writes at most `groups_max` groups to `to`. `append` appends a record to the
    /// buffer, given the size of its group.
    pub fn new(to: W, keep: Option<Keep>, groups_max: u64, append: F) -> Self {
        GroupedOutput {
            to,
            keep,
            write_bytes: WRITE_BYTES,
            group_bytes: Box::new(key_bytes),
            append,
            groups_left: groups_max,
            kept: Vec::new(),
            records: 0,
            begun: Vec::new(),
            out: Vec::new(),
            written_bytes: 0,
            records_taken: 0,
        }
    }

    /// Limits each write to `write_bytes` bytes, or to one record if it is longer.
    #[must_use]
    pub fn with_writes_of(self, write_bytes: usize) -> Self {
        GroupedOutput { write_bytes: write_bytes.min(WRITE_BYTES), ..self }
    }

    /// Makes records a group whose first bytes are equal, as many as `bytes` returns for a keyed
    /// record. Unless called, these are the bytes of the key.
    #[must_use]
    pub fn grouped_by(self, bytes: impl Fn(&[u8]) -> usize + Send + 'static) -> Self {
        GroupedOutput { group_bytes: Box::new(bytes), ..self }
    }

    /// Adds a keyed record to the group or begins a new group.
    fn take(&mut self, keyed: &[u8]) -> io::Result<()> {
        let key = &keyed[..(self.group_bytes)(keyed)];
        let is_same = self.keep.is_some()
            && self.records > 0
            && self.kept[..(self.group_bytes)(&self.kept)] == *key;
        if !is_same {
            self.end_group()?;
        }
        if !is_same || self.keep == Some(Keep::Last) {
            self.kept.clear();
            self.kept.extend_from_slice(keyed);
        }
        self.records += 1;
        Ok(())
    }

    /// Writes the record kept for the group, if there is a group.
    fn end_group(&mut self) -> io::Result<()> {
        let records = std::mem::take(&mut self.records);
        self.records_taken += records;
        if records == 0 || self.groups_left == 0 {
            return Ok(());
        }
        self.groups_left -= 1;
        self.kept.push(RECORD_END);
        let bytes = Restore::default().apply(&mut self.kept, &mut 1);
        let before = self.out.len();
        (self.append)(&mut self.out, records, &self.kept[..bytes]);
        if before > 0 && self.out.len() > self.write_bytes {
            self.write_out(before)?;
        }
        Ok(())
    }

    /// Writes the first `bytes` bytes of the buffer.
    fn write_out(&mut self, bytes: usize) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.to.write_all(&self.out[..bytes])?;
        self.written_bytes += bytes as u64;
        self.out.drain(..bytes);
        Ok(())
    }
}

impl<W: Write, F: FnMut(&mut Vec<u8>, u64, &[u8])> Write for GroupedOutput<W, F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(RECORD_END, rest) {
            if self.begun.is_empty() {
                self.take(&rest[..end])?;
            } else {
                let mut keyed = std::mem::take(&mut self.begun);
                keyed.extend_from_slice(&rest[..end]);
                self.take(&keyed)?;
                keyed.clear();
                self.begun = keyed;
            }
            rest = &rest[end + 1..];
        }
        self.begun.extend_from_slice(rest);
        Ok(bytes.len())
    }

    /// Ends the last group. Call it after writing all records.
    fn flush(&mut self) -> io::Result<()> {
        self.end_group()?;
        self.write_out(self.out.len())?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode::{KeyWriter, end_key, push_record};
    use super::*;

    #[test]
    fn one_record_of_each_key_is_written() {
        let mut keyed = Vec::new();
        for (key, record) in [("a", "1"), ("a", "2\0"), ("ab", "3"), ("b", "4"), ("b", "5")] {
            KeyWriter { out: &mut keyed, is_descending: false }.text(key.as_bytes());
            end_key(&mut keyed);
            push_record(&mut keyed, record.as_bytes(), b"");
        }
        let cases: [(Option<Keep>, u64, &[u8]); 4] = [
            (Some(Keep::First), 9, b"2 1,1 3,2 4,"),
            (Some(Keep::Last), 9, b"2 2\0,1 3,2 5,"),
            (Some(Keep::Last), 1, b"2 2\0,"),
            (None, 9, b"1 1,1 2\0,1 3,1 4,1 5,"),
        ];
        for (keep, groups_max, expected) in cases {
            for step in 1..=keyed.len() {
                let mut out = Vec::new();
                let append = |out: &mut Vec<u8>, records: u64, record: &[u8]| {
                    out.extend(format!("{records} ").bytes());
                    out.extend_from_slice(record);
                    out.push(b',');
                };
                let mut output =
                    GroupedOutput::new(&mut out, keep, groups_max, append).with_writes_of(step);
                keyed.chunks(step).for_each(|part| output.write_all(part).unwrap());
                output.flush().unwrap();
                assert_eq!(output.records_taken, 5);
                assert_eq!(output.written_bytes, expected.len() as u64);
                assert_eq!(out, expected);
            }
        }
    }
}
