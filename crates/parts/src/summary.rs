//! A part that is finished.

use crate::document::{Document, VERSION, digest};
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
    /// A digest of the other fields.
    #[serde(default)]
    pub(crate) digest: String,
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
        let summary = Summary {
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
            digest: String::new(),
        };
        Summary { digest: summary.digest_of_rest(), ..summary }
    }

    /// The digest of its other fields.
    fn digest_of_rest(&self) -> String {
        digest(&Summary { digest: String::new(), ..self.clone() })
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
        let has_keys = self.first.is_some();
        if (self.records > 0) != has_keys || has_keys != self.last.is_some() {
            return Err("it has records without keys, or keys without records".into());
        }
        match &*self.digest {
            "" => {
                Err("it has no digest, as those of earlier versions: merge the part again".into())
            }
            digest if digest == self.digest_of_rest() => Ok(()),
            _ => Err("its digest is another one: it was changed after it was written".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse_document;
    use serde_json::{Value, json};

    /// Fields that nothing else is compared with were believed, whatever they said.
    #[test]
    fn a_summary_of_which_any_field_was_changed_is_refused() {
        let job = Job::new(Vec::new(), (None, None), Vec::new(), 1);
        let keys = Some((Hex(vec![1]), Hex(vec![9])));
        let merged = Merged { checksum: Checksum::from_parts(2, 20), bytes: 200, keys };
        let output = ("/out".to_owned(), "200-1.000000000".to_owned());
        let summary = Summary::new((&job, "s".into()), 0, merged, output);
        let written = serde_json::to_value(&summary).unwrap();
        let parsed = |value: &Value| parse_document::<Summary>(value.to_string().as_bytes());
        assert_eq!(parsed(&written).unwrap(), summary);
        for name in written.as_object().unwrap().keys() {
            let mut changed = written.clone();
            changed[name] = match &written[name] {
                Value::Number(number) => json!(number.as_u64().unwrap() + 1),
                Value::String(text) if *name == "checksum" => json!(format!("1{text}")),
                Value::String(text) => json!(format!("{text}00")),
                other => panic!("{name}: {other}"),
            };
            assert!(parsed(&changed).is_err(), "{name}");
            let mut without = written.clone();
            without.as_object_mut().unwrap().remove(name);
            assert!(parsed(&without).is_err(), "{name}");
        }
    }
}
