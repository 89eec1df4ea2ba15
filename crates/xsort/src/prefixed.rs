//! Sorts files of records that begin with their length.

use crate::job::Job;
use crate::merge_or_sort::refuses_merge;
use crate::setup::{Setup, output_setters, sort_setters};
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::{LinesDryRun, LinesInput, SortedOutput};
use xsort_extsort::prefixed::{PrefixedOptions, input_file, plan_prefixed, sort_prefixed};
use xsort_extsort::{Checkpoint, Codec, Error, LinesOptions, Observer};
use xsort_records::{KeyField, Prefix};

/// Sorts files of records of varying length, each of which begins with its length. The sort is
/// stable.
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
    /// True to merge the inputs if all are in order.
    tries_merge: bool,
    sync: bool,
    codec: Option<Codec>,
    checkpoint: Option<Checkpoint>,
    scratch: Vec<PathBuf>,
    setup: Setup,
}

impl Prefixed {
    /// Sorts the records of these files together. Input and output records begin with `prefix`.
    pub fn files<P: Into<PathBuf>>(
        prefix: Prefix,
        inputs: impl IntoIterator<Item = P>,
    ) -> Prefixed {
        Prefixed {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options: PrefixedOptions { prefix, fields: Vec::new(), merges: false },
            tries_merge: false,
            sync: true,
            codec: None,
            checkpoint: None,
            scratch: Vec::new(),
            setup: Setup::default(),
        }
    }

    crate::resource_setters!();
    output_setters!();
    sort_setters!();

    /// Sets the fields of the key, the most significant first, at offsets after the prefix. Unless
    /// set, all bytes after the prefix are the key.
    ///
    /// A field of bytes may be incomplete or missing in a record; it compares like a shorter text.
    /// Every record must have the fields that are numbers.
    #[must_use]
    pub fn keys(mut self, fields: impl IntoIterator<Item = KeyField>) -> Prefixed {
        self.options.fields = fields.into_iter().collect();
        self
    }

    /// Merges inputs, each of which is in the order of the keys already, instead of sorting them.
    /// Their order is checked: a file that isn't in order is an error, with its record.
    #[must_use]
    pub fn merge(mut self) -> Prefixed {
        self.options.merges = true;
        self
    }

    /// Merges the inputs if each is in the order of the keys already, as
    /// [`merge`](Prefixed::merge) does, and else sorts them. A merge that finds a file out of order
    /// has been in vain. So streams, and inputs on their way to a writer, are sorted without one.
    #[must_use]
    pub fn merge_or_sort(mut self) -> Prefixed {
        self.tries_merge = true;
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. The output appears complete or
    /// not at all; until then an old file stays.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Input`] if an input doesn't consist of such records.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let path = output.as_ref();
        self.sort(path, SortedOutput::File { path, sync: self.sync })
    }

    /// Sorts into a writer. Unless set, scratch is in the system's temporary directory.
    ///
    /// # Errors
    /// The errors of [`run`](Prefixed::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), SortedOutput::Stream(output))
    }

    fn sort(&self, path: &Path, output: SortedOutput<'_>) -> Result<KeyedReport, Error> {
        let (job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        let inputs = job.inputs(&self.inputs, input_file)?;
        self.run_in(&job, &observer, inputs, path, output)
    }

    /// Sorts within a job that the caller has begun and observes. `inputs` are the builder's
    /// inputs, opened by [`input_file`]. `path` is the output's.
    ///
    /// # Errors
    /// The errors of [`run`](Prefixed::run).
    pub fn run_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        inputs: Vec<LinesInput>,
        path: &Path,
        output: SortedOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        let meaning = || format!("prefixed {:?}", self.options);
        let checkpoint = job.checkpoint(self.checkpoint, &self.inputs, path, meaning)?;
        let engine = LinesOptions { checkpoint, ..self.engine(job, path) };
        let sort = |options: &PrefixedOptions, inputs, output| {
            sort_prefixed(options, &engine, inputs, output, &*job.disk, observer)
                .map_err(|error| job.total_from_budget(error))
        };
        if let SortedOutput::File { path, sync } = output
            && self.tries_merge
            && job.known_bytes(&self.inputs).is_some()
        {
            let merge = PrefixedOptions { merges: true, ..self.options.clone() };
            let merged = sort(&merge, inputs, SortedOutput::File { path, sync });
            if !refuses_merge(&merged) {
                return merged;
            }
            let inputs = job.inputs(&self.inputs, input_file)?;
            return sort(&self.options, inputs, SortedOutput::File { path, sync });
        }
        sort(&self.options, inputs, output)
    }

    /// Returns the resources that the sort would use.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory is not enough.
    pub fn plan_in(&self, job: &Job, output: &Path) -> Result<LinesDryRun, Error> {
        let (bytes, inputs) = (job.known_bytes(&self.inputs), self.inputs.len());
        plan_prefixed(&self.options, &self.engine(job, output), inputs, bytes)
            .map_err(|error| job.total_from_budget(error))
    }

    fn engine(&self, job: &Job, output: &Path) -> LinesOptions {
        LinesOptions { codec: self.codec, ..job.engine(&self.scratch, output) }
    }
}
