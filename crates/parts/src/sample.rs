//! Samples: keys of slices at evenly spaced places.

use crate::document::{Document, VERSION};
use crate::hex::Hex;
use crate::job::Job;
use serde::{Deserialize, Serialize};

/// A key, and the place of its record in the slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledKey {
    /// The whole key, in the form in which the job's keys are compared.
    pub key: Hex,
    /// The record's offset in the slice, in bytes.
    pub offset: u64,
}

/// The sample of one slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceSample {
    /// The slice.
    pub slice: usize,
    /// Its length in bytes, which is the weight of its keys.
    pub bytes: u64,
    /// Its keys, ordered by place.
    pub keys: Vec<SampledKey>,
}

/// Samples of some slices of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    version: u32,
    /// The job's id.
    pub job: String,
    /// One sample for each slice.
    pub samples: Vec<SliceSample>,
}

impl Sample {
    /// Creates the samples of some slices of this job.
    #[must_use]
    pub fn new(job: &Job, samples: Vec<SliceSample>) -> Sample {
        Sample { version: VERSION, job: job.id.clone(), samples }
    }
}

impl Document for Sample {
    const KIND: &'static str = "a sample";

    fn version(&self) -> u32 {
        self.version
    }

    fn check(&self) -> Result<(), String> {
        for SliceSample { slice, bytes, keys } in &self.samples {
            if keys.iter().any(|key| key.offset >= *bytes) {
                return Err(format!("the sample of slice {slice} contradicts itself"));
            }
        }
        Ok(())
    }
}
