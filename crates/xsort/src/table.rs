//! Sorting the rows of tables.

use crate::job::Job;
use crate::setup::{Setup, output_setters, resource_setters, sort_setters};
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::variable::{LinesDryRun, LinesInput, OutputCodec};
use xsort_extsort::{Checkpoint, Codec, Error, LinesOptions, Observer};
use xsort_table::{
    BadKeys, Dialect, Disorder, Keep, Keys, OnBad, RowFormat, TableOptions, TableOutput,
    check_table, collator, plan_table, sort_table,
};

/// Sorts the rows of CSV, TSV and NDJSON files by typed columns.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (orders, sorted) = (folder.path().join("orders.csv"), folder.path().join("sorted.csv"));
/// # std::fs::write(&orders, "id,amount,note\n1,9.5,\"two\nlines\"\n2,10,\n")?;
/// use xsort::Table;
///
/// let report = Table::csv([&orders]).by("amount:num:desc")?.memory(64 << 20).run(&sorted)?;
/// assert_eq!(std::fs::read_to_string(&sorted)?, "id,amount,note\n2,10,\n1,9.5,\"two\nlines\"\n");
/// assert_eq!(report.counted.count(), 2);
/// # Ok(())
/// # }
/// ```
///
/// Rows come out with the bytes that they came in with, and those with equal keys in the order of
/// the input. Inputs may be compressed with gzip, Zstandard or LZ4.
#[derive(Clone, Debug)]
pub struct Table {
    inputs: Vec<PathBuf>,
    options: TableOptions,
    sync: bool,
    codec: Option<Codec>,
    checkpoint: Option<Checkpoint>,
    scratch: Vec<PathBuf>,
    setup: Setup,
}

impl Table {
    /// Sorts the rows of these files of comma-separated values together. They have the same header.
    pub fn csv<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Table {
        Table::new(RowFormat::Delimited(Dialect::CSV), inputs)
    }

    /// Sorts the rows of these files of tab-separated values together. They have the same header.
    pub fn tsv<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Table {
        Table::new(RowFormat::Delimited(Dialect::TSV), inputs)
    }

    /// Sorts the lines of these files together, of which each is a value of JSON.
    pub fn ndjson<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Table {
        Table::new(RowFormat::Ndjson, inputs)
    }

    fn new<P: Into<PathBuf>>(format: RowFormat, inputs: impl IntoIterator<Item = P>) -> Table {
        Table::with_options(TableOptions::new(format, Keys(Vec::new())), inputs)
    }

    /// Sorts the rows of these files together as the options say. How the output is compressed is
    /// said by its name.
    pub fn with_options<P: Into<PathBuf>>(
        options: TableOptions,
        inputs: impl IntoIterator<Item = P>,
    ) -> Table {
        Table {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options,
            sync: true,
            codec: None,
            checkpoint: None,
            scratch: Vec::new(),
            setup: Setup::default(),
        }
    }

    resource_setters!();
    output_setters!();
    sort_setters!();

    /// Sorts by these columns, in the words of `xsort table --by`: `"date:date:desc,amount:num"`,
    /// `"#3:int"`, or a path as in jq, `".user.id:int"`. Those of later calls decide among rows
    /// whose earlier ones are equal. The type `locale` is the order of the language that the
    /// environment names when it runs (`LC_ALL`, `LC_COLLATE`, `LANG`).
    ///
    /// # Errors
    /// If that isn't what a key looks like. Whether there are such columns is known when it runs.
    pub fn by(mut self, keys: &str) -> Result<Table, BadKeys> {
        self.options.keys.0.extend(keys.parse::<Keys>()?.0);
        Ok(self)
    }

