//! How the user wants bytes to be moved.

use crate::{Gate, RateLimit};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Which engine moves the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IoChoice {
    /// io_uring where it is allowed, else threads, with a notice that says why.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// pread and pwrite on a pool of threads.
    Sync,
}

impl IoChoice {
    /// All choices, in the order in which a help text lists them.
    pub const ALL: [IoChoice; 3] = [IoChoice::Auto, IoChoice::Uring, IoChoice::Sync];

    /// The name on the command line.
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

/// The text names no engine.
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
    /// Which engine.
    pub io: IoChoice,
    /// Transfers in flight per ring; 0: the default, 16.
    pub depth: usize,
    /// io_uring instances, each with a thread of its own; in the sync engine, groups of `depth`
    /// threads. 0: the default, by the number of cores.
    pub rings: usize,
    /// A gate that every transfer passes before it starts.
    pub gate: Option<Arc<Gate>>,
    /// A limit on the bytes moved to and from drives in a second.
    pub rate: Option<Arc<RateLimit>>,
    /// An output must not replace a file.
    pub no_clobber: bool,
    /// Files go through the page cache, and each transfer is carried out by the thread that submits
    /// it, whatever `io` says. For transfers so small that passing them to another thread and
    /// waiting for the drive takes longer than copying their bytes.
    pub is_cached: bool,
    /// Outputs are written through the page cache, because they are read soon.
    pub cached_outputs: bool,
}

/// Default of transfers in flight per ring: 1 MiB blocks at depth 4 to 16 were fastest.
const DEPTH: usize = 16;

/// A ring has at most 32768 entries; this leaves room for the engine's own.
const DEPTH_MAX: usize = 16384;

/// More rings than this gain nothing: a GB costs 0.005-0.02 CPU seconds at 1 MiB, so that the 56
/// GB/s of eight fast drives keep one ring's thread busy at 1 MiB, and three to eight at 64 KiB.
const RINGS_MAX: usize = 8;

/// Two rings write a tenth to a fifth more GB/s at 1 MiB than one, four no more than two; at 64 KiB
/// the second costs half as much CPU again (2 cores, one virtual drive, Linux 6.18, November 2026;
/// docs/experiments/2026-11-21-io-engine.md).
const RINGS_MIN: usize = 2;

impl DiskOptions {
    /// Depth in effect.
    pub(crate) fn depth(&self) -> usize {
        if self.depth == 0 { DEPTH } else { self.depth.min(DEPTH_MAX) }
    }

    /// Rings in effect: one for four cores, but two on all but the smallest machine.
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
