//! A part that is finished.

use crate::document::{Document, VERSION};
use crate::hex::{Hex, sum};
use crate::job::Job;
use serde::{Deserialize, Serialize};
use xsort_records::Checksum;

/// What is known of a finished part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub(crate) version: u32,
    /// The job's id.
    pub job: String,
    /// The splitters' id; `None` if the job has no slices that say so.
    pub splitters: String,
    /// The part.
    pub part: usize,
    /// Its records.
    pub records: u64,
    /// The sum of their CRC-32s.
    #[serde(rename = "checksum", with = "sum")]
    pub sum: u128,
    /// Bytes of the output.
    pub bytes: u64,
    /// The first key, whole; `None` if there are no records.
    pub first: Option<Hex>,
    /// The last one.
    pub last: Option<Hex>,
    /// The output: an absolute path or a URL.
    pub output: String,
    /// What identified its content when it was in place.
    pub tag: String,
}

/// The records of a finished part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Their count and sum.
    pub checksum: Checksum,
    /// Bytes of the output.
    pub bytes: u64,
    /// The first key and the last, whole.
    pub keys: Option<(Hex, Hex)>,
}

impl Summary {
    /// Summaries in the order of their parts.
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

    /// Its count and sum.
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
