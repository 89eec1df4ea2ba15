//! Inputs that are in order: runs whose blocks are merged where they are.

use crate::Error;
use crate::records::job::SortJob;
use crate::store::ordered_reads::FileRange;
use parking_lot::Mutex;
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, FileId, align_down};
use xsort_records::Checksum;

/// The file of a run that is an input, or a stretch of one.
#[derive(Debug)]
pub(crate) struct SortedInput {
    pub(crate) file: FileId,
    /// Number of the first record in the file.
    pub(crate) from: u64,
    /// Number of records in each block but the last.
    pub(crate) block_records: u64,
    /// Checksum of the records of all inputs that were checked.
    pub(crate) read: Arc<Mutex<Checksum>>,
}

impl SortedInput {
    /// The place of a block of `records` records in the file.
    pub(crate) fn range(&self, block: usize, records: u32, record_bytes: usize) -> RecordRange {
        let from = self.from + block as u64 * self.block_records;
        RecordRange::new(self.file, from, u64::from(records), record_bytes)
    }

    /// Checks the order of a block's records, and adds them to the checksum. The key of the first
    /// one must be `first`, and no key greater than `limit`.
    ///
    /// # Errors
    /// [`Error::NotInOrder`], also if the file has changed since its keys were read.
    pub(crate) fn check(
        &self,
        job: &SortJob<'_>,
        records: &[u8],
        first: &[u8],
        limit: &[u8],
    ) -> Result<(), Error> {
        let SortJob { kernels, record_bytes, .. } = *job;
        let last = &records[records.len() - record_bytes..];
        let is_in_order = kernels.compare_encoded(&records[..record_bytes], first).is_eq()
            && kernels.compare_encoded(last, limit).is_le()
            && kernels.is_sorted(records, record_bytes);
        if !is_in_order {
            return Err(Error::NotInOrder);
        }
        let mut checksum = Checksum::default();
        job.stage_times.checksum_busy.time(|| checksum.add_records(records, record_bytes));
        self.read.lock().merge(checksum);
        Ok(())
    }
}

/// Records in a file, and the pages that hold them.
pub(crate) struct RecordRange {
    /// The bytes from the beginning of the first page to the end of the last record.
    pub(crate) pages: FileRange,
    /// Offset of the first record in these.
    pub(crate) lead: usize,
}

impl RecordRange {
    /// The place of `records` records, from number `from` on.
    pub(crate) fn new(file: FileId, from: u64, records: u64, record_bytes: usize) -> RecordRange {
        let first_byte = from * record_bytes as u64;
        let offset = align_down(first_byte);
        let lead = (first_byte - offset) as usize;
        let bytes = lead + records as usize * record_bytes;
        RecordRange { pages: FileRange { file, offset, bytes }, lead }
    }
}

/// Number of records in a block of `block_bytes` bytes. The first one may begin anywhere in the
/// block's first page.
pub(crate) fn records_of_block(block_bytes: u64, record_bytes: u64) -> u64 {
    block_bytes.saturating_sub(ALIGNMENT as u64) / record_bytes
}
