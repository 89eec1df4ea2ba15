//! Shared code for slices and parts of rows and of prefixed records: sorted data are keyed records,
//! and parts are the records without keys.

use crate::delimited::{
    KEPT_BYTES, MergedRecords, SortedData, check_written, cut_data, merge_ranges,
};
use crate::error::Error;
use crate::hex::Hex;
use crate::job::{Job, Slice};
use crate::manifest::PartRange;
use crate::means::Means;
use crate::merge_range::MergeRange;
use crate::splitters::Splitters;
use crate::summary::Merged;
use std::io::Write;
use std::path::Path;
use xsort_extsort::keyed::{ByKey, RECORD_END, RestoredOutput, key_and_end};
use xsort_extsort::lines::{FileOutput, LinesInput, SortedOutput, sort_lines_to};
use xsort_extsort::{LinesOptions, Observer};

/// Sorts the keyed records of `inputs` to the data of a slice, cuts the data at the splitters, and
/// compares it with the sort's report.
pub(crate) fn map_keyed(
    (job, slice): ((&Job, &Splitters), &Slice),
    (inputs, engine): (Vec<LinesInput>, &LinesOptions),
    of_input: impl Fn(xsort_extsort::Error, &dyn Observer) -> xsort_extsort::Error,
    data: &Path,
    means: &Means<'_>,
) -> Result<Vec<PartRange>, Error> {
    let output = SortedOutput::File { path: data, sync: means.sync };
    let (disk, observer) = (&*means.job.disk, means.observer);
    let report = sort_lines_to(engine, &ByKey, inputs, output, disk, observer)
        .map_err(|error| of_input(error, observer))?;
    let sorted = SortedData { path: data, end: RECORD_END, order: &ByKey };
    let cut = cut_data(job, slice, sorted, means)?;
    check_written(&report, &cut, data)?;
    Ok(cut.ranges)
}

/// Merges ranges of sorted data to `output`, which begins with `header`.
pub(crate) fn merge_keyed(
    header: &[u8],
    ranges: &[MergeRange],
    output: &Path,
    means: &Means<'_>,
) -> Result<Merged, Error> {
    let bytes: u64 = ranges.iter().map(|range| range.entry.bytes).sum();
    let mut file = FileOutput::create(&*means.job.disk, output, bytes)?;
    let to_output = |error| Error::from(xsort_extsort::Error::Output(error).of_output(output));
    file.write_all(header).map_err(to_output)?;
    let mut records = RestoredOutput::new(&mut file, u64::MAX);
    let MergedRecords { checksum, ends } =
        merge_ranges(ranges, (RECORD_END, &ByKey), &mut records, output, means)?;
    records.flush().map_err(to_output)?;
    let bytes = header.len() as u64 + records.written_bytes;
    drop(records);
    file.publish(means.sync)?;
    let keys = ends.map(|(first, last)| (key_of(&first), key_of(&last)));
    Ok(Merged { checksum, bytes, keys })
}

/// Returns the key of a keyed record for samples and summaries. A long key is truncated, which is
/// also a place in the order.
pub(crate) fn key_of(keyed: &[u8]) -> Hex {
    let key = key_and_end(keyed);
    Hex(key[..key.len().min(KEPT_BYTES)].to_vec())
}
