//! A sorted slice's entry for one part, as sources return it.

use crate::hex::sum;
use serde::{Deserialize, Serialize};
use xsort_records::Checksum;

/// A sorted slice's entry for one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEntry {
    /// The job's id.
    pub job: String,
    /// The splitters' id.
    pub splitters: String,
    /// The slice's number.
    pub slice: usize,
    /// The offset of the part in the slice's data, in bytes.
    pub offset: u64,
    /// Its length there in bytes.
    pub bytes: u64,
    /// Its number of records.
    pub records: u64,
    /// The sum of their CRC-32s.
    #[serde(rename = "checksum", with = "sum")]
    pub sum: u128,
}

impl PartEntry {
    /// Returns its count and sum.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }
}
