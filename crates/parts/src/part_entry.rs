//! What a sorted slice has of one part, as sources say it.

use crate::hex::sum;
use serde::{Deserialize, Serialize};
use xsort_records::Checksum;

/// What a sorted slice has of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEntry {
    /// The job's id.
    pub job: String,
    /// The splitters' id.
    pub splitters: String,
    /// The slice.
    pub slice: usize,
    /// Where the part begins in the slice's data.
    pub offset: u64,
    /// Its length there.
    pub bytes: u64,
    /// How many records that is.
    pub records: u64,
    /// The sum of their CRC-32s.
    #[serde(rename = "checksum", with = "sum")]
    pub sum: u128,
}

impl PartEntry {
    /// Its count and sum.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }
}
