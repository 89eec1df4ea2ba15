//! Expands inputs: replaces each directory by the files below it, and each prefix or pattern of
//! objects by the objects.

use super::names_memory::NamesMemory;
use super::objects::{Objects, announce, is_pattern};
use super::tree::{Tree, TreeError, TreeOptions};
use crate::settings;
use std::fs;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, Found, is_url};

/// The files that inputs stand for.
#[derive(Debug, Default)]
pub(crate) struct ExpandedInputs {
    pub(crate) files: Vec<PathBuf>,
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
}

/// Replaces each directory by the files below it, and adds all names to `names`. `-` is standard
/// input, even if a directory has that name.
///
/// # Errors
/// If a directory can't be listed, is empty where that isn't allowed, contains the output, or has
/// more names than the budget has memory for; if a URL can't be looked up.
pub(crate) fn expand(
    paths: &[PathBuf],
    options: TreeOptions<'_>,
    names: &mut NamesMemory,
    disk: &dyn Disk,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<ExpandedInputs, TreeError> {
    announce(paths.iter().map(|path| &**path), disk);
    let mut all = ExpandedInputs { files: Vec::with_capacity(paths.len()), notices: Vec::new() };
    for path in paths {
        let (one, _) = expand_one(path, options, names, disk, &is_stopped)?;
        all.files.extend(one.files);
        all.notices.extend(one.notices);
    }
    names.check(options.budget_bytes)?;
    Ok(all)
}

/// The files that one input stands for, and whether they are all files below it. The caller checks
/// that the budget has memory for their names.
///
/// # Errors
/// See [`expand`].
pub(crate) fn expand_one(
    path: &Path,
    options: TreeOptions<'_>,
    names: &mut NamesMemory,
    disk: &dyn Disk,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<(ExpandedInputs, bool), TreeError> {
    let whole = |objects: Objects| {
        let notices = objects.notice(path).into_iter().collect();
        ExpandedInputs { files: objects.files.into_iter().map(|file| file.path).collect(), notices }
    };
    if is_pattern(path) {
        let objects = Objects::matching(path, options.budget_bytes, names, disk, is_stopped)?;
        return Ok((whole(objects), false));
    }
    let is_stdin = path.as_os_str() == "-";
    let found = if is_stdin { Ok(Found::Other) } else { disk.find(path) };
    match found {
        Ok(Found::Directory) if is_url(path) => {
            let objects = Objects::below(path, options, names, disk, is_stopped)?;
            Ok((whole(objects), true))
        }
        Ok(Found::Directory) => {
            let tree = Tree::below(path, options, names, is_stopped)?;
            let notices = tree.notice(path).into_iter().collect();
            let files = tree.files.into_iter().map(|file| PathBuf::from(file.path)).collect();
            Ok((ExpandedInputs { files, notices }, true))
        }
        Err(error) if is_url(path) => Err(error.into()),
        // A file that can't be read is reported when it is read.
        found => {
            let file_bytes = match found {
                Ok(Found::File { bytes }) => bytes,
                _ => 0,
            };
            names.add(path.as_os_str().len(), file_bytes);
            Ok((ExpandedInputs { files: vec![path.to_owned()], notices: Vec::new() }, false))
        }
    }
}

/// True if the path is a directory, or a link to one.
pub(crate) fn is_directory(path: impl AsRef<Path>) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The directory of an input: the input itself if it is a directory, or the one that contains it.
pub(crate) fn directory_of(input: &Path) -> PathBuf {
    if is_directory(input) { input.to_owned() } else { settings::directory_of(input) }
}
