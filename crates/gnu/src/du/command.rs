//! What a command line of du asks for, in plain values.

use std::ffi::OsString;
use std::num::NonZeroUsize;

use super::exclude::Excludes;
use super::size::Scale;
use crate::getopt::When;

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// Everything else.
    Run(Box<Command>),
}

/// A request, and what was said before it was understood: lines for standard error, without the
/// program's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Understood {
    /// What to do.
    pub request: Request,
    /// Warnings, and complaints that `--help` outdoes.
    pub said: Vec<Vec<u8>>,
}

/// What is to be counted, and how it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The operands in their order; `.` if there were none. Empty with `files0_from`.
    pub files: Vec<OsString>,
    /// `--files0-from`: the file that holds the names, each ended by NUL.
    pub files0_from: Option<OsString>,
    /// `-D`, `-H`, `-L`, `-P`; the last one counts.
    pub follow: Follow,
    /// `-l`: files with several links count at each.
    pub counts_links: bool,
    /// `-x`.
    pub one_file_system: bool,
    /// `--exclude` and `-X`.
    pub excludes: Excludes,

    /// `-a`: files too.
    pub shows_files: bool,
    /// `-d`, and 0 with `-s`: how far below an argument lines are shown.
    pub depth_max: usize,
    /// `-S`: directories without what is in their subdirectories.
    pub separate_directories: bool,
    /// `-c`: a line for all together.
    pub has_total: bool,
    /// `-t`.
    pub threshold: Threshold,

    /// What the figures are.
    pub measure: Measure,
    /// How they are printed.
    pub scale: Scale,
    /// `--time`: which, and how it is printed.
    pub time: Option<Time>,
    /// `-0`: lines end with NUL.
    pub zero_terminated: bool,

    /// What GNU du doesn't have.
    pub extras: Extras,
}

impl Command {
    /// The byte that ends a line.
    pub fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// True if every file has to be remembered, because it may be met twice: there are several
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
    /// `-D`, `-H`: those that are arguments.
    Arguments,
    /// `-L`: all.
    Always,
}

/// What a line's figure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// Bytes of the blocks that a file has.
    #[default]
    Allocated,
    /// `--apparent-size`: bytes that can be read.
    Apparent,
    /// `--inodes`: files.
    Inodes,
}

/// Which lines are shown, by their figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Figures from this on; 0 shows all.
    Least(u64),
    /// Figures up to this.
    Most(u64),
}

impl Threshold {
    /// True if a line of this figure is shown.
    pub fn admits(self, figure: u64) -> bool {
        match self {
            Threshold::Least(least) => figure >= least,
            Threshold::Most(most) => figure <= most,
        }
    }
}

/// Times to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// Which of a file's times.
    pub of: TimeOf,
    /// As for GNU date, without its `+`.
    pub format: Vec<u8>,
}

/// One of a file's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOf {
    /// When its bytes were changed.
    Modified,
    /// When it was read.
    Accessed,
    /// When anything of it was changed.
    Changed,
}

/// Options that GNU du lacks. They have long names only, which can't be shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `--json`.
    pub json: bool,
    /// `--color[=WHEN]`.
    pub color: When,
    /// `--progress[=WHEN]`.
    pub progress: When,
    /// `--quiet`: nothing but errors on standard error.
    pub quiet: bool,
    /// `--skip-pseudo`: file systems that hold no data, such as /proc, are not entered.
    pub skips_pseudo: bool,
    /// `--sort`.
    pub sort: Option<SortBy>,
    /// `--threads`: as many at most; `None`: as many as help.
    pub threads: Option<NonZeroUsize>,
    /// `--top`: so many lines with the largest figures.
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
