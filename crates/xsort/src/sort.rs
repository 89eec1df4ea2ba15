//! Sorts files of fixed-size records.

use crate::job::Job;
use crate::machine::random_seed;
use crate::merge_or_sort::refuses_merge;
use crate::setup::{Setup, output_setters, sort_setters};
use std::path::{Path, PathBuf};
use xsort_disk::is_standard_output;
use xsort_extsort::records::Method;
use xsort_extsort::{
    Checkpoint, Codec, DryRun, Error, Observer, SortOptions, SortReport, Stream, dry_run,
    sort_streamed,
};
use xsort_records::{Format, Layout};

/// Sorts files of fixed-size records by their keys. The sort is stable.
///
/// ```no_run
/// use xsort::{Format, Sort};
///
/// let report = Sort::files(["a.dat", "b.dat"])
///     .format(Format::Gensort)
///     .memory(1 << 30)
///     .scratch(["/nvme1", "/nvme2"])
///     .run("sorted.dat")?;
/// println!("{} records in {:.1} s", report.records, report.seconds);
/// # Ok::<(), xsort::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sort {
    inputs: Vec<PathBuf>,
    layout: Option<Layout>,
    method: Method,
    /// True to merge the inputs if all are in order.
    tries_merge: bool,
    codec: Option<Codec>,
    scratch: Vec<PathBuf>,
    remove_input: bool,
    sync: bool,
    probe: bool,
    checkpoint: Option<Checkpoint>,
    setup: Setup,
}

impl Sort {
    /// Sorts these files, as if concatenated in this order.
    pub fn files<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Sort {
        Sort {
            inputs: inputs.into_iter().map(Into::into).collect(),
            layout: None,
            method: Method::Auto,
            tries_merge: false,
            codec: None,
            scratch: Vec::new(),
            remove_input: false,
            sync: true,
            probe: false,
            checkpoint: None,
            setup: Setup::default(),
        }
    }

    crate::resource_setters!();
    output_setters!();
    sort_setters!();

    /// Sets the format of the records by name. Unless this or [`layout`](Sort::layout) is called,
    /// records are the Sort Benchmark's of 100 bytes, and files that look like another format are
    /// refused.
    #[must_use]
    pub fn format(self, format: Format) -> Sort {
        self.layout(format.layout())
    }

    /// Sets the size and the key of the records.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Sort {
        self.layout = Some(layout);
        self
    }

    /// Sets the method of sorting. Unless set, the planner chooses it.
    #[must_use]
    pub fn method(mut self, method: Method) -> Sort {
        self.method = method;
        self
    }

    /// Merges inputs, each of which is in the order of the key already, instead of sorting them.
    /// Their order is checked: a file that isn't in order is an error, with its record.
    #[must_use]
    pub fn merge(self) -> Sort {
        self.method(Method::MergeInputs)
    }

    /// Merges the inputs if each is in the order of the key already, as [`merge`](Sort::merge)
    /// does, and else sorts them. A merge that finds a file out of order has been in vain. So
    /// streams, and inputs on their way to standard output, are sorted without one.
    #[must_use]
    pub fn merge_or_sort(mut self) -> Sort {
        self.tries_merge = true;
        self
    }

    /// Removes the inputs once the output is published, or earlier if their space is needed.
    #[must_use]
    pub fn remove_input(mut self) -> Sort {
        self.remove_input = true;
        self
    }

    /// Measures the drive before the sort, which takes a second. The report then says what share of
    /// its speed was reached.
    #[must_use]
    pub fn probe(mut self) -> Sort {
        self.probe = true;
        self
    }

    /// Sorts into `output`, which may be one of the inputs. The output appears complete or not at
    /// all.
    ///
    /// # Errors
    /// Any [`Error`]. Unless the error says otherwise, the old output is unchanged.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<SortReport, Error> {
        let output = output.as_ref();
        let (job, observer) = self.setup.begin(&self.inputs, Some(output))?;
        self.run_in(&job, &observer, None, output)
    }

    /// Sorts within a job that the caller has begun and observes. One of the inputs may be a
    /// stream.
    ///
    /// # Errors
    /// The errors of [`run`](Sort::run).
    pub fn run_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        stream: Option<Stream>,
        output: &Path,
    ) -> Result<SortReport, Error> {
        let options = self.options(job, output);
        let sort = |options: &SortOptions, stream| {
            sort_streamed(options, stream, &*job.disk, observer)
                .map_err(|error| job.total_from_data(error))
        };
        if self.tries_merge && stream.is_none() && !is_standard_output(output) {
            let merge = SortOptions { method: Method::MergeInputs, ..options.clone() };
            let merged = sort(&merge, None);
            if !refuses_merge(&merged) {
                return merged;
            }
        }
        sort(&options, stream)
    }

    /// Measures the drive. Returns how the sort would proceed and how long it would take.
    ///
    /// # Errors
    /// The errors of [`run`](Sort::run).
    pub fn plan_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        output: &Path,
    ) -> Result<DryRun, Error> {
        let options = SortOptions { probe: true, ..self.options(job, output) };
        dry_run(&options, &*job.disk, observer).map_err(|error| job.total_from_data(error))
    }

    fn options(&self, job: &Job, output: &Path) -> SortOptions {
        SortOptions {
            inputs: self.inputs.clone(),
            output: output.to_owned(),
            layout: self.layout.clone().unwrap_or_else(|| Format::Gensort.layout()),
            format_is_assumed: self.layout.is_none(),
            budget_bytes: job.data_bytes(),
            method: self.method,
            codec: self.codec,
            threads: job.threads(),
            caches: job.caches(),
            scratch: self.scratch.clone(),
            remove_input: self.remove_input,
            sync: self.sync,
            probe: self.probe,
            sample_seed: random_seed(),
            checkpoint: self.checkpoint,
        }
    }
}
