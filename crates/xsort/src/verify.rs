//! Checking the order, count and checksum of records.

use crate::setup::{Setup, resource_setters};
use std::path::PathBuf;
use xsort_extsort::prefixed::input_file;
use xsort_extsort::variable::total_bytes;
use xsort_extsort::{
    Error, Observer, PrefixedVerifyOptions, VerifyOptions, VerifyReport, verify, verify_prefixed,
};
use xsort_records::{Checksum, Format, KeyField, Layout, Prefix, VaryingSummary};

/// Checks files of records, as one sequence: order, duplicates, count and checksum. Shares no code
/// with the sort but the definition of a record.
///
/// ```no_run
/// use xsort::Verify;
///
/// let input = Verify::files(["data"]).run()?;
/// let output = Verify::files(["sorted"]).run()?;
/// assert!(output.is_sorted());
/// assert_eq!((input.records, input.checksum), (output.records, output.checksum));
/// # Ok::<(), xsort::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verify {
    inputs: Vec<PathBuf>,
    against: Vec<PathBuf>,
    layout: Option<Layout>,
    prefixed: Option<(Prefix, Vec<KeyField>)>,
    setup: Setup,
}

/// What was found. Disorder is a verdict, not an error.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Records read.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The sum of the records' CRC-32s, which doesn't depend on their order.
    pub checksum: Checksum,
    /// Records that come before one with a smaller key.
    pub unordered: u64,
    /// Records whose key is that of the record before.
    pub duplicates: u64,
    /// The number from zero of the first record that comes before one with a smaller key.
    pub first_unordered: Option<u64>,
    /// The records and the checksum of the files to compare with, if there are such.
    pub against: Option<(u64, Checksum)>,
}

impl Verdict {
    /// Whether no key is smaller than the one before.
    pub fn is_sorted(&self) -> bool {
        self.unordered == 0
    }

    /// Whether the files to compare with have the same records in any order, as far as number and
    /// checksum tell. True if there are none.
    pub fn is_same(&self) -> bool {
        self.against.as_ref().is_none_or(|against| *against == (self.records, self.checksum))
    }
}

impl Verify {
    /// Checks these files, as one sequence in this order.
    pub fn files<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Verify {
        let inputs = inputs.into_iter().map(Into::into).collect();
        Verify {
            inputs,
            against: Vec::new(),
            layout: None,
            prefixed: None,
            setup: Setup::default(),
        }
    }

    resource_setters!();

    /// Also reads these files, whose records should be the same ones, in any order.
    #[must_use]
    pub fn against<P: Into<PathBuf>>(mut self, files: impl IntoIterator<Item = P>) -> Verify {
        self.against = files.into_iter().map(Into::into).collect();
        self
    }

    /// As [`Sort::format`](crate::Sort::format).
    #[must_use]
    pub fn format(self, format: Format) -> Verify {
        self.layout(format.layout())
    }

    /// The records' size and key.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Verify {
        self.layout = Some(layout);
        self
    }

    /// The records begin with their length, and these are the fields of their keys, as
    /// [`Prefixed::keys`](crate::Prefixed::keys) has them.
    #[must_use]
    pub fn prefixed(mut self, prefix: Prefix, keys: impl IntoIterator<Item = KeyField>) -> Verify {
        self.prefixed = Some((prefix, keys.into_iter().collect()));
        self
    }

    /// Reads all files and judges them.
    ///
    /// # Errors
    /// What [`Error`] lists; a file that can't be read, or that is no whole number of records.
    pub fn run(&self) -> Result<Verdict, Error> {
        if let Some((prefix, keys)) = &self.prefixed {
            return self.run_prefixed(*prefix, keys);
        }
        let report = self.read(&self.inputs, true)?;
        let part = report.part.as_ref().expect("order was asked for");
        let against = match &self.against[..] {
            [] => None,
            files => {
                let VerifyReport { records, checksum, .. } = self.read(files, false)?;
                Some((records, checksum))
            }
        };
        Ok(Verdict {
            records: report.records,
            bytes: report.bytes,
            checksum: report.checksum,
            unordered: part.unordered(),
            duplicates: part.duplicates(),
            first_unordered: part.first_unordered(),
            against,
        })
    }

    fn run_prefixed(&self, prefix: Prefix, keys: &[KeyField]) -> Result<Verdict, Error> {
        let (job, observer) = self.setup.begin(self.inputs.iter().chain(&self.against), None)?;
        let options =
            PrefixedVerifyOptions { prefix, fields: keys.to_vec(), budget_bytes: job.data_bytes() };
        let judge = |phase, files: &[PathBuf]| -> Result<(VaryingSummary, u64), Error> {
            let inputs = job.inputs(files, input_file)?;
            observer.phase(phase, total_bytes(&inputs).unwrap_or(0));
            let read = inputs.into_iter().map(|input| (input.path.clone(), input.into_bytes()));
            verify_prefixed(&options, read, &observer)
        };
        let (found, bytes) = judge("verify", &self.inputs)?;
        let against = match &self.against[..] {
            [] => None,
            files => {
                let checksum = judge("checksum", files)?.0.checksum();
                Some((checksum.records(), checksum))
            }
        };
        Ok(Verdict {
            records: found.records(),
            bytes,
            checksum: found.checksum(),
            unordered: found.unordered(),
            duplicates: found.duplicates(),
            first_unordered: found.first_unordered(),
            against,
        })
    }

    fn read(&self, files: &[PathBuf], order: bool) -> Result<VerifyReport, Error> {
        let (job, observer) = self.setup.begin(files, None)?;
        let options = VerifyOptions {
            inputs: files.to_vec(),
            layout: self.layout.clone().unwrap_or_else(|| Format::Gensort.layout()),
            format_is_assumed: self.layout.is_none(),
            budget_bytes: job.data_bytes(),
            threads: job.threads,
            order,
        };
        verify(&options, &*job.disk, &observer).map_err(|error| job.total_from_data(error))
    }
}
