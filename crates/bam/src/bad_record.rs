//! Errors of inputs that are no BAM, or have a record that can't be.

use std::io;
use thiserror::Error;
use xsort_extsort::keyed::MoreMemory;

/// What is wrong with an input. Records are counted from 1, and bytes from 0 in the text that BGZF
/// holds. The error that contains this one names the file.
#[derive(Debug, Error)]
pub(crate) enum BadRecord {
    #[error(
        "it doesn't begin as BAM does: is it SAM or CRAM? (xsort bio sam sorts SAM; samtools view \
         -b makes BAM of both)"
    )]
    NoBam,
    #[error("its header ends at byte {offset}, in the middle: is the file incomplete?")]
    CutHeader { offset: u64 },
    #[error("its header has more than {bytes_max} bytes: is the file damaged?")]
    LongHeader { bytes_max: u64 },
    #[error(
        "it ends in record {record}, from byte {offset} on: of its {length} bytes {there} are \
         there: is the file incomplete?"
    )]
    Part { record: u64, offset: u64, length: u64, there: u64 },
    #[error(
        "record {record}, from byte {offset} on, can't be an alignment: {what}: is the file \
         damaged?"
    )]
    Impossible { record: u64, offset: u64, what: &'static str },
    #[error(
        "record {record}, from byte {offset} on, has {length} bytes, and records may have \
         {bytes_max} in this memory: {more}"
    )]
    TooLong { record: u64, offset: u64, length: u64, bytes_max: u64, more: MoreMemory },
}

impl From<BadRecord> for io::Error {
    fn from(bad: BadRecord) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, bad)
    }
}
