//! The live status of a walk. It is set up once the walk has taken a tenth of a second: until then
//! nobody could look, and ten files take less time than a thread.

use crate::progress::{Console, Task};
use crate::publish::Uses;
use crate::settings::{Progress, Voice};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use xsort_extsort::Observer;
use xsort_gnu::du::Command;

/// Walks shorter than this have no status.
const UNWATCHED: Duration = Duration::from_millis(100);

/// Arguments that are named as what the job uses.
const DIRECTORIES_MAX: usize = 16;

/// The status, if there is one.
pub(super) struct Watch {
    began: Instant,
    is_drawing: bool,
    directories: Vec<PathBuf>,
    console: OnceLock<Console>,
    /// What was counted and is not on the console yet.
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Watch {
    pub(super) fn new(command: &Command) -> Watch {
        let directories = command.files.iter().take(DIRECTORIES_MAX).map(PathBuf::from).collect();
        Watch {
            began: Instant::now(),
            is_drawing: command.extras.progress && io::stderr().is_terminal(),
            directories,
            console: OnceLock::new(),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Whether a bar is drawn on standard error.
    pub(super) fn is_drawing(&self) -> bool {
        self.is_drawing
    }

    /// So much more was counted.
    pub(super) fn advance(&self, files: u64, bytes: u64) {
        self.files.fetch_add(files, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
        if self.console.get().is_none() && self.began.elapsed() < UNWATCHED {
            return;
        }
        let console = self.console.get_or_init(|| self.console());
        console.advance(self.bytes.swap(0, Relaxed));
        console.count_files(self.files.swap(0, Relaxed));
    }

    /// Has `say` speak on standard error, where a bar may be.
    pub(super) fn above(&self, say: impl FnOnce()) {
        match self.console.get() {
            Some(console) => console.above(say),
            None => say(),
        }
    }

    fn console(&self) -> Console {
        let progress = if self.is_drawing { Progress::Bar } else { Progress::None };
        let voice = Voice { json: false, quiet: false, progress };
        let directories = self.directories.iter().map(|path| (path.clone(), "input")).collect();
        let uses = Uses { directories, ..Uses::default() };
        let console = Console::new(Task { command: "du", voice, uses, limit: None, stop: None });
        console.phase("walk", 0);
        console
    }
}
