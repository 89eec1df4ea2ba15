//! The regular files below one directory, in the order of their paths.
//!
//! The walk is `xsort du`'s, with all its threads. The files are sorted afterwards, so that the
//! same tree always gives the same sequence of files: that of `find DIR -type f | LC_ALL=C sort`.
//! Memory grows with the names, up to the budget.
//!
//! Nothing is left out silently: what can't be listed is an error, and a notice counts what is no
//! regular file.

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

/// What is wrong with a pattern.
const NO_MATCH: &str = "no object has a name that it matches";
/// What can be done about a directory or a prefix that has nothing below it.
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

/// What is below a directory.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// By their paths, compared as bytes.
    pub(crate) files: Vec<TreeFile>,
    skipped: SkippedFiles,
}

/// Which files of a directory are taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TreeOptions<'o> {
    /// Whether a file with hard links in the tree is taken under each name, not only under the
    /// first.
    pub(crate) counts_links: bool,
    /// The output, if it exists already: it must not be in a tree.
    pub(crate) output: Option<Identity>,
    /// The same if it is at a URL, whether or not it exists.
    pub(crate) output_url: Option<&'o Path>,
    /// Memory for the names and the data of all inputs, in bytes.
    pub(crate) budget_bytes: u64,
    /// Whether a directory or a prefix may have nothing below it.
    pub(crate) allows_empty: bool,
}

impl<'o> TreeOptions<'o> {
    /// All files, but for an output.
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
    /// Something in it can't be listed or statted.
    #[error("{}: {source}", DisplayPath(path))]
    Unreadable { path: PathBuf, source: io::Error },
    /// The output lies in it.
    #[error(
        "{} is the output, and holds data that would be sorted with the rest: \
         move it, or write elsewhere",
        DisplayPath(.0)
    )]
    IsOutput(PathBuf),
    /// Its names take more memory than the budget has.
    #[error(transparent)]
    TooManyNames(#[from] TooManyNames),
    /// The disk doesn't say what is at a URL.
    #[error(transparent)]
    Disk(#[from] xsort_disk::Error),
    /// A URL with wildcards that is the pattern of no object.
    #[error("{}: {}", DisplayPath(.0), NO_MATCH)]
    NoMatch(PathBuf),
    /// Nothing that is sorted lies below it.
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

/// Files that were found and aren't sorted.
#[derive(Debug, Default)]
struct SkippedFiles {
    links: usize,
    special: usize,
    /// The first of them by its path.
    example: Option<OsString>,
}

impl Tree {
    /// Finds the regular files below `directory`, and adds their names to those of earlier inputs.
    /// If the budget has no memory for them, the names are still counted, but no files are
    /// returned.
    ///
    /// # Errors
    /// If anything below can't be listed, if the output is one of the files and isn't empty, if
    /// there is nothing and must be something, or if the job is stopped.
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
            // Which of a file's names counts is decided below, by their order.
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
        // Where their names are too many, they are counted only.
        let is_empty = tree.files.is_empty() && names.fits(options.budget_bytes);
        match is_empty && !options.allows_empty {
            true => Err(TreeError::Empty { path: directory.to_owned(), reason: tree.emptiness() }),
            false => Ok(tree),
        }
    }

    /// Leaves out the output if it is empty; one that isn't is an error.
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

    /// A line for the user, if files were skipped or there are none.
    pub(crate) fn notice(&self, directory: &Path) -> Option<String> {
        let shown = DisplayPath(directory);
        let Some(skipped) = self.skipped.text() else {
            return self.files.is_empty().then(|| format!("{shown}: there is no file below it"));
        };
        Some(format!("{shown}: {skipped}: only regular files are sorted"))
    }
}

impl SkippedFiles {
    /// How many of which kind there are, if there are any.
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

/// Which file it is.
pub(crate) fn identity(metadata: &Metadata) -> Identity {
    Identity { device: metadata.dev(), inode: metadata.ino() }
}

/// Collects what a walk finds.
struct Collector<S> {
    is_stopped: S,
    budget_bytes: u64,
    found: Mutex<FoundFiles>,
}

#[derive(Default)]
struct FoundFiles {
    tree: Tree,
    names: NamesMemory,
    /// Of several errors the one whose path comes first.
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
    /// Adds a file. Beyond the budget names are only counted, for the error message.
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
