//! Checks order, count and checksum of records.

use crate::setup::{Setup, resource_setters};
use std::path::PathBuf;
use xsort_extsort::lines::total_bytes;
use xsort_extsort::prefixed::input_file;
use xsort_extsort::{
    Error, Observer, PrefixedVerifyOptions, VerifyOptions, VerifyReport, verify, verify_prefixed,
};
use xsort_records::{Checksum, Format, KeyField, Layout, Prefix, VaryingSummary};

/// Checks files of records as one sequence: order, duplicates, count and checksum. Shares only the
/// definition of a record with the sort.
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

/// The result of a check. Disorder is a verdict, not an error.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Number of records read.
    pub records: u64,
    /// Number of bytes read.
    pub bytes: u64,
    /// The sum of the records' CRC-32s, which doesn't depend on their order.
    pub checksum: Checksum,
    /// Number of records with a smaller key than the preceding record.
    pub unordered: u64,
    /// Number of records with the same key as the preceding record.
    pub duplicates: u64,
    /// The number of the first record that is out of order, counted from 0.
    pub first_unordered: Option<u64>,
    /// Count and checksum of the files to compare with, if there are any.
    pub against: Option<(u64, Checksum)>,
}

impl Verdict {
    /// Returns whether no key is smaller than the preceding one.
    pub fn is_sorted(&self) -> bool {
        self.unordered == 0
    }

    /// Returns whether the files to compare with have the same records in any order, judged by
    /// count and checksum. `true` if there are no such files.
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

    /// Also reads these files, and compares their records in any order.
    #[must_use]
    pub fn against<P: Into<PathBuf>>(mut self, files: impl IntoIterator<Item = P>) -> Verify {
        self.against = files.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the format of the records, like [`Sort::format`](crate::Sort::format).
    #[must_use]
    pub fn format(self, format: Format) -> Verify {
        self.layout(format.layout())
    }

    /// Sets the size and the key of the records.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Verify {
        self.layout = Some(layout);
        self
    }

    /// Checks records that begin with their length. `keys` are the fields of their keys, as in
    /// [`Prefixed::keys`](crate::Prefixed::keys).
    #[must_use]
    pub fn prefixed(mut self, prefix: Prefix, keys: impl IntoIterator<Item = KeyField>) -> Verify {
        self.prefixed = Some((prefix, keys.into_iter().collect()));
        self
    }

    /// Reads and checks all files.
    ///
    /// # Errors
    /// Any [`Error`], for example if a file can't be read or isn't a whole number of records.
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
            threads: job.threads(),
            order,
        };
        verify(&options, &*job.disk, &observer).map_err(|error| job.total_from_data(error))
    }
}
