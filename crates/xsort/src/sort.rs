//! Sorting files of fixed-size records.

use crate::job::Job;
use crate::machine::random_seed;
use crate::setup::{Setup, output_setters, resource_setters, sort_setters};
use std::path::{Path, PathBuf};
use xsort_extsort::fixed::Method;
use xsort_extsort::{
    Checkpoint, Codec, DryRun, Error, Observer, SortOptions, SortReport, Stream, dry_run,
    sort_streamed,
};
use xsort_records::{Format, Layout};

/// Sorts files of fixed-size records by their keys, stably.
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
            codec: None,
            scratch: Vec::new(),
            remove_input: false,
            sync: true,
            probe: false,
            checkpoint: None,
            setup: Setup::default(),
        }
    }

    resource_setters!();
    output_setters!();
    sort_setters!();

    /// The records have a format that has a name. Unless this or [`layout`](Sort::layout) says
    /// otherwise, they are the Sort Benchmark's 100 bytes, and what looks like something else is
    /// refused.
    #[must_use]
    pub fn format(self, format: Format) -> Sort {
        self.layout(format.layout())
    }

    /// The records' size and key.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Sort {
        self.layout = Some(layout);
        self
    }

    /// How to sort: chosen by the planner, unless set.
    #[must_use]
    pub fn method(mut self, method: Method) -> Sort {
        self.method = method;
        self
    }

    /// Removes the inputs once the output is in place, or before if their space is needed.
    #[must_use]
    pub fn remove_input(mut self) -> Sort {
        self.remove_input = true;
        self
    }

    /// Measures the drive before the sort, so that the report can say what share of its speed was
    /// reached. It takes a second.
    #[must_use]
    pub fn probe(mut self) -> Sort {
        self.probe = true;
        self
    }

    /// Sorts into `output`, which may be one of the inputs. It appears whole or not at all.
    ///
    /// # Errors
    /// What [`Error`] lists. The old output is then still there, unless the error says otherwise.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<SortReport, Error> {
        let output = output.as_ref();
        let (job, observer) = self.setup.begin(&self.inputs, Some(output))?;
        self.run_in(&job, &observer, None, output)
    }

    /// Sorts within a job that the caller has begun and watches. One of the inputs may be a stream.
    ///
    /// # Errors
    /// As [`run`](Sort::run).
    pub fn run_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        stream: Option<Stream>,
        output: &Path,
    ) -> Result<SortReport, Error> {
        sort_streamed(&self.options(job, output), stream, &*job.disk, observer)
            .map_err(|error| job.total_from_data(error))
    }

    /// What the sort would do and how long it would take, after the drive was measured.
    ///
    /// # Errors
    /// As [`run`](Sort::run).
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
            threads: job.threads,
            caches: job.caches,
            scratch: self.scratch.clone(),
            remove_input: self.remove_input,
            sync: self.sync,
            probe: self.probe,
            sample_seed: random_seed(),
            checkpoint: self.checkpoint,
        }
    }
}
