//! What every builder has: what its job may use, and whom it tells.

use crate::job::Job;
use crate::progress::{Callbacks, ProgressObserver};
use crate::resources::Resources;
use std::path::Path;
use std::time::Duration;
use xsort_extsort::{Error, Observer};

/// A part of every builder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub(crate) resources: Resources,
    pub(crate) callbacks: Callbacks,
}

impl Setup {
    /// Begins a job that reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// As [`Resources::job`].
    pub(crate) fn begin<P: AsRef<Path>>(
        &self,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
    ) -> Result<(Job, ProgressObserver), Error> {
        let job = self.resources.job(inputs, output)?;
        let observer = ProgressObserver::new(self.callbacks.clone(), self.resources.cancel.clone());
        job.notice.iter().for_each(|line| observer.notice(line));
        Ok((job, observer))
    }
}

/// The setters that all builders have.
macro_rules! resource_setters {
    () => {
        /// The builder as `change` makes it, if `condition` holds.
        #[must_use]
        pub fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
            if condition { change(self) } else { self }
        }

        /// What the job may use, all at once.
        #[must_use]
        pub fn resources(mut self, resources: $crate::Resources) -> Self {
            self.setup.resources = resources;
            self
        }

        /// The most memory for everything that grows with the data: bytes, or a
        /// [`Memory`](crate::Memory). Beside it a job takes at most 64 MiB. Half of the memory that
        /// is available, unless set; never more than a control group or `ulimit` allows.
        #[must_use]
        pub fn memory(mut self, memory: impl Into<$crate::Memory>) -> Self {
            self.setup.resources.memory = Some(memory.into());
            self
        }

        /// Threads that work: one a processor, unless set.
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.setup.resources.threads = Some(threads);
            self
        }

        /// Moves at most so many bytes a second to and from drives.
        #[must_use]
        pub fn bandwidth_limit(mut self, bytes_per_second: std::num::NonZeroU64) -> Self {
            self.setup.resources.bandwidth = Some(bytes_per_second);
            self
        }

        /// Calls `tell` after every block, from any thread. It must be quick, and not block.
        #[must_use]
        pub fn on_progress(
            mut self,
            tell: impl Fn($crate::Progress<'_>) + Send + Sync + 'static,
        ) -> Self {
            self.setup.callbacks.on_progress = Some(std::sync::Arc::new(tell));
            self
        }

        /// Calls `tell` with each line that a user should see, from any thread: less memory than
        /// asked for, a feature of the kernel that is missing, an input that couldn't be removed.
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
pub(crate) use resource_setters;

/// The setters of all builders that have an output.
macro_rules! output_setters {
    () => {
        /// Reads an object that was written back, and compares it with what was sent.
        #[cfg(feature = "objects")]
        #[must_use]
        pub fn verify_output(mut self) -> Self {
            self.setup.resources.objects.verify_output = true;
            self
        }

        /// Refuses to replace a file or an object that exists, also one that appears meanwhile.
        #[must_use]
        pub fn no_clobber(mut self) -> Self {
            self.setup.resources.no_clobber = true;
            self
        }
    };
}
pub(crate) use output_setters;

/// The setters of all builders that sort files with scratch.
macro_rules! sort_setters {
    () => {
        /// Directories for scratch, best on several drives: the output's, unless set.
        #[must_use]
        pub fn scratch<P: Into<std::path::PathBuf>>(
            mut self,
            directories: impl IntoIterator<Item = P>,
        ) -> Self {
            self.scratch = directories.into_iter().map(Into::into).collect();
            self
        }

        /// How scratch is compressed: not at all, unless set.
        #[must_use]
        pub fn compress(mut self, codec: Option<xsort_extsort::Codec>) -> Self {
            self.codec = codec;
            self
        }

        /// Leaves it to the kernel when the output is durable, instead of syncing it.
        #[must_use]
        pub fn no_sync(mut self) -> Self {
            self.sync = false;
            self
        }

        /// Keeps finished work in hidden files, and resumes an interrupted sort to the same output
        /// if there is one.
        #[must_use]
        pub fn checkpoint(self) -> Self {
            let (begin, every) = (xsort_extsort::Begin::Resume, $crate::setup::CHECKPOINT_EVERY);
            self.checkpoint_as(Some(xsort_extsort::Checkpoint { begin, every }))
        }

        /// Whether finished work is kept, and how often; whether to begin or to resume.
        #[must_use]
        pub fn checkpoint_as(mut self, checkpoint: Option<xsort_extsort::Checkpoint>) -> Self {
            self.checkpoint = checkpoint;
            self
        }
    };
}
pub(crate) use sort_setters;

/// How often a checkpoint is written.
pub(crate) const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
