//! Finds out what a path leads to.
//!
//! The operating system's disk refuses URLs: another disk reads and writes objects.

use crate::{DisplayPath, Error, Operation, is_url};
use rustix::fs::{FileType, stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No file.
    Missing,
    /// A regular file, or an object.
    File {
        /// Its length.
        bytes: u64,
    },
    /// A directory, or a prefix of objects.
    Directory,
    /// A pipe, a device or a socket.
    Other,
}

/// A file that [`InputFiles::list`](crate::InputFiles::list) has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its full path, which begins with the listed prefix.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Returns what the operating system has at a path. Links are followed.
pub(crate) fn find(path: &Path) -> Result<Found, Error> {
    refuse_url(Operation::Inspect, path)?;
    let stat = match stat(path) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Found::Missing),
        Err(errno) => return Err(Error::new(Operation::Inspect, path, errno)),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Found::File { bytes: stat.st_size as u64 },
        FileType::Directory => Found::Directory,
        _ => Found::Other,
    })
}

/// Passes the operating system's regular files whose paths begin with `prefix` to `found`.
pub(crate) fn list(
    prefix: &Path,
    found: &mut dyn FnMut(ListedFile) -> ControlFlow<()>,
) -> Result<(), Error> {
    refuse_url(Operation::Inspect, prefix)?;
    let prefix = prefix.as_os_str().as_bytes();
    // The part of the prefix that names a directory.
    let end = prefix.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    let mut directories = vec![PathBuf::from(OsStr::from_bytes(&prefix[..end]))];
    while let Some(directory) = directories.pop() {
        let here = Path::new(".");
        let opened = if directory.as_os_str().is_empty() { here } else { &directory };
        let fail = |source| Error::new(Operation::Inspect, opened, source);
        for entry in fs::read_dir(opened).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = directory.join(entry.file_name());
            if !path.as_os_str().as_bytes().starts_with(prefix) {
                continue;
            }
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                directories.push(path);
            } else if kind.is_file() {
                let bytes = entry.metadata().map_err(fail)?.len();
                if found(ListedFile { path, bytes }).is_break() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Fails if the path is a URL, which the operating system doesn't support.
pub(crate) fn refuse_url(operation: Operation, path: &Path) -> Result<(), Error> {
    if !is_url(path) {
        return Ok(());
    }
    let reason = format!(
        "object stores: not built into this program (a file of this name is ./{})",
        DisplayPath(path)
    );
    Err(Error::new(operation, path, io::Error::new(io::ErrorKind::Unsupported, reason)))
}

/// Fails if the scratch directory is a URL, which no disk supports.
pub(crate) fn refuse_scratch_at_url(directory: &Path) -> Result<(), Error> {
    if !is_url(directory) {
        return Ok(());
    }
    let reason = "scratch needs a directory of this machine: name one with -T";
    let source = io::Error::new(io::ErrorKind::Unsupported, reason);
    Err(Error::new(Operation::Create, directory, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_a_path_is_found_with_its_length() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "four").unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (path, expected) in [
            (file.clone(), Found::File { bytes: 4 }),
            (link, Found::File { bytes: 4 }),
            (directory.path().to_owned(), Found::Directory),
            (directory.path().join("none"), Found::Missing),
            (file.join("below a file"), Found::Missing),
            ("/dev/null".into(), Found::Other),
        ] {
            assert_eq!(find(&path).unwrap(), expected, "{}", path.display());
        }
    }

    /// A prefix may end anywhere in a name, and the files may lie at any depth.
    #[test]
    fn a_list_has_the_files_that_begin_with_the_prefix() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("a/part-2")).unwrap();
        for (name, text) in [("a/part-1", "1"), ("a/part-2/x", "22"), ("a/other", ""), ("b", "")] {
            fs::write(at(name), text).unwrap();
        }
        std::os::unix::fs::symlink(at("b"), at("a/part-3")).unwrap();
        let names = |prefix: &str| {
            let mut names = Vec::new();
            list(&at(prefix), &mut |file| {
                let name = file.path.strip_prefix(directory.path()).unwrap();
                names.push((name.to_str().unwrap().to_owned(), file.bytes));
                ControlFlow::Continue(())
            })
            .unwrap();
            names.sort();
            names
        };
        let parts = [("a/part-1".to_owned(), 1), ("a/part-2/x".to_owned(), 2)];
        assert_eq!(names("a/part-"), parts);
        assert_eq!(names("a/").len(), 3);
        assert!(names("none").is_empty());
        list(&at("none/"), &mut |_| ControlFlow::Continue(())).unwrap_err();
        let mut count = 0;
        let mut once = |_: ListedFile| {
            count += 1;
            ControlFlow::Break(())
        };
        list(&at("a/"), &mut once).unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_url_is_refused_with_the_way_out() {
        let url = Path::new("s3://bucket/key");
        for error in [
            find(url).unwrap_err(),
            list(url, &mut |_| ControlFlow::Continue(())).unwrap_err(),
            refuse_url(Operation::Open, url).unwrap_err(),
        ] {
            let text = error.to_string();
            let expected = "object stores: not built into this program \
                            (a file of this name is ./s3://bucket/key)";
            assert!(text.contains(expected) && !text.contains('\n'), "{text}");
        }
        refuse_scratch_at_url(url).unwrap_err();
        refuse_scratch_at_url(Path::new("./s3://bucket")).unwrap();
    }
}
