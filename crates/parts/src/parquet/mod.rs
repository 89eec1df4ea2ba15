//! The steps for rows of Parquet, with a program that reads and writes it: the Python package, with
//! pyarrow.
//!
//! A slice is any range of bytes, as in other systems: it has the row groups that begin in it. Its
//! sorted data are Arrow messages, some number of them in each range. The package builds the keys
//! of rows, which compare as bytes.
//!
//! The package receives its parameters as a JSON object, and answers with one. A part's data
//! arrives through a pipe, so that the part appears completely or not at all, wherever its output
//! is.

mod helper;

use crate::error::Error;
use crate::hex::{Hex, sum};
use crate::job::{Job, JobInput, SliceInput};
use crate::manifest::{PartRange, SliceFiles, SortedSlice};
use crate::means::Means;
use crate::merge_range::{MergeRange, checksum_of};
use crate::sample::{SampledKey, SliceSample};
use crate::splitters::Splitters;
use crate::steps::Steps;
use crate::summary::{Merged, Summary};
use crate::validate::check_read;
use helper::Helper;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::io;
use std::path::{Path, PathBuf};
use xsort_extsort::lines::FileOutput;
use xsort_extsort::scratch_directories;
use xsort_records::Checksum;

/// Rows of Parquet, in the order of some columns.
#[derive(Clone, Debug)]
pub struct Parquet {
    by: Vec<String>,
    helper: Helper,
}

/// The keys of a slice.
#[derive(Deserialize)]
struct Sampled {
    keys: Vec<SampledKey>,
}

/// The ranges of a slice's data.
#[derive(Deserialize)]
struct Sorted {
    parts: Vec<PartRange>,
}

/// Count and sum of rows.
#[derive(Deserialize)]
struct Rows {
    rows: u64,
    #[serde(with = "sum")]
    sum: u128,
}

impl Rows {
    fn checksum(&self) -> Checksum {
        Checksum::from_parts(self.rows, self.sum)
    }
}

/// The rows of a written part.
#[derive(Deserialize)]
struct Written {
    #[serde(flatten)]
    rows: Rows,
    first: Option<Hex>,
    last: Option<Hex>,
}

/// The result of reading again.
#[derive(Deserialize)]
struct ReadAgain {
    outputs: Rows,
    inputs: Rows,
    /// The first row out of order.
    disorder: Option<String>,
}

impl Parquet {
    /// Creates the order of rows by these columns, as in the package's `sorted_batches`:
    /// `NAME[:desc]` and so on. `python` is an interpreter that has the package, and pyarrow.
    #[must_use]
    pub fn new(by: Vec<String>, python: PathBuf) -> Parquet {
        Parquet { by, helper: Helper { python } }
    }

    /// Returns a request with the parameters that all steps need.
    fn request(&self, step: &str, first: &str, means: &Means<'_>, of_step: Value) -> Value {
        json!({
            "step": step,
            "by": self.by,
            "first": first,
            "memory": means.job.budget_bytes(),
            "threads": means.job.threads(),
            "of_step": of_step,
        })
    }

    fn ask<T: for<'de> Deserialize<'de>>(
        &self,
        request: &Value,
        means: &Means<'_>,
    ) -> Result<T, Error> {
        self.helper.run(request, &mut io::sink(), means).map_err(Into::into)
    }
}

/// Returns the input whose columns all others must have.
fn first(job: &Job) -> &str {
    job.inputs().next().unwrap_or_default()
}

fn scratch(means: &Means<'_>, output: &Path) -> Vec<PathBuf> {
    scratch_directories(&means.scratch, output)
}

impl Steps for Parquet {
    /// Returns `None`: parts have no header of their own. Inspects the columns of the first input,
    /// so that a wrong column is found before any work.
    fn header(&self, inputs: &[JobInput], means: &Means<'_>) -> Result<Option<Hex>, Error> {
        let Some(JobInput { path, .. }) = inputs.first() else {
            return Err(Error::settings("there is no input, which says what the columns are"));
        };
        let _: Value = self.ask(&self.request("look", path, means, Value::Null), means)?;
        Ok(None)
    }

