//! The names of a checkpoint's files, and the error if another process has locked them.

use crate::Error;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use xsort_disk::{DisplayPath, hidden_name, is_url};

/// The names of the files of one checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointNames {
    /// The suffix of the output's hidden name.
    pub(super) output_tag: String,
    pub(super) journal: PathBuf,
    pub(super) scratch: Vec<PathBuf>,
}

impl CheckpointNames {
    pub(crate) fn of(output: &Path, scratch_directories: &[PathBuf]) -> CheckpointNames {
        let absolute = match is_url(output) {
            true => output.to_path_buf(),
            false => std::path::absolute(output).unwrap_or_else(|_| output.to_path_buf()),
        };
        let tag =
            format!(".xsort-{:016x}", xxhash_rust::xxh3::xxh3_64(absolute.as_os_str().as_bytes()));
        let name = output.file_name().unwrap_or_default();
        let hidden = |suffix: &str| hidden_name(name, &format!("{tag}.{suffix}"));
        let number = |(number, directory): (usize, &PathBuf)| {
            directory.join(hidden(&format!("scratch-{number}")))
        };
        let scratch = scratch_directories.iter().enumerate().map(number);
        CheckpointNames {
            journal: scratch_directories[0].join(hidden("journal")),
            scratch: scratch.map(|path| std::path::absolute(&path).unwrap_or(path)).collect(),
            output_tag: format!("{tag}.output"),
        }
    }

    /// True if an output with a journal's `tag` can be `output`. A file's tag is the suffix of its
    /// hidden name. An upload's tag is known only to the store, so any tag is possible for a URL.
    pub(super) fn may_have_tag(&self, output: &Path, tag: &str) -> bool {
        is_url(output) || tag == self.output_tag
    }

    /// True if `path` names a scratch file for this output, in any directory.
    pub(super) fn is_scratch(&self, path: &Path) -> bool {
        let first = self.scratch[0].file_name().unwrap_or_default().as_bytes();
        let name = path.file_name().unwrap_or_default().as_bytes();
        let numbered = name.strip_prefix(first.strip_suffix(b"0").unwrap_or(first));
        numbered.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    }

    /// The paths of the scratch files as a journal stores them.
    pub(super) fn scratch_bytes(&self) -> Vec<Vec<u8>> {
        self.scratch.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect()
    }
}

/// Explains an error that says that another process has locked a file.
pub(super) fn explain_locked(error: Error, output: &Path) -> Error {
    match error {
        Error::Disk(error) if error.source.kind() == ErrorKind::WouldBlock => {
            Error::Settings(format!(
                "{}: another sort to this output is under way, or was a moment ago ({}): \
                 wait for its end, or give another output (-o)",
                DisplayPath(output),
                DisplayPath(&error.path)
            ))
        }
        error => error,
    }
}
