//! The status of a walk that takes long enough to be watched. It is set up after a tenth of a
//! second: counting ten files takes less time than starting a thread.

use crate::job::{Console, ConsoleOptions, JobPlaces, Watched};
use crate::settings::{ProgressStyle, ReportStyle};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use xsort_extsort::Observer;
use xsort_gnu::du::Command;

/// Shorter walks have no status.
const UNSEEN: Duration = Duration::from_millis(100);

/// The maximum number of arguments published as directories of the job.
const DIRECTORIES_MAX: usize = 16;

/// The status of a walk, once it is set up.
pub(super) struct LiveStatus {
    began: Instant,
    progress: ProgressStyle,
    /// True if figures over time are kept.
    is_recorded: bool,
    directories: Vec<PathBuf>,
    console: OnceLock<Console>,
    /// Files and bytes that were counted, but not yet passed to the console.
    files: AtomicU64,
    bytes: AtomicU64,
}

impl LiveStatus {
    /// `may_show`: shows progress even if no option asks for it.
    pub(super) fn new(command: &Command, may_show: bool) -> LiveStatus {
        let may_show = may_show && !command.extras.quiet;
        let directories = command.files.iter().take(DIRECTORIES_MAX).map(PathBuf::from).collect();
        LiveStatus {
            began: Instant::now(),
            progress: ProgressStyle::decide(command.extras.progress, may_show),
            is_recorded: command.extras.report.is_some(),
            directories,
            console: OnceLock::new(),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// True if a bar is drawn on standard error.
    pub(super) fn draws_bar(&self) -> bool {
        self.progress == ProgressStyle::Bar
    }

    /// Adds to the files and bytes counted.
    pub(super) fn advance(&self, files: u64, bytes: u64) {
        self.files.fetch_add(files, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        if self.console.get().is_none() && self.began.elapsed() < UNSEEN {
            return;
        }
        let console = self.console.get_or_init(|| self.open_console());
        console.advance(self.bytes.swap(0, Relaxed));
        console.count_files(self.files.swap(0, Relaxed));
    }

    /// Calls `print`, which writes to standard error, above the bar if there is one.
    pub(super) fn print_above_bar(&self, print: impl FnOnce()) {
        match self.console.get() {
            Some(console) => console.print_above_bar(print),
            None => print(),
        }
    }

    /// What was seen of the walk, if it took long enough.
    pub(super) fn watched(&self) -> Option<Watched> {
        self.console.get().map(Console::watched)
    }

    fn open_console(&self) -> Console {
        let (quiet, progress) = (false, self.progress);
        let style = ReportStyle { json: false, quiet, verbosity: 0, progress };
        let directories = self.directories.iter().map(|path| (path.clone(), "input")).collect();
        let places = JobPlaces { directories, ..JobPlaces::default() };
        let console = Console::new(ConsoleOptions {
            command: "du",
            style,
            places,
            temperature: None,
            is_recorded: self.is_recorded,
            stop: None,
        });
        console.phase("walk", 0);
        console
    }
}
