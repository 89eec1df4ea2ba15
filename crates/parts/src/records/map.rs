//! Sorting a slice and cutting it at the splitters.
//!
//! The slice is sorted by the ordinary sort to one file, which is read again to find the cuts and
//! to count and sum what lies between them: what the manifest promises is what the drive has given
//! back.

use super::{Records, name_of};
use crate::error::Error;
use crate::job::{Slice, SliceInput};
use crate::manifest::{PartRange, SliceFiles};
use crate::means::Means;
use crate::splitters::{Splitter, Splitters};
use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use xsort_disk::{FileRange, Operation, RangeDisk};
use xsort_extsort::fixed::Method;
use xsort_extsort::variable::RangeRead;
use xsort_extsort::{SortOptions, SortReport, sort};
use xsort_records::{Checksum, Key};

/// Blocks with which the sorted data is read again, and bytes of each.
const BLOCKS: (usize, usize) = (4, 1 << 20);

impl Records {
    pub(super) fn map_slice(
        &self,
        slice: &Slice,
        splitters: &Splitters,
        parts: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<Vec<PartRange>, Error> {
        let report = self.sort_slice(slice, &files.data, means)?;
        let cuts = self.cuts(slice, splitters, &files.data)?;
        let ranges = self.ranges(&cuts, parts, &files.data, means)?;
        let mut read = Checksum::default();
        ranges.iter().for_each(|range| read.merge(range.checksum()));
        if (report.records, &*report.checksum) != (read.records(), &*read.to_string()) {
            let what = format!(
                "{}: {} records with checksum {} were written, and {} with {read} read back",
                files.data.display(),
                report.records,
                report.checksum,
                read.records()
            );
            return Err(xsort_extsort::Error::Lost { what }.into());
        }
        Ok(ranges)
    }

    /// The ordinary sort, of ranges.
    fn sort_slice(
        &self,
        slice: &Slice,
        output: &Path,
        means: &Means<'_>,
    ) -> Result<SortReport, Error> {
        let range = |input: &SliceInput| FileRange {
            name: name_of(input),
            path: (&input.path).into(),
            offset: input.offset,
            bytes: input.bytes,
        };
        let disk = RangeDisk::new(Arc::clone(&means.disk), slice.inputs.iter().map(range))?;
        let options = SortOptions {
            inputs: slice.inputs.iter().map(name_of).collect(),
            output: output.to_owned(),
            layout: self.layout.clone(),
            // The middle of a file may look like anything.
            format_is_assumed: self.format_is_assumed
                && slice.inputs.iter().all(|input| input.offset == 0),
            budget_bytes: means.budget_bytes,
            method: Method::Auto,
            threads: means.threads,
            caches: means.caches,
            scratch: means.scratch.clone(),
            remove_input: false,
            sync: means.sync,
            probe: false,
            checkpoint: None,
        };
        Ok(sort(&options, &disk, means.observer)?)
    }

    /// How many of the sorted records lie below each splitter.
    fn cuts(&self, slice: &Slice, splitters: &Splitters, data: &Path) -> Result<Vec<u64>, Error> {
        let fail = |operation| {
            move |error: io::Error| Error::from(xsort_disk::Error::new(operation, data, error))
        };
        let file = File::open(data).map_err(fail(Operation::Open))?;
        let record_bytes = self.layout.record_bytes();
        let (rule, count) = (self.layout.rule(), slice.bytes / record_bytes as u64);
        let mut record = vec![0; record_bytes];
        let mut bound = |key: &[u8], is_below: fn(Ordering) -> bool| {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low + (high - low) / 2;
                file.read_exact_at(&mut record, middle * record_bytes as u64)?;
                match is_below(rule.compare_encoded(&record, key)) {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            io::Result::Ok(low)
        };
        let mut cut = |splitter: &Splitter| {
            let below = bound(&splitter.key.0, Ordering::is_lt)?;
            let up_to = bound(&splitter.key.0, Ordering::is_le)?;
            Ok(splitter.position(slice.index, slice.bytes, below, up_to))
        };
        let cuts = splitters.splitters.iter().map(&mut cut).collect::<io::Result<_>>();
        cuts.map_err(fail(Operation::Read))
    }

    /// What lies between the cuts, counted and summed.
    fn ranges(
        &self,
        cuts: &[u64],
        parts: usize,
        data: &Path,
        means: &Means<'_>,
    ) -> Result<Vec<PartRange>, Error> {
        let record_bytes = self.layout.record_bytes();
        let bytes = fs::metadata(data)
            .map_err(|error| xsort_disk::Error::new(Operation::Inspect, data, error))?
            .len();
        let mut read = RangeRead::open(&means.disk, data, (0, bytes), BLOCKS)?;
        let mut memory = vec![0; (BLOCKS.1 / record_bytes).max(1) * record_bytes];
        let mut ranges = Vec::with_capacity(parts);
        means.observer.phase("cut", bytes);
        for part in 0..parts {
            let ends = cuts.get(part).map(|cut| cut * record_bytes as u64);
            let (begin, end) =
                (end_of(&ranges), ends.filter(|_| part + 1 < parts).unwrap_or(bytes));
            let mut sum = Checksum::default();
            let mut at = begin;
            while at < end {
                if means.observer.is_cancelled() {
                    return Err(xsort_extsort::Error::Cancelled.into());
                }
                let bytes = (end - at).min(memory.len() as u64) as usize;
                let some = &mut memory[..bytes];
                read.read_exact(some).map_err(|error| xsort_disk::Error::of_read(data, error))?;
                sum.add_records(some, record_bytes);
                at += some.len() as u64;
                means.observer.advance(some.len() as u64);
            }
            let (records, sum) = (sum.records(), sum.sum());
            ranges.push(PartRange { offset: begin, bytes: end - begin, records, sum });
        }
        Ok(ranges)
    }
}

/// Where the last range ends.
fn end_of(ranges: &[PartRange]) -> u64 {
    ranges.last().map_or(0, |range| range.offset + range.bytes)
}
