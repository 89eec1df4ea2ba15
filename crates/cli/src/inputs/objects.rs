//! The objects that a URL stands for: all objects below it if it ends in a slash, or those that
//! match it.
//!
//! For files, the shell expands patterns, and `tree` walks directories. A URL of the web has no
//! patterns: a query follows its `?`.

use super::names_memory::NamesMemory;
use super::pattern::Pattern;
use super::tree::{TreeError, TreeOptions};
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, DisplayPath, ListedFile, is_url};
use xsort_objects::Requests;

/// The problem with a prefix, for messages.
const NO_OBJECT: &str = "there is no object below it";

/// Objects that a URL stands for.
#[derive(Debug)]
pub(crate) struct Objects {
    /// The objects, sorted by the bytes of their URLs.
    pub(crate) files: Vec<ListedFile>,
}

/// True if a path is the URL of a store and contains a wildcard, escaped or not.
pub(crate) fn is_pattern(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    is_url(path) && !bytes.starts_with(b"http") && bytes.iter().any(|byte| b"*?".contains(byte))
}

/// Has the disk look up all URLs concurrently, before they are asked for one after the other.
pub(crate) fn announce<'p>(paths: impl Iterator<Item = &'p Path>, disk: &dyn Disk) {
    let names_one = |path: &&Path| {
        is_url(path) && !is_pattern(path) && !path.as_os_str().as_bytes().ends_with(b"/")
    };
    let urls: Vec<&Path> = paths.filter(names_one).collect();
    if urls.len() > 1 {
        disk.announce(&mut urls.into_iter());
    }
}

