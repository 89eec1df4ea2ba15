//! Inputs with each directory replaced by the files below it.

use super::names_memory::NamesMemory;
use super::tree::{Tree, TreeError, TreeOptions};
use crate::settings;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that inputs stand for.
#[derive(Debug)]
pub(crate) struct ExpandedInputs {
    pub(crate) files: Vec<PathBuf>,
    /// Lines for the user.
    pub(crate) notices: Vec<String>,
}

/// Replaces each directory by the files below it, and adds all names to `names`. `-` is standard
/// input, not a directory.
///
/// # Errors
/// If a directory can't be listed, contains the output, or has more names than the budget has
/// memory for.
pub(crate) fn expand(
    paths: &[PathBuf],
    options: TreeOptions,
    names: &mut NamesMemory,
    is_stopped: impl Fn() -> bool + Sync,
) -> Result<ExpandedInputs, TreeError> {
    let (mut files, mut notices) = (Vec::with_capacity(paths.len()), Vec::new());
    for path in paths {
        if path.as_os_str() == "-" || !is_directory(path) {
            let file_bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
            names.add(path.as_os_str().len(), file_bytes);
            files.push(path.clone());
            continue;
        }
        let tree = Tree::below(path, options, names, &is_stopped)?;
        notices.extend(tree.notice(path));
        files.extend(tree.files.into_iter().map(|file| PathBuf::from(file.path)));
    }
    names.check(options.budget_bytes)?;
    Ok(ExpandedInputs { files, notices })
}

/// Whether it is a directory, or a link to one.
pub(crate) fn is_directory(path: impl AsRef<Path>) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The directory of an input: the one that contains it, or the input itself.
pub(crate) fn directory_of(input: &Path) -> PathBuf {
    if is_directory(input) { input.to_owned() } else { settings::directory_of(input) }
}
