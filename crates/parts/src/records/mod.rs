//! The steps for records of one size.
//!
//! A slice begins and ends at multiples of the record and of what direct I/O is aligned to, so that
//! the ordinary sort reads its ranges as files. Its sorted data is one file without gaps, and a
//! part of it lies between two records.

mod map;
mod merge;
mod sample;
mod verify;
mod window;

use crate::error::Error;
use crate::job::{Job, JobInput};
use crate::manifest::{SliceFiles, SortedSlice};
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::sample::SliceSample;
use crate::splitters::Splitters;
use crate::steps::Steps;
use crate::summary::{Merged, Summary};
use std::cmp::Ordering;
use std::path::Path;
use xsort_disk::ALIGNMENT;
use xsort_records::{Checksum, Layout};

/// Records of one size.
#[derive(Clone, Debug)]
pub struct Records {
    /// Their size and key.
    pub layout: Layout,
    /// Nobody has named a format: inputs that look like something else are refused.
    pub format_is_assumed: bool,
}

impl Steps for Records {
    fn check_input(&self, path: &Path, bytes: u64) -> Result<(), Error> {
        let record_bytes = self.layout.record_bytes() as u64;
        match bytes % record_bytes {
            0 => Ok(()),
            rest => Err(Error::input(
                path,
                format!(
                    "its size of {bytes} bytes is no multiple of the record's {record_bytes}: \
                     {rest} bytes are left over; is the format right (-f, --record), and the file \
                     complete?"
                ),
            )),
        }
    }

    fn cut(&self, input: &JobInput, at: u64, _means: &Means<'_>) -> Result<u64, Error> {
        let step = least_common_multiple(self.layout.record_bytes() as u64, ALIGNMENT as u64);
        Ok(at.next_multiple_of(step).min(input.bytes))
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn sample(
        &self,
        job: &Job,
        slice: usize,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        self.sample_slice(&job.slices[slice], keys, means)
    }

    fn map(
        &self,
        (job, splitters): (&Job, &Splitters),
        slice: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<SortedSlice, Error> {
        let keys = splitters.splitters.iter().map(|splitter| splitter.key.0.len());
        if keys.into_iter().any(|bytes| bytes != self.layout.key_bytes()) {
            return Err(Error::settings("the splitters have other keys than the job's records"));
        }
        let slice = &job.slices[slice];
        Ok(self.map_slice(slice, splitters, job.parts, files, means)?.into())
    }

    fn merge(
        &self,
        _job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        self.merge_part(ranges, output, means)
    }

    fn count(&self, job: &Job, slice: usize) -> Option<u64> {
        Some(job.slices[slice].bytes / self.layout.record_bytes() as u64)
    }

    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        self.verify_outputs(job, summaries, validated, means)
    }
}

/// Of a record's size and the alignment: below 2^37.
fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut greater, mut less) = (a, b);
    while less > 0 {
        (greater, less) = (less, greater % less);
    }
    a / greater * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_end_where_records_and_blocks_do() {
        assert_eq!(least_common_multiple(100, 4096), 102_400);
        assert_eq!(least_common_multiple(4096, 4096), 4096);
        assert_eq!(least_common_multiple(1, 4096), 4096);
    }
}
