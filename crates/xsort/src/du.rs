//! Counting the disk usage of trees.

use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Mutex;
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
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Du {
    trees: Vec<PathBuf>,
    options: Options,
}

/// What trees take.
#[derive(Clone, Debug)]
pub struct TreeUsage {
    /// Of all trees together; each inode counts once.
    pub total: Usage,
    /// What could not be counted, or not completely.
    pub errors: Vec<String>,
}

impl Du {
    /// Counts what is below these paths, and they themselves.
    pub fn trees<P: Into<PathBuf>>(trees: impl IntoIterator<Item = P>) -> Du {
        let options = Options { detail: Detail::Total, ..Options::default() };
        Du { trees: trees.into_iter().map(Into::into).collect(), options }
    }

    /// Threads that walk: one a processor and more while they wait for the device, unless set.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Du {
        self.options.threads = Some(threads);
        self
    }

    /// Leaves out what lies on other file systems than the trees' roots.
    #[must_use]
    pub fn one_file_system(mut self) -> Du {
        self.options.one_file_system = true;
        self
    }

    /// Counts. What can't be accessed is left out, and listed in the result.
    pub fn run(&self) -> TreeUsage {
        let errors = Errors(Mutex::default());
        let mut paths = self.trees.iter().map(|path| path.clone().into_os_string().into_vec());
        let total = walk(&self.options, &mut paths, &errors);
        TreeUsage { total, errors: errors.0.into_inner().unwrap_or_default() }
    }
}

struct Errors(Mutex<Vec<String>>);

impl Visitor for Errors {
    fn found(&self, _file: &FoundFile<'_>) {}

    fn failed(&self, error: &WalkError) {
        if let Ok(mut errors) = self.0.lock() {
            errors.push(error.to_string());
        }
    }
}
