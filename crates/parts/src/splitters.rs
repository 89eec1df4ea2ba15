//! The places at which a job's parts begin: quantiles of its samples.

use crate::document::{Document, VERSION, digest};
use crate::error::{Error, ranges};
use crate::hex::Hex;
use crate::job::Job;
use crate::sample::{Sample, SliceSample};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A place in the total order of a job's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splitter {
    /// The key.
    pub key: Hex,
    /// The place among records with this key: the slice,
    pub slice: usize,
    /// and the offset in this slice, in bytes.
    pub offset: u64,
}

impl Splitter {
    /// Returns the number of a slice's records that lie below the splitter. `below` records have a
    /// smaller key, and `up_to` a smaller or equal key.
    ///
    /// Records of the splitter's own slice that have its key are divided in the proportion in which
    /// the offset divides the slice.
    #[must_use]
    pub fn position(&self, slice: usize, slice_bytes: u64, below: u64, up_to: u64) -> u64 {
        match slice.cmp(&self.slice) {
            Ordering::Less => up_to,
            Ordering::Greater => below,
            Ordering::Equal => {
                let share = u128::from(up_to - below) * u128::from(self.offset.min(slice_bytes));
                below + (share / u128::from(slice_bytes.max(1))) as u64
            }
        }
    }
}

/// The splitters of a job: one less than the parts, in ascending order; none if the job has no
/// bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splitters {
    version: u32,
    /// The job's id.
    pub job: String,
    /// A digest of the other fields, which is also in the manifests of slices cut at these
    /// splitters.
    pub id: String,
    /// The splitters.
    pub splitters: Vec<Splitter>,
}

impl Splitters {
    fn new(job: &Job, splitters: Vec<Splitter>) -> Splitters {
        let id = digest(&(&job.id, &splitters));
        Splitters { version: VERSION, job: job.id.clone(), id, splitters }
    }
}

impl Document for Splitters {
    const KIND: &'static str = "a list of splitters";

    fn version(&self) -> u32 {
        self.version
    }

    fn check(&self) -> Result<(), String> {
        match self.id == digest(&(&self.job, &self.splitters)) {
            true => Ok(()),
            false => Err("its id is not the digest of what it says".into()),
        }
    }
}

/// Returns the samples of all slices, in order.
fn by_slice<'s>(job: &Job, samples: &'s [Sample]) -> Result<Vec<&'s SliceSample>, Error> {
    if let Some(foreign) = samples.iter().find(|sample| sample.job != job.id) {
        let (of, id) = (&foreign.job, &job.id);
        return Err(Error::settings(format!("a sample belongs to the job {of}, not to {id}")));
    }
    let mut found = vec![None; job.slices.len()];
    for sample in samples.iter().flat_map(|sample| &sample.samples) {
        let Some(place) = found.get_mut(sample.slice) else {
            return Err(Error::settings(format!("there is no slice {} to sample", sample.slice)));
        };
        if place.replace(sample).is_some() {
            return Err(Error::settings(format!("slice {} is sampled twice", sample.slice)));
        }
    }
    let missing: Vec<usize> = (0..found.len()).filter(|&slice| found[slice].is_none()).collect();
    match missing.is_empty() {
        true => Ok(found.into_iter().flatten().collect()),
        false => Err(Error::settings(format!("no sample of the slices {}", ranges(&missing)))),
    }
}

