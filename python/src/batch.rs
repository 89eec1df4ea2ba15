//! Batches of records with their keys, for channels between Python's thread and the thread of a
//! sort.

/// A batch of at least this number of bytes is full.
const BATCH_BYTES: usize = 128 << 10;

/// Keys and records, one after the other: key, record, key, record.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// The lengths in bytes of each key and each record.
    lengths: Vec<(usize, usize)>,
}

impl Batch {
    pub(crate) fn push(&mut self, key: &[u8], record: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(record);
        self.lengths.push((key.len(), record.len()));
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES || self.lengths.len() >= BATCH_BYTES / 16
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// True if a record with its key fills a batch alone.
    pub(crate) fn is_long(key: &[u8], record: &[u8]) -> bool {
        key.len() + record.len() >= BATCH_BYTES
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut at = 0;
        self.lengths.iter().map(move |&(key, record)| {
            let (key_end, end) = (at + key, at + key + record);
            let item = (&self.bytes[at..key_end], &self.bytes[key_end..end]);
            at = end;
            item
        })
    }
}

/// Reads a batch record by record.
#[derive(Debug, Default)]
pub(crate) struct BatchReader {
    batch: Batch,
    /// The number of records read. The next field is the offset in bytes.
    taken: usize,
    at: usize,
}

impl BatchReader {
    pub(crate) fn new(batch: Batch) -> BatchReader {
        BatchReader { batch, taken: 0, at: 0 }
    }

    /// The next key and record.
    pub(crate) fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        let &(key, record) = self.batch.lengths.get(self.taken)?;
        let (begin, key_end) = (self.at, self.at + key);
        self.taken += 1;
        self.at = key_end + record;
        Some((&self.batch.bytes[begin..key_end], &self.batch.bytes[key_end..self.at]))
    }
}
