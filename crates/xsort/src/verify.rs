//! Checks order, count and checksum of records.

use crate::job::Job;
use crate::setup::Setup;
use std::path::PathBuf;
use xsort_extsort::lines::{LinesInput, total_bytes};
use xsort_extsort::prefixed::input_file;
use xsort_extsort::{
    Error, Observer, PrefixedVerifyOptions, PrefixedVerifyReport, Stream, VerifyOptions,
    VerifyReport, verify, verify_prefixed, verify_stream,
};
use xsort_records::{Checksum, Format, KeyField, Layout, Prefix, VerifySummary};

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
    prefixed: Option<PrefixedRecords>,
    setup: Setup,
}

/// The form of records that begin with their length.
#[derive(Clone, Debug)]
struct PrefixedRecords {
    prefix: Prefix,
    fields: Vec<KeyField>,
}

/// What files are read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Order, duplicates, count and checksum.
    Order,
    /// Count and checksum.
    Checksum,
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
    /// Judges records of one size, of `bytes` bytes.
    pub fn of_records(found: &VerifySummary, bytes: u64) -> Verdict {
        Verdict {
            records: found.records(),
            bytes,
            checksum: found.checksum(),
            unordered: found.unordered(),
            duplicates: found.duplicates(),
            first_unordered: found.first_unordered(),
            against: None,
        }
    }

    /// Judges records that begin with their length.
    pub fn of_prefixed(found: &PrefixedVerifyReport) -> Verdict {
        let PrefixedVerifyReport { summary, bytes } = found;
        Verdict {
            records: summary.records(),
            bytes: *bytes,
            checksum: summary.checksum(),
            unordered: summary.unordered(),
            duplicates: summary.duplicates(),
            first_unordered: summary.first_unordered(),
            against: None,
        }
    }

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

    crate::resource_setters!();

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
        self.prefixed = Some(PrefixedRecords { prefix, fields: keys.into_iter().collect() });
        self
    }

    /// Reads and checks all files.
    ///
    /// # Errors
    /// Any [`Error`], for example if a file can't be read or isn't a whole number of records.
    pub fn run(&self) -> Result<Verdict, Error> {
        if self.prefixed.is_some() { self.run_prefixed() } else { self.run_records() }
    }

    fn run_records(&self) -> Result<Verdict, Error> {
        let read = |files: &[PathBuf], reading| {
            let (job, observer) = self.setup.begin(files, None)?;
            self.records_in(&job, &observer, files.to_vec(), None, reading)
        };
        let report = read(&self.inputs, Reading::Order)?;
        let part = report.part.as_ref().expect("order was asked for");
        let against = match &self.against[..] {
            [] => None,
            files => {
                let VerifyReport { records, checksum, .. } = read(files, Reading::Checksum)?;
                Some((records, checksum))
            }
        };
        Ok(Verdict { against, ..Verdict::of_records(part, report.bytes) })
    }

    fn run_prefixed(&self) -> Result<Verdict, Error> {
        let (job, observer) = self.setup.begin(self.inputs.iter().chain(&self.against), None)?;
        let read = |files: &[PathBuf], reading| {
            self.prefixed_in(&job, &observer, job.inputs(files, input_file)?, reading)
        };
        let found = read(&self.inputs, Reading::Order)?;
        let against = match &self.against[..] {
            [] => None,
            files => {
                let checksum = read(files, Reading::Checksum)?.summary.checksum();
                Some((checksum.records(), checksum))
            }
        };
        Ok(Verdict { against, ..Verdict::of_prefixed(&found) })
    }

    /// Reads records of one size within a job that the caller has begun and observes. One of the
    /// files may be a stream, if it is the only one.
    ///
    /// # Errors
    /// The errors of [`run`](Verify::run).
    pub fn records_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        files: Vec<PathBuf>,
        stream: Option<Stream>,
        reading: Reading,
    ) -> Result<VerifyReport, Error> {
        let options = VerifyOptions {
            inputs: files,
            layout: self.layout.clone().unwrap_or_else(|| Format::Gensort.layout()),
            format_is_assumed: self.layout.is_none(),
            budget_bytes: job.data_bytes(),
            threads: job.threads(),
            order: reading == Reading::Order,
        };
        let report = match stream {
            Some(Stream { input, read }) => {
                verify_stream(&options, &options.inputs[input], read, observer)
            }
            None => verify(&options, &*job.disk, observer),
        };
        report.map_err(|error| job.total_from_data(error))
    }

    /// Reads records that begin with their length within a job that the caller has begun and
    /// observes. `inputs` are opened by [`input_file`].
    ///
    /// # Errors
    /// The errors of [`run`](Verify::run), and [`Error::Settings`] without
    /// [`prefixed`](Verify::prefixed).
    pub fn prefixed_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        inputs: Vec<LinesInput>,
        reading: Reading,
    ) -> Result<PrefixedVerifyReport, Error> {
        let Some(PrefixedRecords { prefix, fields }) = self.prefixed.clone() else {
            return Err(Error::Settings("the prefix of the records is missing".into()));
        };
        let options = PrefixedVerifyOptions { prefix, fields, budget_bytes: job.data_bytes() };
        let phase = if reading == Reading::Order { "verify" } else { "checksum" };
        observer.phase(phase, total_bytes(&inputs).unwrap_or(0));
        let read = inputs.into_iter().map(|input| (input.path.clone(), input.into_bytes()));
        verify_prefixed(&options, read, observer)
    }
}
