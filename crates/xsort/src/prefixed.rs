//! Sorting files of records that begin with their length.

use crate::resources::{Resources, output_setters, resource_setters};
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::Error;
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::prefixed::{PrefixedOptions, input_on, sort_prefixed};
use xsort_extsort::variable::SortedOutput;
use xsort_records::{KeyField, Prefix};

/// Sorts files of records of varying length, each of which begins with its length, stably.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (events, sorted) = (folder.path().join("events"), folder.path().join("sorted"));
/// std::fs::write(&events, b"\x04pear\x05apple")?;
/// use xsort::Prefixed;
///
/// Prefixed::files("prefixed:u8".parse()?, [&events]).run(&sorted)?;
/// assert_eq!(std::fs::read(&sorted)?, b"\x05apple\x04pear");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Prefixed {
    inputs: Vec<PathBuf>,
    options: PrefixedOptions,
    sync: bool,
    scratch: Vec<PathBuf>,
    resources: Resources,
}

impl Prefixed {
    /// Sorts the records of these files together. They begin with `prefix`, and come out with it.
    pub fn files<P: Into<PathBuf>>(
        prefix: Prefix,
        inputs: impl IntoIterator<Item = P>,
    ) -> Prefixed {
        Prefixed {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options: PrefixedOptions { prefix, fields: Vec::new() },
            sync: true,
            scratch: Vec::new(),
            resources: Resources::default(),
        }
    }

    resource_setters!();
    output_setters!();

    /// The fields of the key, the most significant first, at offsets behind the prefix. Unless set,
    /// all bytes behind it are the key.
    ///
    /// Of a field of bytes a record may have a part or nothing, which compares as a shorter text
    /// does. Every record must have the fields that are numbers.
    #[must_use]
    pub fn keys(mut self, fields: impl IntoIterator<Item = KeyField>) -> Prefixed {
        self.options.fields = fields.into_iter().collect();
        self
    }

    /// Directories for scratch: the output's, unless set.
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(
        mut self,
        directories: impl IntoIterator<Item = P>,
    ) -> Prefixed {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Leaves it to the kernel when the output is durable.
    #[must_use]
    pub fn no_sync(mut self) -> Prefixed {
        self.sync = false;
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. It appears whole or not at
    /// all: until then the old one stays.
    ///
    /// # Errors
    /// What [`Error`] lists; [`Error::Input`] if an input isn't made of such records.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let path = output.as_ref();
        self.sort(path, SortedOutput::File { path, sync: self.sync })
    }

    /// Sorts into anything that can be written to. Scratch goes to the system's temporary
    /// directory, unless set.
    ///
    /// # Errors
    /// As [`run`](Prefixed::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), SortedOutput::Stream(output))
    }

    fn sort(&self, path: &Path, output: SortedOutput<'_>) -> Result<KeyedReport, Error> {
        let job = self.resources.of_job(&self.inputs, Some(path))?;
        let disk = job.lazy_disk();
        let inputs = self.inputs.iter().map(|path| input_on(&disk, path));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let engine = job.engine(&self.scratch, path);
        let observer = self.resources.observer();
        sort_prefixed(&self.options, &engine, inputs, output, &*disk, &observer)
            .map_err(|error| job.add_to(error))
    }
}
