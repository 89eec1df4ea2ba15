//! Records with their keys, many at once: what passes between Python's thread and that of a sort.

/// Bytes from which on a batch is full.
const BATCH_BYTES: usize = 128 << 10;

/// Records with their keys, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    /// Bytes of each key and each record.
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

    /// Whether a record with its key fills a batch by itself.
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

/// A batch that is taken record by record.
#[derive(Debug, Default)]
pub(crate) struct BatchReader {
    batch: Batch,
    /// Records that were taken, and their bytes.
    taken: usize,
    at: usize,
}

impl BatchReader {
    pub(crate) fn new(batch: Batch) -> BatchReader {
        BatchReader { batch, taken: 0, at: 0 }
    }

    /// The key and the record that come next.
    pub(crate) fn next_record(&mut self) -> Option<(&[u8], &[u8])> {
        let &(key, record) = self.batch.lengths.get(self.taken)?;
        let (begin, key_end) = (self.at, self.at + key);
        self.taken += 1;
        self.at = key_end + record;
        Some((&self.batch.bytes[begin..key_end], &self.batch.bytes[key_end..self.at]))
    }
}
