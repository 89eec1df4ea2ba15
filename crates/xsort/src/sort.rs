//! Sorting files of fixed-size records.

use crate::machine::{caches, random_seed};
use crate::resources::{Resources, output_setters, resource_setters};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_extsort::fixed::Method;
use xsort_extsort::{Begin, Checkpoint, Error, SortOptions, SortReport, sort};
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
    scratch: Vec<PathBuf>,
    remove_input: bool,
    sync: bool,
    checkpoint: Option<Checkpoint>,
    resources: Resources,
}

/// How often a checkpoint is written.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);

impl Sort {
    /// Sorts these files, as if concatenated in this order.
    pub fn files<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Sort {
        Sort {
            inputs: inputs.into_iter().map(Into::into).collect(),
            layout: None,
            method: Method::Auto,
            scratch: Vec::new(),
            remove_input: false,
            sync: true,
            checkpoint: None,
            resources: Resources::default(),
        }
    }

    resource_setters!();
    output_setters!();

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

    /// Directories for scratch, best on several drives: the output's, unless set.
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Sort {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Removes the inputs once the output is in place, or before if their space is needed.
    #[must_use]
    pub fn remove_input(mut self) -> Sort {
        self.remove_input = true;
        self
    }

    /// Leaves it to the kernel when the output is durable, instead of syncing it.
    #[must_use]
    pub fn no_sync(mut self) -> Sort {
        self.sync = false;
        self
    }

    /// Keeps finished work in hidden files, and resumes an interrupted sort to the same output if
    /// there is one.
    #[must_use]
    pub fn checkpoint(mut self) -> Sort {
        self.checkpoint = Some(Checkpoint { begin: Begin::Resume, every: CHECKPOINT_EVERY });
        self
    }

    /// Sorts into `output`, which may be one of the inputs. It appears whole or not at all.
    ///
    /// # Errors
    /// What [`Error`] lists. The old output is then still there, unless the error says otherwise.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<SortReport, Error> {
        let output = output.as_ref();
        let job = self.resources.of_job(&self.inputs, Some(output))?;
        let options = SortOptions {
            inputs: self.inputs.clone(),
            output: output.to_owned(),
            layout: self.layout.clone().unwrap_or_else(|| Format::Gensort.layout()),
            format_is_assumed: self.layout.is_none(),
            budget_bytes: job.budget_bytes,
            method: self.method,
            codec: None,
            threads: self.resources.threads(),
            caches: caches(None),
            scratch: self.scratch.clone(),
            remove_input: self.remove_input,
            sync: self.sync,
            probe: false,
            sample_seed: random_seed(),
            checkpoint: self.checkpoint,
        };
        sort(&options, &*job.disk()?, &self.resources.observer()).map_err(|error| job.add_to(error))
    }
}
