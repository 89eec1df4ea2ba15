//! Counts the disk usage of trees.

use crate::cancel::Cancel;
use parking_lot::Mutex;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use xsort_disk::{DisplayPath, is_url};
use xsort_usage::{Detail, FoundFile, Options, Usage, Visitor, WalkError, walk};

/// Counts the disk usage of trees, with GNU du's figures.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("file"), [1; 5000])?;
/// # let path = folder.path();
/// use xsort::Du;
///
/// let usage = Du::trees([path]).run();
/// assert!(usage.errors.is_empty() && usage.total.inodes == 2);
/// let usage = Du::trees([path]).top(1).run();
/// assert_eq!(usage.largest[0].0, path);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Du {
    trees: Vec<PathBuf>,
    options: Options,
    top: usize,
    cancel: Cancel,
}

/// The disk usage of trees.
#[derive(Clone, Debug)]
pub struct TreeUsage {
    /// The sum over all trees; each inode counts once.
    pub total: Usage,
    /// The directories and roots with the largest disk usage, including everything below them. The
    /// largest comes first. There are at most as many as [`Du::top`] requested.
    pub largest: Vec<(PathBuf, Usage)>,
    /// Messages about files that could not be counted, or not completely.
    pub errors: Vec<String>,
    /// Whether the flag of [`Du::cancel`] ended the walk. If so, the result is incomplete.
    pub is_cancelled: bool,
}

impl Du {
    /// Counts these paths and everything below them.
    pub fn trees<P: Into<PathBuf>>(trees: impl IntoIterator<Item = P>) -> Du {
        let options = Options { detail: Detail::Total, ..Options::default() };
        let trees = trees.into_iter().map(Into::into).collect();
        Du { trees, options, top: 0, cancel: Cancel::new() }
    }

    /// Sets the number of threads that walk. Unless set, there is one for each processor, and more
    /// while threads wait for the device.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Du {
        self.options.threads = Some(threads);
        self
    }

    /// Leaves out files on other file systems than the trees' roots.
    #[must_use]
    pub fn one_file_system(mut self) -> Du {
        self.options.one_file_system = true;
        self
    }

    /// Also lists the `directories` largest directories.
    #[must_use]
    pub fn top(mut self, directories: usize) -> Du {
        let detail = if directories == 0 { Detail::Total } else { Detail::Directories };
        (self.top, self.options.detail) = (directories, detail);
        self
    }

    /// Stops when the flag is set.
    #[must_use]
    pub fn cancel(mut self, flag: &Cancel) -> Du {
        self.cancel = flag.clone();
        self
    }

    /// Counts. Leaves out files that can't be accessed, and lists them in the result.
    pub fn run(&self) -> TreeUsage {
        let findings = Findings {
            top: self.top,
            cancel: &self.cancel,
            largest: Mutex::default(),
            errors: Mutex::default(),
        };
        let trees = self.trees.iter().filter(|path| findings.is_of_files(path));
        let mut paths = trees.map(|path| path.clone().into_os_string().into_vec());
        let total = walk(&self.options, &mut paths, &findings);
        let largest = findings.largest.into_inner().into_sorted_vec();
        TreeUsage {
            total,
            largest: largest.into_iter().map(|Reverse(row)| row.into_path_and_usage()).collect(),
            errors: findings.errors.into_inner(),
            is_cancelled: self.cancel.is_cancelled(),
        }
    }
}

/// The results of a walk under way.
struct Findings<'d> {
    top: usize,
    cancel: &'d Cancel,
    /// The `top` largest directories so far, the smallest on top.
    largest: Mutex<BinaryHeap<Reverse<Directory>>>,
    errors: Mutex<Vec<String>>,
}

impl Findings<'_> {
    /// Returns whether a path is in the file system. Records an error for a URL, because objects
    /// aren't counted.
    fn is_of_files(&self, path: &Path) -> bool {
        let is_url = is_url(path);
        if is_url {
            let what = "objects of stores aren't counted, only files";
            self.errors.lock().push(format!("{}: {what}", DisplayPath(path)));
        }
        !is_url
    }
}

impl Visitor for Findings<'_> {
    fn found(&self, file: &FoundFile<'_>) {
        if self.top == 0 {
            return;
        }
        let mut largest = self.largest.lock();
        let bytes = |least: &Reverse<Directory>| least.0.total.allocated_bytes;
        let has_place = largest.len() < self.top
            || largest.peek().is_some_and(|least| file.total.allocated_bytes >= bytes(least));
        if has_place {
            largest.push(Reverse(Directory { path: file.path(), total: file.total }));
            if largest.len() > self.top {
                largest.pop();
            }
        }
    }

    fn failed(&self, error: &WalkError) {
        self.errors.lock().push(error.to_string());
    }

    fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// A directory, ordered by size.
struct Directory {
    path: Vec<u8>,
    total: Usage,
}

impl Directory {
    fn into_path_and_usage(self) -> (PathBuf, Usage) {
        (OsString::from_vec(self.path).into(), self.total)
    }
}

impl Ord for Directory {
    /// Of directories with equal sizes, the one with the first path is the largest.
    fn cmp(&self, other: &Directory) -> Ordering {
        let by_size = self.total.allocated_bytes.cmp(&other.total.allocated_bytes);
        by_size.then_with(|| other.path.cmp(&self.path))
    }
}

impl PartialOrd for Directory {
    fn partial_cmp(&self, other: &Directory) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Directory {
    fn eq(&self, other: &Directory) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Directory {}
