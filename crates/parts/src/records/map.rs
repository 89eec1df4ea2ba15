//! Sorts a slice and cuts it at the splitters.
//!
//! The ordinary sort sorts the slice to one file. The file is read again to find the cuts and to
//! count and sum the ranges between them: the manifest describes the data that the drive has
//! returned.

use super::Records;
use crate::cutting::{Ranges, sum_ranges};
use crate::error::Error;
use crate::job::{Slice, SliceInput};
use crate::manifest::{PartRange, SliceFiles};
use crate::means::Means;
use crate::record_sum::Framing;
use crate::splitters::{Splitter, Splitters};
use std::cmp::Ordering;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use xsort::machine::random_seed;
use xsort_disk::{FileRange, Operation, RangeDisk};
use xsort_extsort::{SortOptions, SortReport, sort};
use xsort_records::Key;

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
        let record_bytes = self.layout.record_bytes();
        let cuts = self.cuts(slice, splitters, &files.data)?;
        let cuts: Vec<u64> = cuts.into_iter().map(|cut| cut * record_bytes as u64).collect();
        let framing = Framing::Size(record_bytes);
        let Ranges { ranges, checksum: read, .. } =
            sum_ranges(&files.data, framing, &cuts, parts, means)?;
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

    /// Sorts the ranges of a slice with the ordinary sort.
    fn sort_slice(
        &self,
        slice: &Slice,
        output: &Path,
        means: &Means<'_>,
    ) -> Result<SortReport, Error> {
        let range = |input: &SliceInput| FileRange {
            name: input.name(),
            path: (&input.path).into(),
            offset: input.offset,
            bytes: input.bytes,
        };
        let disk = RangeDisk::new(Arc::clone(&means.job.disk), slice.inputs.iter().map(range))?;
        let options = SortOptions {
            inputs: slice.inputs.iter().map(SliceInput::name).collect(),
            output: output.to_owned(),
            // The middle of a file may look like anything.
            format_is_assumed: self.format_is_assumed
                && slice.inputs.iter().all(|input| input.offset == 0),
            caches: means.job.caches(),
            scratch: means.scratch.clone(),
            sync: means.sync,
            sample_seed: random_seed(),
            ..SortOptions::new(self.layout.clone(), means.job.budget_bytes(), means.job.threads())
        };
        Ok(sort(&options, &disk, means.observer)?)
    }

    /// Returns the number of sorted records below each splitter.
    fn cuts(&self, slice: &Slice, splitters: &Splitters, data: &Path) -> Result<Vec<u64>, Error> {
        let fail = |error| xsort_disk::Error::new(Operation::Open, data, error);
        let file = File::open(data).map_err(fail)?;
        let record_bytes = self.layout.record_bytes();
        let (rule, count) = (self.layout.rule(), slice.bytes / record_bytes as u64);
        let mut record = vec![0; record_bytes];
        let mut bound = |key: &[u8], is_below: fn(Ordering) -> bool| {
            let (mut low, mut high) = (0, count);
            while low < high {
                let middle = low + (high - low) / 2;
                let at = middle * record_bytes as u64;
                let fail = |error| xsort_disk::Error::at(Operation::Read, data, at, error);
                file.read_exact_at(&mut record, at).map_err(fail)?;
                match is_below(rule.compare_encoded(&record, key)) {
                    true => low = middle + 1,
                    false => high = middle,
                }
            }
            Result::<u64, Error>::Ok(low)
        };
        let mut cut = |splitter: &Splitter| {
            let below = bound(&splitter.key.0, Ordering::is_lt)?;
            let up_to = bound(&splitter.key.0, Ordering::is_le)?;
            Ok(splitter.position(slice.index, slice.bytes, below, up_to))
        };
        splitters.splitters.iter().map(&mut cut).collect()
    }
}