impl Objects {
    /// Lists all objects below a URL. If the budget has no memory for their names, they are only
    /// counted, and none is returned.
    ///
    /// # Errors
    /// If they can't be listed, if the output is one of them and isn't empty, if there are none and
    /// `options` doesn't allow that, or if the job is stopped.
    pub(crate) fn below(
        url: &Path,
        options: TreeOptions<'_>,
        names: &mut NamesMemory,
        disk: &dyn Disk,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Objects, TreeError> {
        let TreeOptions { output_url, budget_bytes, allows_empty, .. } = options;
        let bytes = url.as_os_str().as_bytes();
        let slash = if bytes.ends_with(b"/") { &b""[..] } else { b"/" };
        let prefix = PathBuf::from(OsStr::from_bytes(&[bytes, slash].concat()));
        let mut objects = Objects::list(&prefix, |_| true, budget_bytes, names, disk, is_stopped)?;
        if let Some(output) = output_url {
            objects.leave_out_output(output)?;
        }
        // If their names are too many, the objects were only counted.
        match objects.files.is_empty() && names.fits(budget_bytes) && !allows_empty {
            true => Err(TreeError::Empty { path: url.to_owned(), reason: NO_OBJECT.to_owned() }),
            false => Ok(objects),
        }
    }

    /// Lists the objects that match a pattern.
    ///
    /// # Errors
    /// If they can't be listed, if none matches, or if the job is stopped.
    pub(crate) fn matching(
        pattern: &Path,
        budget_bytes: u64,
        names: &mut NamesMemory,
        disk: &dyn Disk,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Objects, TreeError> {
        let names_before = names.file_bytes.len();
        let wanted = Pattern::new(&pattern.to_string_lossy());
        let prefix = PathBuf::from(wanted.prefix());
        let is_wanted = |path: &Path| wanted.matches(&path.to_string_lossy());
        let objects = Objects::list(&prefix, is_wanted, budget_bytes, names, disk, is_stopped)?;
        match names.file_bytes.len() == names_before {
            true => Err(TreeError::NoMatch(pattern.to_owned())),
            false => Ok(objects),
        }
    }

    fn list(
        prefix: &Path,
        is_wanted: impl Fn(&Path) -> bool,
        budget_bytes: u64,
        names: &mut NamesMemory,
        disk: &dyn Disk,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Objects, TreeError> {
        let (mut files, mut listed) = (Vec::new(), 0);
        let mut add = |file: ListedFile| {
            listed += 1;
            if is_stopped() {
                return ControlFlow::Break(());
            }
            if is_wanted(&file.path) {
                names.add(file.path.as_os_str().len(), file.bytes);
                match names.fits(budget_bytes) {
                    true => files.push(file),
                    false => files = Vec::new(),
                }
            }
            ControlFlow::Continue(())
        };
        disk.list(prefix, &mut add)?;
        names.lists += Requests::of_list(listed);
        if is_stopped() {
            return Err(TreeError::Stopped);
        }
        files.sort_unstable_by(|one, other| one.path.as_os_str().cmp(other.path.as_os_str()));
        disk.announce(&mut files.iter().map(|file| &*file.path));
        Ok(Objects { files })
    }

    /// Removes the output from the objects if it is empty; an output with content is an error.
    fn leave_out_output(&mut self, output: &Path) -> Result<(), TreeError> {
        let is_output = |file: &ListedFile| file.path.as_os_str() == output.as_os_str();
        if let Some(file) = self.files.iter().find(|file| is_output(file) && file.bytes > 0) {
            return Err(TreeError::IsOutput(file.path.clone()));
        }
        self.files.retain(|file| !is_output(file));
        Ok(())
    }

    /// A notice for the user, if there are no objects.
    pub(crate) fn notice(&self, url: &Path) -> Option<String> {
        self.files.is_empty().then(|| format!("{}: {NO_OBJECT}", DisplayPath(url)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::expand::{expand, expand_one};
    use super::*;
    use xsort_disk::{Found, InputFiles, OsDisk, SimDisk, SimOptions};

    fn store(names: &[&str]) -> SimDisk {
        let disk = SimDisk::new(SimOptions::default());
        names.iter().for_each(|name| disk.put(name, name));
        disk
    }

    fn options(output_url: Option<&Path>) -> TreeOptions<'_> {
        TreeOptions { output_url, budget_bytes: 1 << 30, ..TreeOptions::default() }
    }

    fn files(disk: &dyn Disk, inputs: &[&str]) -> Result<Vec<String>, TreeError> {
        let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
        let names = &mut NamesMemory::default();
        let expanded = expand(&inputs, options(None), names, disk, || false)?;
        assert_eq!(names.file_bytes.len(), expanded.files.len());
        Ok(expanded.files.iter().map(|path| path.to_str().unwrap().to_owned()).collect())
    }

    const NAMES: [&str; 6] = [
        "s3://b/t/2/x.csv",
        "s3://b/t/1/y.csv",
        "s3://b/t/1/x.csv",
        "s3://b/t.csv",
        "s3://b/t/x.csv.gz",
        "s3://b/t/a*b",
    ];

    #[test]
    fn a_url_stands_for_itself_a_prefix_for_all_below_it() {
        let disk = store(&NAMES);
        let below =
            ["s3://b/t/1/x.csv", "s3://b/t/1/y.csv", "s3://b/t/2/x.csv", "s3://b/t/a*b", NAMES[4]];
        assert_eq!(files(&disk, &["s3://b/t/"]).unwrap(), below);
        // Without its slash, too: no object has that name.
        assert_eq!(files(&disk, &["s3://b/t"]).unwrap(), below);
        assert_eq!(files(&disk, &["s3://b/t.csv"]).unwrap(), ["s3://b/t.csv"]);
        // A missing object is reported when it is read.
        assert_eq!(files(&disk, &["s3://b/none"]).unwrap(), ["s3://b/none"]);
        let error = files(&disk, &["s3://b/none/"]).unwrap_err().to_string();
        assert!(error.contains("s3://b/none/: there is no object below it"), "{error}");
        assert!(error.ends_with("give --allow-empty if nothing is meant"), "{error}");
        let allowed = TreeOptions { allows_empty: true, ..options(None) };
        let names = &mut NamesMemory::default();
        let expanded = expand(&["s3://b/none/".into()], allowed, names, &disk, || false).unwrap();
        assert!(expanded.files.is_empty() && expanded.notices.len() == 1);
    }

    #[test]
    fn a_pattern_stands_for_what_it_matches() {
        let disk = store(&NAMES);
        let both = ["s3://b/t/1/x.csv", "s3://b/t/2/x.csv"];
        assert_eq!(files(&disk, &["s3://b/t/?/x.csv"]).unwrap(), both);
        assert_eq!(files(&disk, &["s3://b/*/*.csv*"]).unwrap(), [NAMES[4]]);
        assert_eq!(files(&disk, &["s3://b/t/a\\*b", "s3://b/t.*"]).unwrap(), [NAMES[5], NAMES[3]]);
        let error = files(&disk, &["s3://b/t/*.tsv"]).unwrap_err();
        assert!(matches!(error, TreeError::NoMatch(_)), "{error}");
        // On the web a `?` begins a query, and in the file system `*` is a character of a name.
        assert!(!is_pattern(Path::new("https://host/a.csv?b=*")));
        assert!(!is_pattern(Path::new("./s3://b/*")));
    }

    #[test]
    fn an_output_below_the_prefix_is_no_input() {
        let disk = store(&["s3://b/t/1"]);
        let below = |output: &str| {
            let names = &mut NamesMemory::default();
            let options = options(Some(Path::new(output)));
            expand_one(Path::new("s3://b/t/"), options, names, &disk, || false)
        };
        assert!(matches!(below("s3://b/t/1"), Err(TreeError::IsOutput(_))));
        assert_eq!(below("s3://b/t/2").unwrap().0.files.len(), 1);
        disk.put("s3://b/t/2", "");
        let (expanded, is_tree) = below("s3://b/t/2").unwrap();
        assert_eq!((expanded.files, is_tree), (vec![PathBuf::from("s3://b/t/1")], true));
    }

    #[test]
    fn more_names_than_the_budget_holds_are_counted_and_not_kept() {
        let disk = store(&[]);
        (0..300).for_each(|number| disk.put(format!("s3://b/{number:016000}"), ""));
        let names = &mut NamesMemory::default();
        let options = TreeOptions { budget_bytes: 1 << 20, ..TreeOptions::default() };
        let error = expand(&["s3://b/".into()], options, names, &disk, || false).unwrap_err();
        assert!(matches!(error, TreeError::TooManyNames(_)), "{error}");
        assert_eq!(names.file_bytes.len(), 300);
    }

    #[test]
    fn a_stop_ends_the_list() {
        let disk = store(&NAMES);
        let names = &mut NamesMemory::default();
        let error = expand(&["s3://b/".into()], options(None), names, &disk, || true).unwrap_err();
        assert!(matches!(error, TreeError::Stopped), "{error}");
    }

    /// The disk refuses them even if local files exist.
    #[test]
    fn the_machines_disk_refuses_a_url() {
        let disk = OsDisk::lazy(xsort_disk::DiskOptions::default());
        for url in ["s3://b/k", "s3://b/k/", "gs://b/*", "https://host/k"] {
            let error = files(&disk, &[url]).unwrap_err();
            assert!(error.to_string().contains("object stores: not built"), "{error}");
        }
        assert_eq!(disk.find(Path::new("./s3://b/k")).unwrap(), Found::Missing);
        assert_eq!(files(&disk, &["./s3://b/k"]).unwrap(), ["./s3://b/k"]);
    }
}