    /// The bytes that stand between fields and around them, instead of the format's.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Table {
        self.options.format = RowFormat::Delimited(dialect);
        self
    }

    /// The first row is a row as any other: columns have numbers only.
    #[must_use]
    pub fn without_header(mut self) -> Table {
        self.options.has_header = false;
        self
    }

    /// What becomes of rows whose values aren't of their column's type: an error, unless set.
    #[must_use]
    pub fn on_bad(mut self, on_bad: OnBad) -> Table {
        self.options.on_bad = on_bad;
        self
    }

    /// Of rows with equal keys only this one is written.
    #[must_use]
    pub fn unique(mut self, keep: Keep) -> Table {
        self.options.unique = Some(keep);
        self
    }

    /// Only the first so many rows are written.
    #[must_use]
    pub fn top(mut self, rows: u64) -> Table {
        self.options.rows_max = Some(rows);
        self
    }

    /// Rows come in the random order of this number, whatever they are, instead of by keys.
    #[must_use]
    pub fn shuffle(mut self, seed: u64) -> Table {
        self.options.shuffle = Some(seed);
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. It appears whole or not at
    /// all: until then the old one stays. A name in `.gz`, `.zst` or `.lz4` is compressed.
    ///
    /// # Errors
    /// What [`Error`] lists; [`Error::Settings`] if there are no keys or no such columns.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let output = output.as_ref();
        self.sort(output, TableOutput::File { path: output, sync: self.sync })
    }

    /// Sorts into anything that can be written to. Scratch goes to the system's temporary
    /// directory, unless set.
    ///
    /// # Errors
    /// As [`run`](Table::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), TableOutput::Stream(output))
    }

    fn sort(&self, path: &Path, output: TableOutput<'_>) -> Result<KeyedReport, Error> {
        let (mut job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        let inputs = job.inputs(&self.inputs, LinesInput::at)?;
        self.run_in(&mut job, &observer, inputs, path, output)
    }

    /// Sorts within a job that the caller has begun and watches: `inputs`, which are the builder's.
    /// `path` is the output's.
    ///
    /// # Errors
    /// As [`run`](Table::run).
    pub fn run_in(
        &self,
        job: &mut Job,
        observer: &dyn Observer,
        inputs: Vec<LinesInput>,
        path: &Path,
        output: TableOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        let options = self.options(path)?;
        let meaning = || format!("table {options:?}");
        let checkpoint = job.checkpoint(self.checkpoint, &self.inputs, path, meaning)?;
        let inputs = job.decompressed(inputs, observer)?;
        let engine = LinesOptions { checkpoint, ..self.engine(job, path) };
        sort_table(&options, &engine, inputs, output, &*job.disk, observer)
            .map_err(|error| job.total_from_budget(error))
    }

    /// The first row of `input` that comes before the one in front of it, or that is equal to it if
    /// rows are to be [`unique`](Table::unique); `None` if all are in order.
    ///
    /// # Errors
    /// As [`run`](Table::run).
    pub fn check_in(
        &self,
        job: &mut Job,
        observer: &dyn Observer,
        input: LinesInput,
    ) -> Result<Option<Disorder>, Error> {
        let path = Path::new(STANDARD_OUTPUT);
        let options = self.options(path)?;
        let mut inputs = job.decompressed(vec![input], observer)?;
        let input = inputs.pop().expect("as many as there were");
        check_table(&options, &self.engine(job, path), input, observer)
            .map_err(|error| job.total_from_budget(error))
    }

    /// What the sort would use.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory isn't enough.
    pub fn plan_in(&self, job: &Job, output: &Path) -> Result<LinesDryRun, Error> {
        let bytes = job.known_bytes(&self.inputs);
        plan_table(&self.options(output)?, &self.engine(job, output), bytes)
            .map_err(|error| job.total_from_budget(error))
    }

    /// The options for an output of this name.
    fn options(&self, output: &Path) -> Result<TableOptions, Error> {
        let options = self.options.clone();
        if options.keys.0.is_empty() && options.shuffle.is_none() {
            return Err(Error::Settings("there is no key to sort by".into()));
        }
        let collator = collator(&options.keys)?;
        Ok(TableOptions { compression: OutputCodec::of_name(output), collator, ..options })
    }

    fn engine(&self, job: &Job, output: &Path) -> LinesOptions {
        LinesOptions { codec: self.codec, ..job.engine(&self.scratch, output) }
    }
}
