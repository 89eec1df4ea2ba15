//! The summary of a finished part.

use crate::document::{Document, VERSION};
use crate::hex::{Hex, sum};
use crate::job::Job;
use serde::{Deserialize, Serialize};
use xsort_records::Checksum;

/// The summary of a finished part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub(crate) version: u32,
    /// The job's id.
    pub job: String,
    /// The splitters' ID; empty if the job has no entries that contain it.
    pub splitters: String,
    /// The part's number.
    pub part: usize,
    /// Its number of records.
    pub records: u64,
    /// The sum of their CRC-32s.
    #[serde(rename = "checksum", with = "sum")]
    pub sum: u128,
    /// The length of the output in bytes.
    pub bytes: u64,
    /// The first key, complete; `None` if there are no records.
    pub first: Option<Hex>,
    /// The last key, complete; `None` if there are no records.
    pub last: Option<Hex>,
    /// The output: an absolute path or a URL.
    pub output: String,
    /// The tag of its content when it was published.
    pub tag: String,
}

/// The records of a merged part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Their count and sum.
    pub checksum: Checksum,
    /// The length of the output in bytes.
    pub bytes: u64,
    /// The first and last key, complete; `None` if there are no records.
    pub keys: Option<(Hex, Hex)>,
}

impl Summary {
    /// Returns the summaries in the order of their parts.
    pub(crate) fn in_order(summaries: &[Summary]) -> Vec<&Summary> {
        let mut parts: Vec<&Summary> = summaries.iter().collect();
        parts.sort_by_key(|summary| summary.part);
        parts
    }

    pub(crate) fn new(
        (job, splitters): (&Job, String),
        part: usize,
        merged: Merged,
        (output, tag): (String, String),
    ) -> Summary {
        let Merged { checksum, bytes, keys } = merged;
        let (first, last) = keys.unzip();
        Summary {
            version: VERSION,
            job: job.id.clone(),
            splitters,
            part,
            records: checksum.records(),
            sum: checksum.sum(),
            bytes,
            first,
            last,
            output,
            tag,
        }
    }

    /// Returns its count and sum.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }
}

impl Document for Summary {
    const KIND: &'static str = "the summary of a part";

    fn version(&self) -> u32 {
        self.version
    }

    fn check(&self) -> Result<(), String> {
        match (self.records > 0) == self.first.is_some()
            && self.first.is_some() == self.last.is_some()
        {
            true => Ok(()),
            false => Err("it has records without keys, or keys without records".into()),
        }
    }
}
