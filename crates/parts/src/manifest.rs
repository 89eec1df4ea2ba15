//! A slice that is sorted and cut: what its data has in each part.

use crate::document::{Document, VERSION};
use crate::hex::sum;
use crate::job::Job;
use crate::splitters::Splitters;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use xsort_records::Checksum;

/// What a slice's data has of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RangeTuple", into = "RangeTuple")]
pub struct PartRange {
    /// Where it begins in the data.
    pub offset: u64,
    /// Its length.
    pub bytes: u64,
    /// How many records that is.
    pub records: u64,
    /// The sum of their CRC-32s.
    pub sum: u128,
}

impl PartRange {
    /// Its count and sum.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }
}

/// The sorted data of a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortedSlice {
    /// What it has of each part, in their order.
    pub parts: Vec<PartRange>,
    /// Rows with a value that isn't of its column's type, where they are no errors.
    pub bad_rows: Option<u64>,
}

impl From<Vec<PartRange>> for SortedSlice {
    fn from(parts: Vec<PartRange>) -> SortedSlice {
        SortedSlice { parts, bad_rows: None }
    }
}

/// As it is written: four numbers.
#[derive(Serialize, Deserialize)]
struct RangeTuple(u64, u64, u64, #[serde(with = "sum")] u128);

impl From<RangeTuple> for PartRange {
    fn from(RangeTuple(offset, bytes, records, sum): RangeTuple) -> PartRange {
        PartRange { offset, bytes, records, sum }
    }
}

impl From<PartRange> for RangeTuple {
    fn from(PartRange { offset, bytes, records, sum }: PartRange) -> RangeTuple {
        RangeTuple(offset, bytes, records, sum)
    }
}

/// What is known of a sorted slice. It is written after the slice's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// The job's id.
    pub job: String,
    /// The splitters' id.
    pub splitters: String,
    /// The slice.
    pub slice: usize,
    /// Its records.
    pub records: u64,
    /// The sum of their CRC-32s.
    #[serde(rename = "checksum", with = "sum")]
    pub sum: u128,
    /// Bytes of its data.
    pub bytes: u64,
    /// What the data has of each part, in their order: all of it.
    pub parts: Vec<PartRange>,
    /// Rows with a value that isn't of its column's type, where they are no errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_rows: Option<u64>,
}

impl Manifest {
    /// The manifest of a slice whose data has these ranges, one after the other.
    #[must_use]
    pub fn new(
        job: &Job,
        splitters: &Splitters,
        slice: usize,
        sorted: impl Into<SortedSlice>,
    ) -> Manifest {
        let SortedSlice { parts, bad_rows } = sorted.into();
        let mut whole = Checksum::default();
        parts.iter().for_each(|part| whole.merge(part.checksum()));
        Manifest {
            version: VERSION,
            job: job.id.clone(),
            splitters: splitters.id.clone(),
            slice,
            records: whole.records(),
            sum: whole.sum(),
            bytes: parts.iter().map(|part| part.bytes).sum(),
            parts,
            bad_rows,
        }
    }

    /// The count and sum of all its records.
    #[must_use]
    pub fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.records, self.sum)
    }

    /// Why it is not of this job, if it isn't.
    ///
    /// # Errors
    /// A sentence about it.
    pub fn check_job(&self, job: &Job) -> Result<(), String> {
        if self.job != job.id {
            return Err(format!("it belongs to the job {}, not to {}", self.job, job.id));
        }
        if self.slice >= job.slices.len() || self.parts.len() != job.parts {
            return Err("it has a slice or parts that its job doesn't have".into());
        }
        Ok(())
    }
}

impl Document for Manifest {
    const KIND: &'static str = "the manifest of a slice";

    fn version(&self) -> u32 {
        self.version
    }

    fn check(&self) -> Result<(), String> {
        let (mut end, mut records, mut sum) = (Some(0_u64), Some(0_u64), Some(0_u128));
        for part in &self.parts {
            if end != Some(part.offset) {
                return Err("its parts don't follow each other".into());
            }
            end = end.and_then(|end| end.checked_add(part.bytes));
            records = records.and_then(|records| records.checked_add(part.records));
            sum = sum.and_then(|sum| sum.checked_add(part.sum));
        }
        match (end, records, sum) == (Some(self.bytes), Some(self.records), Some(self.sum)) {
            true => Ok(()),
            false => Err("it has other records than its parts".into()),
        }
    }
}

/// Where the files of a slice are in the directory of its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceFiles {
    /// Its sorted data.
    pub data: PathBuf,
    /// Its manifest.
    pub manifest: PathBuf,
    /// What the manifest says of each part, to be found without reading all of it.
    pub index: PathBuf,
}

impl SliceFiles {
    /// Those of a slice.
    #[must_use]
    pub fn of(directory: &Path, slice: usize) -> SliceFiles {
        SliceFiles {
            data: directory.join(format!("slice-{slice}.data")),
            manifest: directory.join(format!("slice-{slice}.json")),
            index: directory.join(format!("slice-{slice}.index")),
        }
    }

    /// The slice whose manifest has this name.
    pub(crate) fn slice_of_manifest(name: &str) -> Option<usize> {
        let number = name.strip_prefix("slice-")?.strip_suffix(".json")?;
        let slice = number.parse().ok()?;
        // Not `slice-+1.json` or `slice-01.json`.
        (format!("{slice}") == number).then_some(slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;

    fn manifest() -> Manifest {
        let parts = vec![
            PartRange { offset: 0, bytes: 200, records: 2, sum: 0x1_0000_0000 },
            PartRange { offset: 200, bytes: 0, records: 0, sum: 0 },
            PartRange { offset: 200, bytes: 100, records: 1, sum: 7 },
        ];
        let (job, splitters, sum) = ("j".into(), "s".into(), 0x1_0000_0007);
        let (version, slice, records, bytes, bad_rows) = (VERSION, 3, 3, 300, None);
        Manifest { version, job, splitters, slice, records, sum, bytes, parts, bad_rows }
    }

    #[test]
    fn a_manifest_comes_back_as_it_was() {
        let text = serde_json::to_string(&manifest()).unwrap();
        let expected = r#""records":3,"checksum":"100000007","bytes":300,"parts":[[0,200,2,"1"#;
        assert!(text.contains(expected), "{text}");
        assert_eq!(parse_document::<Manifest>(text.as_bytes()).unwrap(), manifest());
    }

    #[test]
    fn a_manifest_that_is_cut_or_contradicts_itself_is_refused() {
        let text = serde_json::to_string(&manifest()).unwrap();
        for end in 0..text.len() {
            parse_document::<Manifest>(&text.as_bytes()[..end]).unwrap_err();
        }
        for (from, to) in [
            ("[200,0,0", "[201,0,0"),
            ("\"records\":3", "\"records\":4"),
            ("100000007", "100000008"),
            ("\"bytes\":300", "\"bytes\":301"),
            ("\"version\":1", "\"version\":2"),
            ("[200,100,1", "[200,18446744073709551615,1"),
        ] {
            let wrong = text.replace(from, to);
            assert_ne!(wrong, text);
            parse_document::<Manifest>(wrong.as_bytes()).unwrap_err();
        }
    }

    #[test]
    fn only_manifests_are_taken_for_such() {
        assert_eq!(SliceFiles::slice_of_manifest("slice-12.json"), Some(12));
        for name in ["slice-012.json", "slice-.json", "slice-+1.json", ".slice-1.json", "slice-1"] {
            assert_eq!(SliceFiles::slice_of_manifest(name), None, "{name}");
        }
    }
}
