//! What the walk counts, and what it reports.

use std::num::NonZeroUsize;

/// Options of a walk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of threads. `None`: one per processor, and more while these wait for the device. With
    /// one thread the walk visits and reports strictly in GNU du's order: as directories are
    /// listed, those of more than 10,000 entries by inode.
    pub threads: Option<NonZeroUsize>,
    /// Which symbolic links are followed.
    pub follow: Follow,
    /// Leaves out files on another file system than the argument.
    pub one_file_system: bool,
    /// File systems (`st_dev`) that are left out below an argument.
    pub skipped_devices: Vec<u64>,
    /// How often a file with several names counts.
    pub links: Links,
    /// What is reported to the visitor.
    pub detail: Detail,
    /// Maximum depth at which files are reported; arguments have depth 0. Deeper files still count.
    pub depth_max: usize,
    /// The time to collect, if any.
    pub time: Option<Time>,
    /// Whether [`Visitor::excludes`](crate::Visitor::excludes) is called at all. It requires
    /// building a path for each file.
    pub has_excludes: bool,
    /// Remembers every file, not only files with hard links. Needed if one argument may lie within
    /// another. Following all symbolic links implies it.
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
    /// Links given as arguments.
    Arguments,
    /// All links. A file to which several links lead counts once; a link to a directory that
    /// contains the link is left out.
    Always,
}

/// How often a file with several names (hard links) counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Once, under the name that GNU du visits first, whatever the number of threads.
    Once,
    /// Under each name.
    Each,
}

/// What is reported to the visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The sum of each argument, [`FoundFile::total`](crate::FoundFile::total). The fastest choice,
    /// because it doesn't matter under which name a file counts.
    Total,
    /// Directories, and arguments.
    Directories,
    /// Everything.
    Files,
}

/// The time of a file that is collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Last access (`st_atime`).
    Accessed,
    /// Last change of the content (`st_mtime`).
    Modified,
    /// Last change of the status (`st_ctime`).
    Changed,
}
