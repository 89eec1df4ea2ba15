//! Counts and sums records while their bytes pass.

use xsort_kernels::lines::line_hash;
use xsort_records::Checksum;

/// How records are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// A record is this number of bytes.
    Size(usize),
    /// A record ends with this byte.
    End(u8),
}

/// The count and sum of records that arrive in pieces of any length.
#[derive(Clone, Debug)]
pub(crate) struct RecordSum {
    framing: Framing,
    /// The beginning of a record whose end has not arrived yet.
    begun: Vec<u8>,
    checksum: Checksum,
    /// The sum of the hashes with which the engine of lines checks its balance.
    hash: u64,
    /// The first and last complete records, without the byte that ends them, possibly truncated.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    /// Maximum number of bytes kept of each.
    kept_bytes: usize,
}

impl RecordSum {
    pub(crate) fn new(framing: Framing) -> RecordSum {
        RecordSum {
            framing,
            begun: Vec::new(),
            checksum: Checksum::default(),
            hash: 0,
            ends: None,
            kept_bytes: 0,
        }
    }

    /// Makes it also keep up to `kept_bytes` bytes of the first and last record.
    pub(crate) fn keeping_ends(self, kept_bytes: usize) -> RecordSum {
        RecordSum { kept_bytes, ..self }
    }

    /// Adds the next bytes.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) {
        let end = match self.framing {
            Framing::Size(size) => {
                let whole = bytes.len() / size * size;
                assert_eq!(whole, bytes.len(), "records of one size come whole");
                return self.checksum.add_records(bytes, size);
            }
            Framing::End(end) => end,
        };
        if !self.begun.is_empty() {
            let Some(at) = memchr::memchr(end, bytes) else {
                return self.begun.extend_from_slice(bytes);
            };
            let mut record = std::mem::take(&mut self.begun);
            record.extend_from_slice(&bytes[..=at]);
            self.add_record(&record, &record);
            self.keep(&record);
            record.clear();
            self.begun = record;
            bytes = &bytes[at + 1..];
        }
        let mut last = None;
        let mut from = 0;
        for at in memchr::memchr_iter(end, bytes) {
            let record = &bytes[from..=at];
            self.add_record(record, &bytes[from..]);
            if self.ends.is_none() {
                self.keep(record);
            }
            last = Some(record);
            from = at + 1;
        }
        if let Some(record) = last {
            self.keep(record);
        }
        self.begun.extend_from_slice(&bytes[from..]);
    }

    /// Adds a record, which is the beginning of `tail`.
    fn add_record(&mut self, record: &[u8], tail: &[u8]) {
        self.checksum.add_records(record, record.len());
        self.hash = self.hash.wrapping_add(line_hash(tail, record.len() - 1));
    }

    fn keep(&mut self, record: &[u8]) {
        if self.kept_bytes == 0 {
            return;
        }
        let record = &record[..(record.len() - 1).min(self.kept_bytes)];
        let (_, last) = self.ends.get_or_insert_with(|| (record.to_vec(), Vec::new()));
        last.clear();
        last.extend_from_slice(record);
    }

    /// Returns whether the bytes so far end at the end of a record.
    pub(crate) fn is_whole(&self) -> bool {
        self.begun.is_empty()
    }

    pub(crate) fn checksum(&self) -> Checksum {
        self.checksum
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns the first and last record, possibly truncated.
    pub(crate) fn into_ends(self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_no_difference() {
        let text = b"one\n\nthree three three\n4\nfive\n";
        let mut whole = RecordSum::new(Framing::End(b'\n')).keeping_ends(5);
        whole.add(text);
        assert_eq!((whole.checksum().records(), whole.is_whole()), (5, true));
        for step in 1..text.len() {
            let mut pieces = RecordSum::new(Framing::End(b'\n')).keeping_ends(5);
            text.chunks(step).for_each(|piece| pieces.add(piece));
            assert_eq!((pieces.checksum(), pieces.hash()), (whole.checksum(), whole.hash()));
            assert!(pieces.is_whole());
            assert_eq!(pieces.into_ends(), Some((b"one".to_vec(), b"five".to_vec())));
        }
        let mut other = RecordSum::new(Framing::End(b'\n'));
        other.add(b"one\n\nthree three thre3\n4\nfive\nsix");
        assert_ne!(other.checksum(), whole.checksum());
        assert!(!other.is_whole());
    }
}
