//! Sorts BAM files.

use crate::job::Job;
use crate::setup::{Setup, output_setters, scratch_setters};
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_bam::{BamOptions, BamOrder, plan_bam, sort_bam};
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::{IndexForm, LinesDryRun, LinesInput, SortedOutput};
use xsort_extsort::{Codec, Error, LinesOptions, Observer};

/// Sorts the alignments of BAM files, as samtools does. The sort is stable.
///
/// ```no_run
/// use xsort::{Bam, BamOrder};
///
/// Bam::files(["a.bam", "b.bam"]).order(BamOrder::Name).memory("1G").run("by-name.bam")?;
/// # Ok::<(), xsort::Error>(())
/// ```
///
/// The header of the output says the order. It has the lines of all inputs, which must have the
/// same sequences.
#[derive(Clone, Debug)]
pub struct Bam {
    inputs: Vec<PathBuf>,
    options: BamOptions,
    sync: bool,
    codec: Option<Codec>,
    scratch: Vec<PathBuf>,
    setup: Setup,
}

impl Bam {
    /// Sorts the alignments of these files together, by coordinate.
    pub fn files<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Bam {
        let order = BamOrder::Coordinate;
        Bam {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options: BamOptions { order, merges: false, index: None, program: None },
            sync: true,
            codec: None,
            scratch: Vec::new(),
            setup: Setup::default(),
        }
    }

    crate::resource_setters!();
    output_setters!();
    scratch_setters!();

    /// Sets the order.
    #[must_use]
    pub fn order(mut self, order: BamOrder) -> Bam {
        self.options.order = order;
        self
    }

    /// Merges inputs, each of which is in the order already, instead of sorting them. Their order
    /// is checked: a file that isn't in order is an error, with its record.
    #[must_use]
    pub fn merge(mut self) -> Bam {
        self.options.merges = true;
        self
    }

    /// Also writes an index beside a file: CSI, BAI ([`IndexForm::Tbi`]), or with
    /// [`IndexForm::Auto`] BAI if no position passes 512 Mbp.
    #[must_use]
    pub fn write_index(mut self, form: IndexForm) -> Bam {
        self.options.index = Some(form);
        self
    }

    /// Adds a line of programs to the header, with this version and command line.
    #[must_use]
    pub fn program(mut self, version: &str, command_line: &str) -> Bam {
        self.options.program = Some((version.into(), command_line.into()));
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. The output appears complete or
    /// not at all; until then an old file stays.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Input`] if an input is no BAM.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let path = output.as_ref();
        self.sort(path, SortedOutput::File { path, sync: self.sync })
    }

    /// Sorts into a writer. Unless set, scratch is in the system's temporary directory.
    ///
    /// # Errors
    /// The errors of [`run`](Bam::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), SortedOutput::Stream(output))
    }

    fn sort(&self, path: &Path, output: SortedOutput<'_>) -> Result<KeyedReport, Error> {
        let (mut job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        let inputs = job.inputs(&self.inputs, LinesInput::at)?;
        self.run_in(&mut job, &observer, inputs, path, output)
    }

    /// Sorts within a job that the caller has begun and observes. `inputs` are the builder's
    /// inputs. `path` is the output's.
    ///
    /// # Errors
    /// The errors of [`run`](Bam::run).
    pub fn run_in(
        &self,
        job: &mut Job,
        observer: &dyn Observer,
        inputs: Vec<LinesInput>,
        path: &Path,
        output: SortedOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        self.check_index(&output)?;
        let inputs = job.decompressed(inputs, observer)?;
        sort_bam(&self.options, &self.engine(job, path), inputs, output, &*job.disk, observer)
            .map_err(|error| job.total_from_budget(error))
    }

    /// Refuses an index that can't be.
    fn check_index(&self, output: &SortedOutput<'_>) -> Result<(), Error> {
        let refuse = |what: &str| Err(Error::Settings(what.into()));
        match (self.options.index, output) {
            (None, _) => Ok(()),
            (Some(IndexForm::Gzi), _) => refuse("the index of BAM is csi or bai"),
            (_, SortedOutput::Stream(_)) => refuse("an index is written beside a file: name one"),
            _ if self.options.order != BamOrder::Coordinate => {
                refuse("an index is for alignments by coordinate: leave it or the order out")
            }
            _ => Ok(()),
        }
    }

    /// Returns the resources that the sort would use.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory is not enough.
    pub fn plan_in(&self, job: &Job, output: &Path) -> Result<LinesDryRun, Error> {
        let engine = self.engine(job, output);
        plan_bam(&self.options, &engine, self.inputs.len(), None)
            .map_err(|error| job.total_from_budget(error))
    }

    fn engine(&self, job: &Job, output: &Path) -> LinesOptions {
        LinesOptions { codec: self.codec, ..job.engine(&self.scratch, output) }
    }
}
