//! What every job may use, how it tells about itself, and how it is stopped.

use crate::machine::{Budget, MemoryLimits, caches};
use crate::objects::Objects;
use crate::size::Memory;
use parking_lot::Mutex;
use std::fmt;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;
use xsort_disk::{Disk, DiskOptions, LazyDisk, OsDisk, RateLimit, is_url};
use xsort_extsort::{Error, LinesOptions, Observer, Reservation, scratch_directories};

/// How far a job is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress<'a> {
    /// What it does now: "form runs", "merge", "generate", "verify" and the like.
    pub phase: &'a str,
    /// Bytes of the phase that are done.
    pub done_bytes: u64,
    /// Bytes of the phase; 0 if that isn't known.
    pub bytes: u64,
    /// Seconds since the phase began.
    pub phase_seconds: f64,
    /// Bytes of all phases before it.
    pub earlier_bytes: u64,
    /// Bytes of the phases that are to come, as far as they were announced.
    pub to_come_bytes: u64,
    /// Seconds since the job began.
    pub seconds: f64,
}

/// A flag that stops a job: clones share it. A job that was stopped cleans up and returns
/// [`Error::Cancelled`].
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that isn't set.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Stops all jobs that have this flag.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether it was set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }
}

type OnProgress = Arc<dyn Fn(Progress<'_>) + Send + Sync>;
type OnNotice = Arc<dyn Fn(&str) + Send + Sync>;

/// What all builders have.
#[derive(Clone, Default)]
pub(crate) struct Resources {
    pub(crate) memory: Option<Memory>,
    pub(crate) threads: Option<usize>,
    pub(crate) bandwidth: Option<NonZeroU64>,
    pub(crate) no_clobber: bool,
    pub(crate) verify_output: bool,
    pub(crate) on_progress: Option<OnProgress>,
    pub(crate) on_notice: Option<OnNotice>,
    pub(crate) cancel: Cancel,
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources")
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .field("bandwidth", &self.bandwidth)
            .field("no_clobber", &self.no_clobber)
            .field("verify_output", &self.verify_output)
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}

/// The setters that all builders have.
macro_rules! resource_setters {
    () => {
        /// The most memory for everything that grows with the data: bytes, or a
        /// [`Memory`](crate::Memory). Beside it a job takes at most 64 MiB. Half of the memory that
        /// is available, unless set; never more than a control group or `ulimit` allows.
        #[must_use]
        pub fn memory(mut self, memory: impl Into<$crate::Memory>) -> Self {
            self.resources.memory = Some(memory.into());
            self
        }

        /// Threads that work: one a processor, unless set.
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.resources.threads = Some(threads);
            self
        }

        /// Moves at most so many bytes a second to and from drives.
        #[must_use]
        pub fn bandwidth_limit(mut self, bytes_per_second: std::num::NonZeroU64) -> Self {
            self.resources.bandwidth = Some(bytes_per_second);
            self
        }

        /// Calls `tell` after every block, from any thread. It must be quick, and not block.
        #[must_use]
        pub fn on_progress(
            mut self,
            tell: impl Fn($crate::Progress<'_>) + Send + Sync + 'static,
        ) -> Self {
            self.resources.on_progress = Some(std::sync::Arc::new(tell));
            self
        }

        /// Calls `tell` with each line that a user should see, from any thread: less memory than
        /// asked for, a feature of the kernel that is missing, an input that couldn't be removed.
        #[must_use]
        pub fn on_notice(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
            self.resources.on_notice = Some(std::sync::Arc::new(tell));
            self
        }

        /// Stops when the flag is set.
        #[must_use]
        pub fn cancel(mut self, flag: &$crate::Cancel) -> Self {
            self.resources.cancel = flag.clone();
            self
        }
    };
}
pub(crate) use resource_setters;

/// The setters of all builders that have an output.
macro_rules! output_setters {
    () => {
        /// Refuses to replace a file or an object that exists, also one that appears meanwhile.
        #[must_use]
        pub fn no_clobber(mut self) -> Self {
            self.resources.no_clobber = true;
            self
        }

        /// Reads an output that is an object back once it is there, and compares it with what was
        /// sent. An output that is none is refused.
        #[must_use]
        pub fn verify_output(mut self) -> Self {
            self.resources.verify_output = true;
            self
        }
    };
}
pub(crate) use output_setters;

impl Resources {
    pub(crate) fn budget_bytes(&self) -> u64 {
        let Budget { bytes, notice } = MemoryLimits::read().budget(self.memory);
        if let Some(line) = notice {
            self.notice(&line);
        }
        bytes
    }

    fn notice(&self, line: &str) {
        if let Some(tell) = &self.on_notice {
            tell(line);
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
            .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
            .max(1)
    }

    /// What a job with these inputs and this output has.
    ///
    /// # Errors
    /// If objects leave no memory, or the output can't be read back.
    pub(crate) fn of_job<P: AsRef<Path>>(
        &self,
        inputs: impl IntoIterator<Item = P>,
        output: Option<&Path>,
    ) -> Result<JobResources<'_>, Error> {
        if self.verify_output && !output.is_some_and(is_url) {
            let text = "verify_output reads an object back, and none is written: leave it out, or \
                        write to a URL (s3://, gs:// or az://)";
            return Err(Error::Settings(text.into()));
        }
        let budget_bytes = self.budget_bytes();
        let given = (self.no_clobber, self.verify_output);
        let objects = Objects::of_job(inputs, output, given, self.threads(), budget_bytes);
        let needed_bytes = objects.needed_bytes();
        if budget_bytes < needed_bytes {
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        let budget_bytes = budget_bytes - objects.taken_bytes();
        Ok(JobResources { resources: self, budget_bytes, objects })
    }
    fn disk_options(&self) -> DiskOptions {
        let cancel = self.cancel.clone();
        let rate = self
            .bandwidth
            .map(|rate| Arc::new(RateLimit::new(rate, move || cancel.is_cancelled())));
        DiskOptions { rate, no_clobber: self.no_clobber, ..DiskOptions::default() }
    }

    /// The machine's disk, for a job that may never need it: its engine starts with its first file.
    pub(crate) fn lazy_disk(&self) -> Arc<dyn Disk> {
        Arc::new(LazyDisk::new(self.disk_options()))
    }

    pub(crate) fn observer(&self) -> ProgressObserver {
        ProgressObserver {
            resources: self.clone(),
            phase: Mutex::default(),
            done: AtomicU64::new(0),
            began: Instant::now(),
        }
    }
}

/// The same for one job, of which the files are known: what objects take is taken.
pub(crate) struct JobResources<'r> {
    resources: &'r Resources,
    pub(crate) budget_bytes: u64,
    objects: Objects,
}

impl JobResources<'_> {
    /// The engine of lines and keyed records, for a sort to `output` with these directories for
    /// scratch.
    pub(crate) fn engine(&self, scratch: &[PathBuf], output: &Path) -> LinesOptions {
        LinesOptions {
            delimiter: b'\n',
            is_unique: false,
            budget_bytes: self.budget_bytes,
            reservation: Reservation::default(),
            threads: self.resources.threads(),
            caches: caches(None),
            scratch: scratch_directories(scratch, output),
            codec: None,
            output_file: None,
            checkpoint: None,
        }
    }

    /// The machine's disk, with objects where there are some.
    pub(crate) fn disk(&self) -> Result<Arc<dyn Disk>, Error> {
        let options = self.resources.disk_options();
        let rate = options.rate.clone();
        Ok(self.objects.on(Arc::new(OsDisk::new(options)?), rate))
    }

    /// The same for a job that may never need it.
    pub(crate) fn lazy_disk(&self) -> Arc<dyn Disk> {
        let options = self.resources.disk_options();
        let rate = options.rate.clone();
        self.objects.on(Arc::new(LazyDisk::new(options)), rate)
    }

    /// An error about the memory that objects leave, as one about all of it.
    pub(crate) fn add_to(&self, error: Error) -> Error {
        let taken_bytes = self.objects.taken_bytes();
        match error {
            Error::Memory { budget_bytes, needed_bytes } => Error::Memory {
                budget_bytes: budget_bytes + taken_bytes,
                needed_bytes: needed_bytes + taken_bytes,
            },
            other => other,
        }
    }
}

