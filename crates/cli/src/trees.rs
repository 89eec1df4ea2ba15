//! Directories among the inputs of a sort: all regular files below them, in the order of their
//! paths.
//!
//! The walk is `xsort du`'s, with all its threads; what it finds is put in order afterwards, so
//! that the same tree always gives the same sequence of files: that of `find DIR -type f | LC_ALL=C
//! sort`. Memory goes with the names, as far as the budget has room for them.
//!
//! Nothing is lost in silence: what can't be listed is an error, and what is no regular file is
//! counted in a word to the user.

use crate::names_memory::{NamesMemory, TooMany};
use crate::settings;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use xsort_disk::DisplayPath;
use xsort_usage::{
    Detail, Follow, FoundFile, Identity, Kind, Links, Options, Visitor, WalkError, walk,
};

/// A file in a tree.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: OsString,
    /// Its size when it was met.
    pub(crate) bytes: u64,
    pub(crate) identity: Identity,
    has_links: bool,
}

/// What is below a directory.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// By their paths, compared as bytes.
    pub(crate) files: Vec<File>,
    left_out: LeftOut,
}

/// How a directory becomes files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Takes a file of several names in the tree under each of them, not only under the first.
    pub(crate) counts_links: bool,
    /// The output, if it is there already: it must not be in a tree.
    pub(crate) output: Option<Identity>,
    /// Memory for the names and the data of all inputs, in bytes.
    pub(crate) budget_bytes: u64,
}

/// Why a directory doesn't become files.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// Something in it can't be listed or looked at.
    #[error("{}: {source}", DisplayPath(path))]
    Unreadable { path: PathBuf, source: io::Error },
    /// The output lies in it.
    #[error("{} is the output, and holds data that would be sorted with the rest: move it, or write elsewhere", DisplayPath(.0))]
    IsOutput(PathBuf),
    /// Its names take more memory than there is.
    #[error(transparent)]
    TooMany(#[from] TooMany),
    /// The job was told to stop.
    #[error("stopped on request")]
    Stopped,
}

/// What was met and isn't sorted.
#[derive(Debug, Default)]
struct LeftOut {
    links: usize,
    special: usize,
    /// The first of them by its path.
    example: Option<OsString>,
}

