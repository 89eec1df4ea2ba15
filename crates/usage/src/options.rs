//! What is counted, and what is shown.

use std::num::NonZeroUsize;

/// How a walk goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads. `None`: as many as there are processors, and more while they wait for the device.
    /// One: the walk goes, and tells, strictly in the order in which GNU du's does: as directories
    /// are listed, those of more than 10,000 entries by inode.
    pub threads: Option<NonZeroUsize>,
    /// Which symbolic links are followed.
    pub follow: Follow,
    /// Leaves out what is on another file system than the argument.
    pub one_file_system: bool,
    /// File systems that are left out where they are met below an argument (`st_dev`).
    pub skipped_devices: Vec<u64>,
    /// How often a file of several names counts.
    pub links: Links,
    /// What the visitor is told of.
    pub detail: Detail,
    /// The depth to which it is told; arguments have depth 0. What is deeper counts all the same.
    pub depth_max: usize,
    /// Which time is taken, if any.
    pub time: Option<Time>,
    /// Whether [`Visitor::excludes`](crate::Visitor::excludes) is asked at all: it costs a path for
    /// each file.
    pub has_excludes: bool,
    /// Remembers every file, not only those of several links: for arguments of which one may lie
    /// within another. Following all symbolic links implies it.
    pub remembers_all: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: None,
            follow: Follow::Never,
            one_file_system: false,
            skipped_devices: Vec::new(),
            links: Links::Once,
            detail: Detail::Directories,
            depth_max: usize::MAX,
            time: None,
            has_excludes: false,
            remembers_all: false,
        }
    }
}

/// Which symbolic links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// None: a link counts as the small file that it is.
    Never,
    /// Arguments.
    Arguments,
    /// All. What several links lead to counts once; a link to a directory that it is in is left
    /// out.
    Always,
}

/// How often a file of several names (hard links) counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Once in all, under the name that comes first in GNU du's order, whatever the number of
    /// threads.
    Once,
    /// Under each name.
    Each,
}

/// What the visitor is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The sum of each argument, [`Found::total`](crate::Found::total): the fastest, since it
    /// doesn't matter under which name a file counts.
    Total,
    /// Directories, and arguments.
    Directories,
    /// Everything.
    Files,
}

/// One of a file's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Of its last access.
    Accessed,
    /// Of the last change of its content.
    Modified,
    /// Of the last change of its status.
    Changed,
}
