//! Errors of inputs that aren't made of prefixed records, or have a record without a key.

use crate::keyed::MoreMemory;
use std::io;
use thiserror::Error;
use xsort_records::{BadPrefix, KeyField, Prefix};

/// A record that can't be sorted. Records are counted from 1 in their file, and bytes from 0. The
/// error that contains this one names the file.
#[derive(Debug, Error)]
pub(super) enum BadRecord {
    #[error(
        "record {record}: its prefix at byte {offset} {reason}: is --record ({prefix}) right, or \
         the file damaged?"
    )]
    Prefix { record: u64, offset: u64, prefix: Prefix, reason: BadPrefix },
    #[error(
        "it ends in the prefix of record {record}, at byte {offset}: is it incomplete, or --record \
         ({prefix}) wrong?"
    )]
    PartOfPrefix { record: u64, offset: u64, prefix: Prefix },
    #[error(
        "it ends in record {record}, from byte {offset} on: of the {length} bytes that its prefix \
         promises {there} are there: is it incomplete, or --record ({prefix}) wrong?"
    )]
    PartOfRecord { record: u64, offset: u64, prefix: Prefix, length: u64, there: u64 },
    #[error(
        "record {record}, from byte {offset} on, has {length} bytes by its prefix; with their \
         prefix, records may have {bytes_max} in this memory: is --record ({prefix}) right? If so, \
         {more}"
    )]
    TooLong {
        record: u64,
        offset: u64,
        prefix: Prefix,
        length: u64,
        bytes_max: u64,
        more: MoreMemory,
    },
    #[error(
        "record {record}, from byte {offset} on, has {length} bytes behind its prefix, too few for \
         the number of --key {field}: compare them as bytes (--key {}:{}), or sort records without \
         it apart", .field.offset, .field.length
    )]
    TooShort { record: u64, offset: u64, length: usize, field: KeyField },
    #[error(
        "record {record}, from byte {offset} on, takes {bytes} bytes with its key on its way, and \
         there is room for {bytes_max}: compare less of it (--key), or give more memory: {more}"
    )]
    LongKey { record: u64, offset: u64, bytes: usize, bytes_max: usize, more: MoreMemory },
}

impl From<BadRecord> for io::Error {
    fn from(bad: BadRecord) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, bad)
    }
}
