//! The regular files below one directory, in the order of their paths.
//!
//! The walk is that of `xsort du`, with all its threads. The files are sorted afterwards, so that a
//! tree always yields the same sequence of files: that of `find DIR -type f | LC_ALL=C sort`.
//! Memory grows with the names, up to the budget.
//!
//! Nothing is left out silently: a directory that can't be listed is an error, and a notice counts
//! what isn't a regular file.

use super::names_memory::{NamesMemory, TooManyNames};
use crate::exit::Failure;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_disk::{DisplayPath, is_url};
use xsort_extsort::Error;
use xsort_usage::{
    Detail, Follow, FoundFile, Identity, Kind, Links, Options, Visitor, WalkError, walk,
};

/// The problem with a pattern, for messages.
const NO_MATCH: &str = "no object has a name that it matches";
/// The advice for a directory or a prefix that has nothing below it.
const IF_EMPTY: &str = "check its name, or give --allow-empty if nothing is meant";

/// A file in a tree.
#[derive(Debug)]
pub(crate) struct TreeFile {
    pub(crate) path: OsString,
    /// Its size when the walk found it.
    pub(crate) bytes: u64,
    pub(crate) identity: Identity,
    has_links: bool,
}

/// The files below a directory.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The files, sorted by the bytes of their paths.
    pub(crate) files: Vec<TreeFile>,
    skipped: SkippedFiles,
}

/// Which files of a directory are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TreeOptions<'o> {
    /// True if a file with hard links in the tree is taken under each name, false if only under the
    /// first.
    pub(crate) counts_links: bool,
    /// The output file, if it exists already: it must not be in a tree.
    pub(crate) output: Option<Identity>,
    /// The output's URL, whether or not it exists: it must not be below a prefix.
    pub(crate) output_url: Option<&'o Path>,
    /// Bytes of memory for the names and the data of all inputs.
    pub(crate) budget_bytes: u64,
    /// True if a directory or a prefix may have nothing below it.
    pub(crate) allows_empty: bool,
}