/// Calls the closure.
pub(crate) struct ProgressObserver {
    resources: Resources,
    phase: Mutex<Phase>,
    /// Bytes of the phase that are done.
    done: AtomicU64,
    began: Instant,
}

/// The phase that a job is in.
#[derive(Clone, Default)]
struct Phase {
    name: String,
    bytes: u64,
    /// `None` before the first.
    began: Option<Instant>,
    earlier_bytes: u64,
    /// Names and bytes of those to come.
    to_come: Vec<(String, u64)>,
}

impl ProgressObserver {
    fn tell(&self) {
        let Some(tell) = &self.resources.on_progress else { return };
        let Phase { name, bytes, began, earlier_bytes, to_come } = self.phase.lock().clone();
        tell(Progress {
            phase: &name,
            done_bytes: self.done.load(Relaxed),
            bytes,
            phase_seconds: began.map_or(0.0, |began| began.elapsed().as_secs_f64()),
            earlier_bytes,
            to_come_bytes: to_come.iter().map(|(_, bytes)| bytes).sum(),
            seconds: self.began.elapsed().as_secs_f64(),
        });
    }
}

impl Observer for ProgressObserver {
    fn phase(&self, name: &str, bytes: u64) {
        let mut phase = self.phase.lock();
        phase.earlier_bytes += self.done.swap(0, Relaxed);
        (phase.name, phase.bytes, phase.began) = (name.to_owned(), bytes, Some(Instant::now()));
        if let Some(index) = phase.to_come.iter().position(|(announced, _)| announced == name) {
            phase.to_come.drain(..=index);
        }
        drop(phase);
        self.tell();
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
        self.tell();
    }

    fn notice(&self, line: &str) {
        self.resources.notice(line);
    }

    fn is_cancelled(&self) -> bool {
        self.resources.cancel.is_cancelled()
    }

    fn expect(&self, phases: &[(&str, u64)]) {
        let phases = phases.iter().map(|&(name, bytes)| (name.to_owned(), bytes));
        self.phase.lock().to_come = phases.collect();
    }
}
