//! The part that all builders share: resources and callbacks.

use crate::job::Job;
use crate::progress::{Callbacks, ProgressObserver};
use crate::resources::Resources;
use crate::size::{IntoMemory, SizeError};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use xsort_extsort::{Error, Observer};

/// The resources and callbacks of a builder.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// What the job may use.
    pub resources: Resources,
    /// The closures that it calls.
    pub callbacks: Callbacks,
    /// Why a text that was given as the memory is none.
    bad_memory: Option<SizeError>,
}

impl Setup {
    /// Sets the memory. [`begin`](Setup::begin) fails if it is a text that is no size.
    pub fn set_memory(&mut self, memory: impl IntoMemory) {
        let memory = memory.into_memory();
        self.bad_memory = memory.clone().err();
        self.resources.memory = memory.ok();
    }

    /// Begins a job that reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// The errors of [`Resources::check_output`] and [`Resources::job`]; [`Error::Settings`] if the
    /// memory is no size.
    pub fn begin<P: AsRef<Path>>(
        &self,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
    ) -> Result<(Job, ProgressObserver), Error> {
        if let Some(error) = &self.bad_memory {
            return Err(Error::Settings(format!("the memory: {error}")));
        }
        self.resources.check_output(output, "verify_output")?;
        let job = self.resources.job(inputs, output)?;
        let (callbacks, cancel) = (self.callbacks.clone(), self.resources.cancel.clone());
        let disk = Some(Arc::clone(&job.disk));
        let observer = ProgressObserver::new(callbacks, cancel, disk);
        job.notice().iter().for_each(|line| observer.notice(line));
        Ok((job, observer))
    }
}

/// Defines the setters of all builders, which have a [`Setup`] in the field `setup`.
#[macro_export]
macro_rules! resource_setters {
    () => {
        /// Applies `change` to the builder if `condition` is true.
        #[must_use]
        pub fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
            if condition { change(self) } else { self }
        }

        /// Sets all resources that the job may use.
        #[must_use]
        pub fn resources(mut self, resources: $crate::Resources) -> Self {
            self.setup.resources = resources;
            self
        }

        /// Sets the closures that the job calls.
        #[must_use]
        pub fn callbacks(mut self, callbacks: $crate::Callbacks) -> Self {
            self.setup.callbacks = callbacks;
            self
        }

        /// Limits the memory for everything that grows with the data: bytes, a text such as `"64M"`
        /// or `"50%"`, or a [`Memory`](crate::Memory). The job takes at most 64 MiB more. Unless
        /// set, the limit is half of the available memory. It is never more than a control group or
        /// `ulimit` allows.
        #[must_use]
        pub fn memory(mut self, memory: impl $crate::IntoMemory) -> Self {
            self.setup.set_memory(memory);
            self
        }

        /// Sets the number of worker threads. Unless set, there is one for each processor.
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.setup.resources.threads = Some(threads);
            self
        }

        /// Limits the bandwidth to and from drives, in bytes per second.
        #[must_use]
        pub fn bandwidth_limit(mut self, bytes_per_second: std::num::NonZeroU64) -> Self {
            self.setup.resources.bandwidth = Some(bytes_per_second);
            self
        }

        /// Calls `tell` after every block, from any thread. It must return quickly and not block.
        #[must_use]
        pub fn on_progress(
            mut self,
            tell: impl Fn($crate::Progress<'_>) + Send + Sync + 'static,
        ) -> Self {
            self.setup.callbacks.on_progress = Some(std::sync::Arc::new(tell));
            self
        }

        /// Calls `tell` with each message for the user, from any thread: less memory than
        /// requested, a missing feature of the kernel, an input that couldn't be removed.
        #[must_use]
        pub fn on_notice(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
            self.setup.callbacks.on_notice = Some(std::sync::Arc::new(tell));
            self
        }

        /// Stops when the flag is set.
        #[must_use]
        pub fn cancel(mut self, flag: &$crate::Cancel) -> Self {
            self.setup.resources.cancel = flag.clone();
            self
        }
    };
}

/// Defines the setters of all builders that have an output.
macro_rules! output_setters {
    () => {
        /// Reads an output object back after it was written, and compares it with the sent bytes.
        #[must_use]
        pub fn verify_output(mut self) -> Self {
            self.setup.resources.verify_output = true;
            self
        }

        /// Refuses to replace an existing file or object, even one that appears during the job.
        #[must_use]
        pub fn no_clobber(mut self) -> Self {
            self.setup.resources.no_clobber = true;
            self
        }
    };
}
pub(crate) use output_setters;

/// Defines the setters of all builders that write a file with the help of scratch.
macro_rules! scratch_setters {
    () => {
        /// Sets the directories for scratch, preferably on several drives. Unless set, scratch is
        /// in the output's directory.
        #[must_use]
        pub fn scratch<P: Into<std::path::PathBuf>>(
            mut self,
            directories: impl IntoIterator<Item = P>,
        ) -> Self {
            self.scratch = directories.into_iter().map(Into::into).collect();
            self
        }

        /// Sets the compression of scratch. Unless set, scratch is not compressed.
        #[must_use]
        pub fn compress(mut self, codec: Option<xsort_extsort::Codec>) -> Self {
            self.codec = codec;
            self
        }

        /// Doesn't sync the output: the kernel decides when it becomes durable.
        #[must_use]
        pub fn no_sync(mut self) -> Self {
            self.sync = false;
            self
        }
    };
}
pub(crate) use scratch_setters;

/// Defines the setters of all builders that sort files with scratch, and can go on with an
/// interrupted sort.
macro_rules! sort_setters {
    () => {
        crate::setup::scratch_setters!();

        /// Keeps finished work in hidden files. Resumes an interrupted sort to the same output if
        /// there is one.
        #[must_use]
        pub fn checkpoint(self) -> Self {
            let (begin, every) = (xsort_extsort::Begin::Resume, $crate::setup::CHECKPOINT_EVERY);
            self.checkpoint_as(Some(xsort_extsort::Checkpoint { begin, every }))
        }

        /// Sets whether and how often finished work is kept, and whether the sort begins or
        /// resumes.
        #[must_use]
        pub fn checkpoint_as(mut self, checkpoint: Option<xsort_extsort::Checkpoint>) -> Self {
            self.checkpoint = checkpoint;
            self
        }
    };
}
pub(crate) use sort_setters;

/// Interval between checkpoints.
pub(crate) const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
