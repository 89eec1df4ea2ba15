//! What a step may use, from its arguments.

use crate::args::{Report, Resources};
use crate::commands::resources::{resources, resources_of_reading};
use crate::exit::Failure;
use crate::job::{Console, ConsoleOptions};
use crate::settings::{JobLimits, ReportStyle};
use crate::signals::Stop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use xsort::machine::caches;
use xsort_disk::Disk;
use xsort_extsort::Observer;
use xsort_objects::ObjectUse;
use xsort_parts::{Error, Means};

/// What a step is given.
pub(super) struct StepMeans {
    limits: JobLimits,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) style: ReportStyle,
}

impl StepMeans {
    /// With objects if there are URLs among the files that are read, or `output` is one.
    pub(super) fn new<P: AsRef<Path>>(
        given: (&Resources, &Report),
        read: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        stop: &Stop,
    ) -> Result<StepMeans, Failure> {
        StepMeans::decide(given, read, output, stop, |limits| limits)
    }

    /// The same for an output of so many bytes that is read soon.
    pub(super) fn of_slice<P: AsRef<Path>>(
        given: (&Resources, &Report),
        read: impl IntoIterator<Item = P>,
        bytes: u64,
        stop: &Stop,
    ) -> Result<StepMeans, Failure> {
        StepMeans::decide(given, read, None, stop, |limits| limits.caching_outputs(bytes))
    }

    /// The same with so much patience with servers that don't answer, instead of a store's.
    pub(super) fn with_patience<P: AsRef<Path>>(
        given: (&Resources, &Report),
        read: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        patience: Option<Duration>,
        stop: &Stop,
    ) -> Result<StepMeans, Failure> {
        StepMeans::decide(given, read, output, stop, |limits| match patience {
            Some(time) => limits.giving_up_after(time),
            None => limits,
        })
    }

    fn decide<P: AsRef<Path>>(
        (resources, report): (&Resources, &Report),
        read: impl IntoIterator<Item = P>,
        output: Option<&Path>,
        stop: &Stop,
        change: impl FnOnce(JobLimits) -> JobLimits,
    ) -> Result<StepMeans, Failure> {
        let limits = JobLimits::decide(resources, ObjectUse::of(read, output), false, stop);
        let limits = change(limits);
        let disk = limits.disk()?;
        Ok(StepMeans { limits, disk, style: ReportStyle::decide(report) })
    }

    /// Shows and publishes a step that writes to `output` and `scratch`.
    pub(super) fn console(
        &self,
        inputs: &[PathBuf],
        (output, scratch): (Option<&Path>, &[PathBuf]),
        stop: &Stop,
    ) -> Console {
        let console = Console::new(ConsoleOptions {
            command: "part",
            style: self.style,
            resources: match output {
                Some(output) => resources(inputs, scratch, output, &self.limits),
                None => resources_of_reading([inputs, &[]], &self.limits),
            },
            temperature: self.limits.temperature.clone(),
            stop: Some(stop),
        });
        self.limits.notice.iter().for_each(|line| console.notice(line));
        console
    }

    /// For a step that is watched by `observer`.
    pub(super) fn means<'m>(
        &self,
        observer: &'m dyn Observer,
        scratch: &[PathBuf],
        sync: bool,
    ) -> Means<'m> {
        Means {
            disk: Arc::clone(&self.disk),
            budget_bytes: self.limits.budget_bytes,
            threads: self.limits.threads,
            caches: caches(None),
            scratch: scratch.to_vec(),
            sync,
            observer,
        }
    }

    /// An error about the memory that objects leave, as one about all of it.
    pub(super) fn add_to(&self, error: Error) -> Error {
        match error {
            Error::Engine(error) => Error::Engine(self.limits.add_to(error)),
            error => error,
        }
    }

    pub(super) fn limits(&self) -> &JobLimits {
        &self.limits
    }
}