impl<'o> TreeOptions<'o> {
    /// Options that take all files except the output.
    pub(crate) fn beside(output: &'o Path) -> TreeOptions<'o> {
        let (output, output_url) = match is_url(output) {
            true => (None, Some(output)),
            false => (fs::metadata(output).ok().map(|metadata| identity(&metadata)), None),
        };
        TreeOptions { output, output_url, ..TreeOptions::default() }
    }
}

/// Why the files of a directory can't be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    /// An entry of the directory can't be listed or statted.
    #[error("{}: {source}", DisplayPath(path))]
    Unreadable { path: PathBuf, source: io::Error },
    /// The output lies in the directory.
    #[error(
        "{} is the output, and holds data that would be sorted with the rest: \
         move it, or write elsewhere",
        DisplayPath(.0)
    )]
    IsOutput(PathBuf),
    /// The names take more memory than the budget has.
    #[error(transparent)]
    TooManyNames(#[from] TooManyNames),
    /// The disk failed to look up a URL.
    #[error(transparent)]
    Disk(#[from] xsort_disk::Error),
    /// No object matches a URL with wildcards.
    #[error("{}: {}", DisplayPath(.0), NO_MATCH)]
    NoMatch(PathBuf),
    /// No file or object that could be sorted lies below the path.
    #[error("{}: {reason}: {}", DisplayPath(path), IF_EMPTY)]
    Empty { path: PathBuf, reason: String },
    /// A signal stopped the job.
    #[error("stopped on request")]
    Stopped,
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Failure {
        match error {
            TreeError::Unreadable { path, source } => {
                Failure::Job(Error::Input { path, reason: source.to_string() })
            }
            TreeError::IsOutput(_) => Failure::Usage(error.to_string()),
            TreeError::TooManyNames(TooManyNames { budget_bytes, needed_bytes, .. }) => {
                Failure::Job(Error::Memory { budget_bytes, needed_bytes })
            }
            TreeError::Disk(error) => error.into(),
            TreeError::NoMatch(path) => {
                Failure::Job(Error::Input { path, reason: NO_MATCH.into() })
            }
            TreeError::Empty { path, reason } => {
                Failure::Job(Error::Input { path, reason: format!("{reason}: {IF_EMPTY}") })
            }
            TreeError::Stopped => Failure::Job(Error::Cancelled),
        }
    }
}

/// Counts of files that were found but are not sorted.
#[derive(Debug, Default)]
struct SkippedFiles {
    links: usize,
    special: usize,
    /// The skipped file whose path comes first.
    example: Option<OsString>,
}

impl Tree {
    /// Finds the regular files below `directory`, and adds their names to those of earlier inputs.
    /// If the budget has no memory for them, the names are still counted, but no files are
    /// returned.
    ///
    /// # Errors
    /// If anything below can't be listed, if the output is one of the files and isn't empty, if
    /// there are no files and `options` doesn't allow that, or if the job is stopped.
    pub(crate) fn below(
        directory: &Path,
        options: TreeOptions<'_>,
        names: &mut NamesMemory,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Tree, TreeError> {
        let found =
            Mutex::new(FoundFiles { names: std::mem::take(names), ..FoundFiles::default() });
        let collector = Collector { is_stopped, budget_bytes: options.budget_bytes, found };
        let walk_options = Options {
            follow: Follow::Arguments,
            // `retain` below chooses one of a file's names, by their order.
            links: Links::Each,
            detail: Detail::Files,
            ..Options::default()
        };
        let argument = directory.as_os_str().as_bytes().to_vec();
        walk(&walk_options, &mut std::iter::once(argument), &collector);
        if (collector.is_stopped)() {
            return Err(TreeError::Stopped);
        }
        let FoundFiles { mut tree, names: all, error } = collector.found.into_inner();
        if let Some(error) = error {
            return Err(error);
        }
        *names = all;
        tree.files.sort_unstable_by(|one, other| one.path.as_bytes().cmp(other.path.as_bytes()));
        if !options.counts_links {
            let mut seen = HashSet::new();
            tree.files.retain(|file| !file.has_links || seen.insert(file.identity));
        }
        if let Some(output) = options.output {
            tree.leave_out_output(output)?;
        }
        // If their names are too many, the files were only counted.
        let is_empty = tree.files.is_empty() && names.fits(options.budget_bytes);
        match is_empty && !options.allows_empty {
            true => Err(TreeError::Empty { path: directory.to_owned(), reason: tree.emptiness() }),
            false => Ok(tree),
        }
    }

    /// Removes the output from the files if it is empty; an output with content is an error.
    fn leave_out_output(&mut self, output: Identity) -> Result<(), TreeError> {
        if let Some(file) = self.files.iter().find(|file| file.identity == output && file.bytes > 0)
        {
            return Err(TreeError::IsOutput(PathBuf::from(&file.path)));
        }
        self.files.retain(|file| file.identity != output);
        Ok(())
    }

    /// Why there are no files.
    fn emptiness(&self) -> String {
        match self.skipped.text() {
            Some(skipped) => format!("there is no regular file below it ({skipped})"),
            None => "there is no file below it".to_owned(),
        }
    }

    /// A notice for the user, if files were skipped or there are none.
    pub(crate) fn notice(&self, directory: &Path) -> Option<String> {
        let shown = DisplayPath(directory);
        let Some(skipped) = self.skipped.text() else {
            return self.files.is_empty().then(|| format!("{shown}: there is no file below it"));
        };
        Some(format!("{shown}: {skipped}: only regular files are sorted"))
    }
}

impl SkippedFiles {
    /// The number of skipped files of each kind, as text; `None` if there are none.
    fn text(&self) -> Option<String> {
        let SkippedFiles { links, special, example } = self;
        let example = DisplayPath(example.as_ref()?);
        let count = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let parts = [count(*links, "symbolic link"), count(*special, "special file")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Some(format!("{} left out, {example} first", parts.join(" and ")))
    }
}

/// Identifies a file by device and inode.
pub(crate) fn identity(metadata: &Metadata) -> Identity {
    Identity { device: metadata.dev(), inode: metadata.ino() }
}

/// Collects the files that a walk finds.
struct Collector<S> {
    is_stopped: S,
    budget_bytes: u64,
    found: Mutex<FoundFiles>,
}

#[derive(Default)]
struct FoundFiles {
    tree: Tree,
    names: NamesMemory,
    /// The error whose path comes first, if there were several.
    error: Option<TreeError>,
}

impl<S: Fn() -> bool + Sync> Visitor for Collector<S> {
    fn found(&self, found: &FoundFile<'_>) {
        let path = || OsString::from_vec(found.path());
        match found.kind {
            Kind::Directory => {}
            Kind::Regular => {
                let file = TreeFile {
                    path: path(),
                    bytes: found.total.apparent_bytes,
                    identity: found.identity,
                    has_links: found.has_links,
                };
                self.found.lock().add(file, self.budget_bytes);
            }
            kind @ (Kind::Link | Kind::Special) => {
                self.found.lock().tree.skipped.add(kind, path());
            }
        }
    }

    fn failed(&self, error: &WalkError) {
        let path = PathBuf::from(OsString::from_vec(error.path.clone()));
        let source = error.source.raw_os_error().map_or_else(
            || io::Error::new(error.source.kind(), error.source.to_string()),
            io::Error::from_raw_os_error,
        );
        let mut found = self.found.lock();
        match &found.error {
            Some(TreeError::Unreadable { path: first, .. }) if *first <= path => {}
            _ => found.error = Some(TreeError::Unreadable { path, source }),
        }
    }

    fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }
}

impl FoundFiles {
    /// Adds a file. Beyond the budget, names are only counted, for the error message.
    fn add(&mut self, file: TreeFile, budget_bytes: u64) {
        self.names.add(file.path.len(), file.bytes);
        if self.names.fits(budget_bytes) {
            self.tree.files.push(file);
        } else {
            self.tree.files = Vec::new();
        }
    }
}

impl SkippedFiles {
    fn add(&mut self, kind: Kind, path: OsString) {
        *(if kind == Kind::Link { &mut self.links } else { &mut self.special }) += 1;
        if self.example.as_ref().is_none_or(|first| path < *first) {
            self.example = Some(path);
        }
    }
}