/// Returns the splitters that divide a job into parts of about the same size, by samples of all its
/// slices. `compare` orders keys.
///
/// # Errors
/// If a slice has no sample, or two, or if a sample belongs to another job.
pub fn quantiles(
    job: &Job,
    samples: &[Sample],
    compare: impl Fn(&[u8], &[u8]) -> Ordering,
) -> Result<Splitters, Error> {
    /// Fractions of a byte in which keys are weighted.
    const SHARES: u128 = 1 << 20;
    let mut keys = Vec::new();
    for SliceSample { slice, bytes, keys: sampled } in by_slice(job, samples)? {
        let weight = u128::from(*bytes) * SHARES / sampled.len().max(1) as u128;
        keys.extend(sampled.iter().map(|key| (key, *slice, weight)));
    }
    keys.sort_by(|(a, slice_a, _), (b, slice_b, _)| {
        compare(&a.key.0, &b.key.0).then(slice_a.cmp(slice_b)).then(a.offset.cmp(&b.offset))
    });
    let all: u128 = keys.iter().map(|(.., weight)| weight).sum();
    let mut splitters = Vec::with_capacity(job.parts - 1);
    let mut before = 0;
    for (key, slice, weight) in keys {
        // A key stands for the records around it: the place in its middle is its own.
        let middle = before + weight / 2;
        while splitters.len() + 1 < job.parts
            && middle * job.parts as u128 >= all * (splitters.len() as u128 + 1)
        {
            let (key, offset) = (key.key.clone(), key.offset);
            splitters.push(Splitter { key, slice, offset });
        }
        before += weight;
    }
    // More parts than the last key's middle reaches; or no key although there are bytes.
    if job.bytes > 0 {
        let nothing = || Splitter { key: Hex::default(), slice: 0, offset: 0 };
        let last = splitters.last().cloned().unwrap_or_else(nothing);
        splitters.resize(job.parts - 1, last);
    }
    Ok(Splitters::new(job, splitters))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Slice;
    use crate::sample::SampledKey;

    fn job(slices: &[u64], parts: usize) -> Job {
        let slice = |(index, &bytes)| Slice { index, inputs: Vec::new(), bytes };
        Job::new(Vec::new(), (None, None), slices.iter().enumerate().map(slice).collect(), parts)
    }

    fn sample(job: &Job, slice: usize, keys: &[u8]) -> Sample {
        let bytes = job.slices[slice].bytes;
        let key = |(place, &key): (usize, &u8)| SampledKey {
            key: Hex(vec![key]),
            offset: bytes * place as u64 / keys.len() as u64,
        };
        let keys = keys.iter().enumerate().map(key).collect();
        Sample::new(job, vec![SliceSample { slice, bytes, keys }])
    }

    fn places(splitters: &Splitters) -> Vec<(u8, usize, u64)> {
        splitters.splitters.iter().map(|at| (at.key.0[0], at.slice, at.offset)).collect()
    }

    #[test]
    fn splitters_are_quantiles() {
        let job = job(&[100, 100], 4);
        let samples = [sample(&job, 0, &[1, 5, 3, 7]), sample(&job, 1, &[8, 4, 6, 2])];
        let found = quantiles(&job, &samples, Ord::cmp).unwrap();
        assert_eq!(places(&found), [(3, 0, 50), (5, 0, 25), (7, 0, 75)]);
    }

    #[test]
    fn a_large_slice_counts_more() {
        let job = job(&[100, 900], 2);
        let samples = [sample(&job, 0, &[1, 2, 3, 4, 5]), sample(&job, 1, &[11, 12, 13])];
        assert_eq!(places(&quantiles(&job, &samples, Ord::cmp).unwrap())[0].0, 12);
    }

    /// One key only: the places differ by slice and offset.
    #[test]
    fn equal_keys_are_split() {
        let job = job(&[100, 100], 4);
        let samples = [sample(&job, 0, &[9; 4]), sample(&job, 1, &[9; 4])];
        let found = quantiles(&job, &samples, Ord::cmp).unwrap();
        assert_eq!(places(&found), [(9, 0, 50), (9, 1, 0), (9, 1, 50)]);
    }

    #[test]
    fn positions_ascend_with_the_slice() {
        let at = Splitter { key: Hex(vec![9]), slice: 4, offset: 25 };
        assert_eq!(at.position(3, 100, 10, 30), 30);
        assert_eq!(at.position(4, 100, 10, 30), 15);
        assert_eq!(at.position(5, 100, 10, 30), 10);
    }

    #[test]
    fn missing_and_doubled_samples_are_refused() {
        let job = job(&[100, 100, 100, 100], 2);
        let some = |slices: &[usize]| -> Vec<Sample> {
            slices.iter().map(|&slice| sample(&job, slice, &[1, 2])).collect()
        };
        let error = quantiles(&job, &some(&[1]), Ord::cmp).unwrap_err().to_string();
        assert!(error.contains("0, 2-3"), "{error}");
        let error = quantiles(&job, &some(&[0, 1, 1, 2, 3]), Ord::cmp).unwrap_err().to_string();
        assert!(error.contains("slice 1 is sampled twice"), "{error}");
    }

    #[test]
    fn a_job_without_bytes_has_no_splitters() {
        let job = job(&[0], 3);
        let samples = [sample(&job, 0, &[])];
        assert!(quantiles(&job, &samples, Ord::cmp).unwrap().splitters.is_empty());
    }
}