impl Tree {
    /// Finds the regular files below `directory`. `names` are those of the inputs before, and take
    /// these in; if the budget has no room for them all, that is all that is done.
    ///
    /// # Errors
    /// If anything below can't be listed, if the output is one of the files and isn't empty, or if
    /// `is_stopped` says so.
    pub(crate) fn below(
        directory: &Path,
        rules: Rules,
        names: &mut NamesMemory,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Tree, Refusal> {
        let finds = Mutex::new(Finds { names: std::mem::take(names), ..Finds::default() });
        let finder = Finder { is_stopped, budget_bytes: rules.budget_bytes, finds };
        let options = Options {
            follow: Follow::Arguments,
            // Which of its names counts is decided by their order, not by the walk's.
            links: Links::Each,
            detail: Detail::Files,
            ..Options::default()
        };
        walk(&options, &mut std::iter::once(directory.as_os_str().as_bytes().to_vec()), &finder);
        if (finder.is_stopped)() {
            return Err(Refusal::Stopped);
        }
        let Finds { mut tree, names: all, refusal } =
            finder.finds.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        *names = all;
        tree.files.sort_unstable_by(|one, other| one.path.as_bytes().cmp(other.path.as_bytes()));
        if !rules.counts_links {
            let mut seen = HashSet::new();
            tree.files.retain(|file| !file.has_links || seen.insert(file.identity));
        }
        if let Some(output) = rules.output {
            tree.leave_output(output)?;
        }
        Ok(tree)
    }

    /// Leaves out the output if it is empty; refuses one that isn't.
    fn leave_output(&mut self, output: Identity) -> Result<(), Refusal> {
        if let Some(file) = self.files.iter().find(|file| file.identity == output && file.bytes > 0)
        {
            return Err(Refusal::IsOutput(PathBuf::from(&file.path)));
        }
        self.files.retain(|file| file.identity != output);
        Ok(())
    }

    /// A line for the user, if something is left out.
    pub(crate) fn notice(&self, directory: &Path) -> Option<String> {
        let LeftOut { links, special, example } = &self.left_out;
        let example = DisplayPath(example.as_ref()?);
        let count = |count: usize, what: &str| match count {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{count} {what}s")),
        };
        let parts = [count(*links, "symbolic link"), count(*special, "special file")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Some(format!(
            "{}: {} left out, {example} first: only regular files are sorted",
            DisplayPath(directory),
            parts.join(" and ")
        ))
    }
}

/// Inputs with each directory's files in its place.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) files: Vec<PathBuf>,
    /// Lines for the user.
    pub(crate) notices: Vec<String>,
}

/// Puts each directory's files in its place, and all names into `names`. `-` is standard input, and
/// no directory.
pub(crate) fn expand(
    paths: &[PathBuf],
    rules: Rules,
    names: &mut NamesMemory,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<Expanded, Refusal> {
    let (mut files, mut notices) = (Vec::with_capacity(paths.len()), Vec::new());
    for path in paths {
        if path.as_os_str() == "-" || !is_directory(path) {
            let file_bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
            names.add(path.as_os_str().len(), file_bytes);
            files.push(path.clone());
            continue;
        }
        let tree = Tree::below(path, rules, names, &is_stopped)?;
        notices.extend(tree.notice(path));
        files.extend(tree.files.into_iter().map(|file| PathBuf::from(file.path)));
    }
    names.check(rules.budget_bytes)?;
    Ok(Expanded { files, notices })
}

/// Which file it is.
pub(crate) fn identity(metadata: &Metadata) -> Identity {
    Identity { device: metadata.dev(), inode: metadata.ino() }
}

/// Whether it is a directory, or leads to one.
pub(crate) fn is_directory(path: impl AsRef<Path>) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The directory in which an input is, or which it is.
pub(crate) fn directory_of(input: &Path) -> PathBuf {
    if is_directory(input) { input.to_owned() } else { settings::directory_of(input) }
}

/// Collects what a walk finds.
struct Finder<S> {
    is_stopped: S,
    budget_bytes: u64,
    finds: Mutex<Finds>,
}

#[derive(Default)]
struct Finds {
    tree: Tree,
    names: NamesMemory,
    /// Of what comes first by its path.
    refusal: Option<Refusal>,
}

impl<S> Finder<S> {
    fn finds(&self) -> MutexGuard<'_, Finds> {
        self.finds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Fn() -> bool + Sync> Visitor for Finder<S> {
    fn found(&self, found: &FoundFile<'_>) {
        let path = || OsString::from_vec(found.path());
        match found.kind {
            Kind::Directory => {}
            Kind::Regular => {
                let file = File {
                    path: path(),
                    bytes: found.total.apparent_bytes,
                    identity: found.identity,
                    has_links: found.has_links,
                };
                self.finds().add(file, self.budget_bytes);
            }
            kind @ (Kind::Link | Kind::Special) => self.finds().tree.left_out.add(kind, path()),
        }
    }

    fn failed(&self, failure: &WalkError) {
        let path = PathBuf::from(OsString::from_vec(failure.path.clone()));
        let source = failure.source.raw_os_error().map_or_else(
            || io::Error::new(failure.source.kind(), failure.source.to_string()),
            io::Error::from_raw_os_error,
        );
        let mut finds = self.finds();
        match &finds.refusal {
            Some(Refusal::Unreadable { path: first, .. }) if *first <= path => {}
            _ => finds.refusal = Some(Refusal::Unreadable { path, source }),
        }
    }

    fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }
}

impl Finds {
    /// Beyond the budget only counts, so that it can be said how many there are.
    fn add(&mut self, file: File, budget_bytes: u64) {
        self.names.add(file.path.len(), file.bytes);
        if self.names.fits(budget_bytes) {
            self.tree.files.push(file);
        } else {
            self.tree.files = Vec::new();
        }
    }
}

impl LeftOut {
    fn add(&mut self, kind: Kind, path: OsString) {
        *(if kind == Kind::Link { &mut self.links } else { &mut self.special }) += 1;
        if self.example.as_ref().is_none_or(|first| path < *first) {
            self.example = Some(path);
        }
    }
}