    fn cut(&self, input: &JobInput, at: u64, _means: &Means<'_>) -> Result<u64, Error> {
        Ok(at.min(input.bytes))
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn sample(
        &self,
        job: &Job,
        slice: usize,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        let slice = &job.slices[slice];
        let of_step = json!({ "inputs": slice.inputs, "bytes": slice.bytes, "keys": keys });
        let request = self.request("sample", first(job), means, of_step);
        let Sampled { keys } = self.ask(&request, means)?;
        Ok(SliceSample { slice: slice.index, bytes: slice.bytes, keys })
    }

    fn map(
        &self,
        (job, splitters): (&Job, &Splitters),
        slice: usize,
        files: &SliceFiles,
        means: &Means<'_>,
    ) -> Result<SortedSlice, Error> {
        let slice = &job.slices[slice];
        means.observer.phase("map", slice.bytes);
        let of_step = json!({
            "inputs": slice.inputs,
            "slice": slice.index,
            "bytes": slice.bytes,
            "splitters": splitters.splitters,
            "parts": job.parts,
            "data": crate::job::path_text(&files.data)?,
            "scratch": scratch(means, &files.data),
            "sync": means.sync,
        });
        let Sorted { parts } = self.ask(&self.request("map", first(job), means, of_step), means)?;
        Ok(parts.into())
    }

    fn merge(
        &self,
        job: &Job,
        ranges: &[MergeRange],
        output: &Path,
        means: &Means<'_>,
    ) -> Result<Merged, Error> {
        let sent = checksum_of(ranges);
        let bytes = ranges.iter().map(|range| range.entry.bytes).sum();
        means.observer.phase("merge", bytes);
        let named = |range: &MergeRange| json!({ "path": range.path, "entry": range.entry });
        let of_step = json!({
            "ranges": ranges.iter().map(named).collect::<Vec<_>>(),
            "scratch": scratch(means, output),
        });
        let request = self.request("merge", first(job), means, of_step);
        let mut file = FileOutput::create(&*means.job.disk, output, bytes)?;
        let written: Written =
            self.helper.run(&request, &mut file, means).map_err(|refusal| match refusal {
                helper::Refusal { range: Some(at), is_damage, text } if at < ranges.len() => {
                    let MergeRange { entry, origin, path } = &ranges[at];
                    let (slice, origin) = (entry.slice, origin.clone());
                    match is_damage {
                        true => Error::DamagedSlice { slice, origin, what: text },
                        false => ranges[at].lost(Error::input(path, text)),
                    }
                }
                refusal => match Error::from(refusal) {
                    Error::Engine(error) => Error::Engine(error.of_output(output)),
                    error => error,
                },
            })?;
        let (bytes, came) = (file.written_bytes(), written.rows.checksum());
        xsort_extsort::Error::check_balance(sent, came)?;
        file.publish(means.sync)?;
        Ok(Merged { checksum: came, bytes, keys: written.first.zip(written.last) })
    }

    fn verify(
        &self,
        job: &Job,
        summaries: &[Summary],
        validated: Checksum,
        means: &Means<'_>,
    ) -> Result<(), Error> {
        let parts = Summary::in_order(summaries);
        let outputs: Vec<&str> = parts.iter().map(|part| &*part.output).collect();
        let inputs: Vec<&SliceInput> = job.slices.iter().flat_map(|slice| &slice.inputs).collect();
        let of_step = json!({ "outputs": outputs, "inputs": inputs });
        let request = self.request("verify", first(job), means, of_step);
        let ReadAgain { outputs, inputs, disorder } = self.ask(&request, means)?;
        if let Some(what) = disorder {
            return Err(Error::Invalid(what));
        }
        check_read("outputs", outputs.checksum(), validated)?;
        check_read("inputs", inputs.checksum(), validated)
    }
}
