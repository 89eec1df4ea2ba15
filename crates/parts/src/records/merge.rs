//! Merges the ranges of all slices for a part.
//!
//! Each range has a window in memory. All records up to the smallest of the windows' last records
//! can be merged: after it, smaller records may follow that are not in memory yet. Then windows
//! that are half empty read more.
//!
//! Every range is counted and summed as it is read, and the verifier checks the output as it is
//! written: order, count and checksum.

use super::Records;
use super::window::{BLOCKS, Window};
use crate::error::Error;
use crate::hex::Hex;
use crate::means::Means;
use crate::merge_range::{MergeRange, checksum_of};
use crate::part_entry::PartEntry;
use crate::summary::Merged;
use std::io::Write;
use std::path::Path;
use xsort_disk::ALIGNMENT;
use xsort_extsort::lines::FileOutput;
use xsort_kernels::{Node, RecordKernels, Run, kernels_of, nodes_needed};
use xsort_records::VerifySummary;

/// Number of bytes that are merged at once.
const OUTPUT_BYTES: usize = 1 << 20;
/// Maximum size of a range's blocks: larger ones don't make any drive faster.
const BLOCK_BYTES_MAX: usize = 1 << 20;
/// Minimum size of a range's blocks.
const BLOCK_BYTES_MIN: usize = 16 << 10;

/// A range of a sorted slice while it is merged.
struct Source<'r> {
    range: &'r MergeRange,
    window: Window,
}

impl Source<'_> {
    fn fill(&mut self) -> Result<(), Error> {
        let of_read = |error| xsort_disk::Error::of_read(&self.range.path, error);
        self.window.fill().map_err(of_read).map_err(|error| self.range.lost(error))?;
        if self.window.is_last() {
            self.range.check(self.window.sum())?;
        }
        Ok(())
    }
}

impl Records {
    pub(super) fn merge_part(
        &self,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        let sent = checksum_of(ranges);
        let mut sources = self.open(ranges, means)?;
        let bytes = sent.records() * self.layout.record_bytes() as u64;
        means.observer.phase("merge", bytes);
        let mut file = FileOutput::create(&*means.job.disk, output, bytes)?;
        let found = self.merge_to(&mut sources, &mut file, means).map_err(|error| match error {
            Error::Engine(error) => Error::Engine(error.of_output(output)),
            error => error,
        })?;
        xsort_extsort::Error::check_balance(sent, found.checksum())?;
        if !found.is_sorted() {
            let what = format!("{} records out of order would be written", found.unordered());
            return Err(xsort_extsort::Error::Lost { what }.into());
        }
        file.publish(means.sync)?;
        let keys = found.first_record().zip(found.last_record());
        let keys = keys.map(|(first, last)| (Hex(self.key(first)), Hex(self.key(last))));
        Ok(Merged { checksum: found.checksum(), bytes, keys })
    }

    /// Opens all ranges.
    fn open<'r>(
        &self,
        ranges: &'r [MergeRange],
        means: &Means<'_>,
    ) -> Result<Vec<Source<'r>>, Error> {
        let record_bytes = self.layout.record_bytes();
        let block_bytes = self.block_bytes(ranges.len(), means.job.budget_bytes())?;
        let open = |range: &'r MergeRange| {
            let PartEntry { slice, offset, bytes, records, .. } = range.entry;
            if records.checked_mul(record_bytes as u64) != Some(bytes) {
                let reason = format!("slice {slice} has other bytes than records");
                return Err(Error::input(Path::new(&range.origin), reason));
            }
            let window =
                Window::open(means, &range.path, (offset, bytes), record_bytes, block_bytes)
                    .map_err(|error| range.lost(error))?;
            Ok(Source { range, window })
        };
        ranges.iter().map(open).collect()
    }

    /// Returns the size in bytes of the blocks with which `ranges` ranges are read.
    fn block_bytes(&self, ranges: usize, budget_bytes: u64) -> Result<usize, Error> {
        let record_bytes = self.layout.record_bytes();
        let output = FileOutput::MEMORY_BYTES + OUTPUT_BYTES.max(record_bytes) as u64;
        // The same amount again for the window, which has room for at least one record.
        let taken = |block_bytes: usize| {
            let window = (BLOCKS * block_bytes).max(record_bytes);
            output + ranges as u64 * (BLOCKS * block_bytes + window) as u64
        };
        let mut block_bytes = BLOCK_BYTES_MAX;
        while block_bytes > BLOCK_BYTES_MIN && taken(block_bytes) > budget_bytes {
            block_bytes /= 2;
        }
        assert!(block_bytes.is_multiple_of(ALIGNMENT));
        match taken(block_bytes) {
            needed_bytes if needed_bytes > budget_bytes => {
                Err(xsort_extsort::Error::Memory { budget_bytes, needed_bytes }.into())
            }
            _ => Ok(block_bytes),
        }
    }

    /// Merges all windows to the output. Returns the verifier's summary of the output.
    fn merge_to(
        &self,
        sources: &mut [Source<'_>],
        output: &mut FileOutput<'_>,
        means: &Means<'_>,
    ) -> Result<VerifySummary, Error> {
        let record_bytes = self.layout.record_bytes();
        let rule = self.layout.rule();
        let kernels = kernels_of(&rule);
        let mut found = VerifySummary::new(&self.layout);
        let mut merged = vec![0; (OUTPUT_BYTES / record_bytes).max(1) * record_bytes];
        let mut nodes = vec![Node::default(); nodes_needed(sources.len())];
        loop {
            for source in &mut *sources {
                source.fill()?;
            }
            let ready = self.ready(kernels, sources);
            if ready.iter().all(|&bytes| bytes == 0) {
                return Ok(found);
            }
            let blocks: Vec<[&[u8]; 1]> = sources
                .iter()
                .zip(&ready)
                .map(|(source, &bytes)| [&source.window.records()[..bytes]])
                .collect();
            let runs: Vec<Run<'_>> = blocks.iter().map(|blocks| Run::Blocks(blocks)).collect();
            let mut merge = kernels.merge(record_bytes, 0, &runs, &mut nodes);
            loop {
                let bytes = merge.fill(&mut merged) * record_bytes;
                if bytes == 0 {
                    break;
                }
                if means.observer.is_cancelled() {
                    return Err(xsort_extsort::Error::Cancelled.into());
                }
                found.extend(&merged[..bytes]);
                output.write_all(&merged[..bytes]).map_err(xsort_extsort::Error::Output)?;
                means.observer.advance(bytes as u64);
            }
            drop(merge);
            for (source, &bytes) in sources.iter_mut().zip(&ready) {
                source.window.take(bytes);
            }
        }
    }

    /// Returns the bytes of each window that precede all records not in memory yet.
    fn ready(&self, kernels: &dyn RecordKernels, sources: &[Source<'_>]) -> Vec<usize> {
        let record_bytes = self.layout.record_bytes();
        let last = |source: &Source<'_>| {
            let records = source.window.records();
            self.key(&records[records.len() - record_bytes..])
        };
        let open = sources.iter().enumerate().filter(|(_, source)| !source.window.is_last());
        // The first of equal ones: records after it precede equal records in later ranges.
        let Some((bound, owner)) = open.map(|(index, source)| (last(source), index)).min() else {
            return sources.iter().map(|source| source.window.records().len()).collect();
        };
        let ready = |(index, source): (usize, &Source<'_>)| {
            let records = source.window.records();
            kernels.bound_in_block(records, record_bytes, &bound, index <= owner) * record_bytes
        };
        sources.iter().enumerate().map(ready).collect()
    }
}
