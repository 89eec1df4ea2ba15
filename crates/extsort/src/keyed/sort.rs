//! The outline of a sort of keyed records.

use super::encode::RECORD_END;
use super::order::ByKey;
use super::restore::Restore;
use crate::variable::{
    LinesInput, LinesOptions, LinesReport, OutputForm, SegmentFilter, sort_formed,
};
use crate::{Error, Observer};
use std::io::Write;
use xsort_disk::Disk;

/// Sorts the keyed records of `inputs`, and writes `head` and the records to `output` without their
/// keys. The report's bytes are those of keyed records, but for the written ones.
///
/// # Errors
/// As [`sort_lines`](crate::sort_lines).
pub fn sort_keyed(
    options: &LinesOptions,
    head: &[u8],
    inputs: Vec<LinesInput>,
    output: &mut (dyn Write + Send),
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<LinesReport, Error> {
    let options = LinesOptions { delimiter: RECORD_END, ..options.clone() };
    let filter = || -> SegmentFilter {
        let (mut restore, mut records_left) = (Restore::default(), u64::MAX);
        Box::new(move |bytes| restore.apply(bytes, &mut records_left))
    };
    let form = OutputForm { head, filter: &filter };
    sort_formed(&options, &ByKey, inputs, output, form, disk, observer)
}
