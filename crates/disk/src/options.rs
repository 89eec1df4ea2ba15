//! Options for how a disk moves bytes.

use crate::{Gate, RateLimit};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The engine that moves the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IoChoice {
    /// io_uring if it is allowed, otherwise threads, with a notice that says why.
    #[default]
    Auto,
    /// io_uring; an error if it isn't available.
    Uring,
    /// pread and pwrite on a pool of threads.
    Sync,
}

impl IoChoice {
    /// All choices, in the order in which help texts list them.
    pub const ALL: [IoChoice; 3] = [IoChoice::Auto, IoChoice::Uring, IoChoice::Sync];

    /// Returns the choice's name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            IoChoice::Auto => "auto",
            IoChoice::Uring => "uring",
            IoChoice::Sync => "sync",
        }
    }
}

impl fmt::Display for IoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: the text names no engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownIoChoice(String);

impl fmt::Display for UnknownIoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown I/O engine '{}': choose auto, uring or sync", self.0)
    }
}

impl std::error::Error for UnknownIoChoice {}

impl FromStr for IoChoice {
    type Err = UnknownIoChoice;
    fn from_str(text: &str) -> Result<IoChoice, UnknownIoChoice> {
        IoChoice::ALL
            .into_iter()
            .find(|choice| choice.name() == text)
            .ok_or_else(|| UnknownIoChoice(text.to_owned()))
    }
}

/// How an [`OsDisk`](crate::OsDisk) moves bytes. The default is right for most machines.
#[derive(Clone, Debug, Default)]
pub struct DiskOptions {
    /// The engine.
    pub io: IoChoice,
    /// Number of transfers in flight per ring. 0 means the default, 16.
    pub depth: usize,
    /// Number of io_uring instances, each with its own thread; in the sync engine, of groups of
    /// `depth` threads. 0 means the default, which depends on the number of cores.
    pub rings: usize,
    /// A gate that every transfer passes before it starts.
    pub gate: Option<Arc<Gate>>,
    /// A limit on the bytes per second moved to and from drives.
    pub rate: Option<Arc<RateLimit>>,
    /// If set, an output must not replace a file.
    pub no_clobber: bool,
    /// If set, files go through the page cache, and the submitting thread carries out each
    /// transfer, whatever `io` says. For transfers so small that copying takes less time than
    /// handing them to another thread and waiting for the drive.
    pub is_cached: bool,
    /// If set, outputs are written through the page cache, because they are read soon.
    pub cached_outputs: bool,
}

/// Default number of transfers in flight per ring. 1 MiB blocks at depths of 4 to 16 were fastest.
const DEPTH: usize = 16;

/// A ring has at most 32768 entries; this leaves room for the engine's own.
const DEPTH_MAX: usize = 16384;

/// More rings than this gain nothing. One GB costs 0.005-0.02 CPU seconds at 1 MiB, so the 56 GB/s
/// of eight fast drives keep one ring's thread busy at 1 MiB, and three to eight at 64 KiB.
const RINGS_MAX: usize = 8;

/// At 1 MiB two rings write a tenth to a fifth more GB/s than one; four write no more than two. At
/// 64 KiB the second costs half as much CPU again (2 cores, one virtual drive, Linux 6.18, November
/// 2026; docs/experiments/2026-11-21-io-engine.md).
const RINGS_MIN: usize = 2;

impl DiskOptions {
    /// Returns the depth in effect.
    pub(crate) fn depth(&self) -> usize {
        if self.depth == 0 { DEPTH } else { self.depth.min(DEPTH_MAX) }
    }

    /// Returns the number of rings in effect: one for every four cores, but at least two if there
    /// are two cores.
    pub(crate) fn rings(&self) -> usize {
        if self.rings > 0 {
            return self.rings;
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (cores / 4).clamp(RINGS_MIN, RINGS_MAX).min(cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for choice in IoChoice::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert!("iouring".parse::<IoChoice>().unwrap_err().to_string().contains("'iouring'"));
    }
}
