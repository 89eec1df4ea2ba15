//! The request of a du command line, in plain values.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use super::exclude::Excludes;
use super::size::Scale;
use crate::getopt::When;

/// The request of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// Any other request.
    Run(Box<Command>),
}

/// A request, and messages before it: lines for standard error, without the program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// The request.
    pub request: Request,
    /// Warnings, and errors that `--help` overrides.
    pub said: Vec<Vec<u8>>,
}

/// The files to count, and how to show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The operands in order; `.` if there were none. Empty with `files0_from`.
    pub files: Vec<OsString>,
    /// `--files0-from`: the file with the names, each ended by NUL.
    pub files0_from: Option<OsString>,
    /// `-D`, `-H`, `-L`, `-P`; the last one counts.
    pub follow: Follow,
    /// `-l`: count files with several links at each link.
    pub counts_links: bool,
    /// `-x`.
    pub one_file_system: bool,
    /// `--exclude` and `-X`.
    pub excludes: Excludes,

    /// `-a`: show files too.
    pub shows_files: bool,
    /// `-d`, and 0 with `-s`: the depth below an argument to which lines are shown.
    pub depth_max: usize,
    /// `-S`: count directories without their subdirectories.
    pub separate_directories: bool,
    /// `-c`: add a line with the total.
    pub has_total: bool,
    /// `-t`.
    pub threshold: Threshold,

    /// The figure that is counted.
    pub measure: Measure,
    /// How figures are printed.
    pub scale: Scale,
    /// `--time`: the time that is shown, and its format.
    pub time: Option<Time>,
    /// `-0`: end lines with NUL.
    pub zero_terminated: bool,

    /// Options that GNU du doesn't have.
    pub extras: Extras,
}

impl Command {
    /// The byte that ends a line.
    pub fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// True if every file must be remembered, because it may be met twice: there are several
    /// arguments, or links are followed.
    pub fn remembers_all(&self) -> bool {
        self.files0_from.is_some() || self.files.len() > 1 || self.follow == Follow::Always
    }
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// `-P`: none.
    #[default]
    Never,
    /// `-D`, `-H`: only links that are arguments.
    Arguments,
    /// `-L`: all.
    Always,
}

/// The figure in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Bytes of the file's allocated blocks.
    #[default]
    Allocated,
    /// `--apparent-size`: bytes of content.
    Apparent,
    /// `--inodes`: number of files.
    Inodes,
}

/// Which lines are shown, by their figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Figures of at least this; 0 shows all.
    Least(u64),
    /// Figures of at most this.
    Most(u64),
}

impl Threshold {
    /// True if a line with this figure is shown.
    pub fn admits(self, figure: u64) -> bool {
        match self {
            Threshold::Least(least) => figure >= least,
            Threshold::Most(most) => figure <= most,
        }
    }
}

/// The time that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// The kind of time that is shown.
    pub of: TimeOf,
    /// A format of GNU date, without its `+`.
    pub format: Vec<u8>,
}

/// One of a file's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOf {
    /// Modification of the content.
    Modified,
    /// The last access.
    Accessed,
    /// Change of the content or the inode.
    Changed,
}

/// Options that GNU du lacks. They have only long names, which can't be shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `--json`.
    pub json: bool,
    /// `--color[=WHEN]`.
    pub color: When,
    /// `--progress[=WHEN]`.
    pub progress: When,
    /// `--report FILE`: a page about the run, with a map of what was counted.
    pub report: Option<OsString>,
    /// `--quiet`: only errors on standard error.
    pub quiet: bool,
    /// `--skip-pseudo`: skip file systems that hold no data, such as /proc.
    pub skips_pseudo: bool,
    /// `--sort`.
    pub sort: Option<SortBy>,
    /// `--threads`: the limit; `None` for as many as help.
    pub threads: Option<NonZeroUsize>,
    /// `--top`: show this many lines, with the largest figures.
    pub top_lines: Option<NonZeroUsize>,
    /// `--tree`.
    pub tree: bool,
}

/// The order of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// Largest first.
    Size,
    /// By the bytes of paths.
    Name,
}
