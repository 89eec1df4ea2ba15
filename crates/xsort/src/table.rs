//! Sorts the rows of tables.

use crate::job::Job;
use crate::late_output::LateOutput;
use crate::merge_or_sort::refuses_merge;
use crate::setup::{Setup, output_setters, sort_setters};
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::{Disk, STANDARD_OUTPUT, is_standard_output};
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::lines::{IndexOptions, LinesDryRun, LinesInput, OutputCodec};
use xsort_extsort::{Checkpoint, Codec, Error, LinesOptions, Observer};
use xsort_table::{
    BadKeys, BestRow, Dialect, Disorder, Keep, Keys, OnBad, RowFormat, TableOptions, TableOutput,
    Within, check_table, collator, plan_table, sort_table, sort_table_and_late,
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
/// The bytes of rows don't change. Rows with equal keys keep the order of the input. Inputs may be
/// compressed with gzip, Zstandard or LZ4.
#[derive(Clone, Debug)]
pub struct Table {
    inputs: Vec<PathBuf>,
    options: TableOptions,
    /// True to merge the inputs if all are in order.
    tries_merge: bool,
    late: Option<PathBuf>,
    /// The compression of the output; by its name if this is `None`.
    compression: Option<Option<OutputCodec>>,
    index: Option<IndexOptions>,
    sync: bool,
    codec: Option<Codec>,
    checkpoint: Option<Checkpoint>,
    scratch: Vec<PathBuf>,
    setup: Setup,
}

impl Table {
    /// Sorts the rows of these files of comma-separated values together. All files must have the
    /// same header.
    pub fn csv<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Table {
        Table::new(RowFormat::Delimited(Dialect::CSV), inputs)
    }

    /// Sorts the rows of these files of tab-separated values together. All files must have the same
    /// header.
    pub fn tsv<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Table {
        Table::new(RowFormat::Delimited(Dialect::TSV), inputs)
    }

    /// Sorts the lines of these files together. Each line is a JSON value.
    pub fn ndjson<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Table {
        Table::new(RowFormat::Ndjson, inputs)
    }

    fn new<P: Into<PathBuf>>(format: RowFormat, inputs: impl IntoIterator<Item = P>) -> Table {
        Table::with_options(TableOptions::new(format, Keys(Vec::new())), inputs)
    }

    /// Sorts the rows of these files together with these options. The output's name decides its
    /// compression.
    pub fn with_options<P: Into<PathBuf>>(
        options: TableOptions,
        inputs: impl IntoIterator<Item = P>,
    ) -> Table {
        Table {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options,
            tries_merge: false,
            late: None,
            compression: None,
            index: None,
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

    /// Sorts by these columns, in the syntax of `xsort table --by`: `"date:date:desc,amount:num"`,
    /// `"#3:int"`, or a path as in jq, `".user.id:int"`. Columns of later calls decide among rows
    /// whose earlier columns are equal. The type `locale` is the order of the environment's
    /// language (`LC_ALL`, `LC_COLLATE`, `LANG`) when the sort runs.
    ///
    /// # Errors
    /// If the text is not a list of keys. A missing column is found only when the sort runs.
    pub fn by(mut self, keys: &str) -> Result<Table, BadKeys> {
        self.options.keys.0.extend(keys.parse::<Keys>()?.0);
        Ok(self)
    }

    /// Sets the bytes that separate and enclose fields.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Table {
        self.options.format = RowFormat::Delimited(dialect);
        self
    }

    /// Treats the first row as an ordinary row. Columns then have numbers only.
    #[must_use]
    pub fn without_header(mut self) -> Table {
        self.options.has_header = false;
        self
    }

    /// Keeps lines above the rows that begin with this text at the top: `"##"` in VCF, `"@"` in
    /// SAM. Those of several inputs become one header. May be repeated.
    #[must_use]
    pub fn header_prefix(mut self, prefix: &str) -> Table {
        self.options.top_prefixes.push(prefix.into());
        self
    }

    /// Sets the treatment of rows with a value that isn't of its column's type. Unless set, they
    /// are an error.
    #[must_use]
    pub fn on_bad(mut self, on_bad: OnBad) -> Table {
        self.options.on_bad = on_bad;
        self
    }

    /// Writes only one of several rows with equal keys.
    #[must_use]
    pub fn unique(mut self, keep: Keep) -> Table {
        self.options.unique = Some(keep);
        self
    }

    /// Writes the best one of several rows with equal keys; of several that are best the first of
    /// the input. Call it after [`by`](Table::by).
    #[must_use]
    pub fn keep(mut self, best: BestRow) -> Table {
        self.options = self.options.keeping(best);
        self
    }

    /// Merges inputs, each of which is in the order of the keys already, instead of sorting them.
    /// Their order is checked: a file that isn't in order is an error, with its row.
    #[must_use]
    pub fn merge(mut self) -> Table {
        self.options.merges = true;
        self
    }

    /// Merges the inputs if each is in the order of the keys already, as [`merge`](Table::merge)
    /// does, and else sorts them. A merge that finds a file out of order has been in vain. So
    /// streams, compressed inputs, and inputs on their way to a writer are sorted without one.
    #[must_use]
    pub fn merge_or_sort(mut self) -> Table {
        self.tries_merge = true;
        self
    }

    /// Says that the rows are in the order of these keys already, which are the first ones of
    /// [`by`](Table::by). This is checked. Rows whose first keys are equal are sorted on their own
    /// and leave at once, in the memory of the largest such group.
    ///
    /// # Errors
    /// If the text is not a list of keys.
    pub fn sorted_by(mut self, keys: &str) -> Result<Table, BadKeys> {
        self.options.sorted_by.0.extend(keys.parse::<Keys>()?.0);
        Ok(self)
    }

    /// Says that the rows are nearly in order. A row leaves as soon as no other can come before it.
    /// `within` is by how many rows one may come late, or by which time its first key may be late:
    /// a time, a date, or a number of seconds. The first row that is later is an error, unless
    /// [`late`](Table::late) takes it.
    #[must_use]
    pub fn within(mut self, within: Within) -> Table {
        self.options.within = Some(within);
        self
    }

    /// Writes rows that come too late for [`within`](Table::within) to this file, after the header
    /// and in the order of the input. It appears complete or not at all, after the output.
    #[must_use]
    pub fn late(mut self, file: impl Into<PathBuf>) -> Table {
        self.late = Some(file.into());
        self
    }

    /// Sets the compression of the output, whatever its name.
    #[must_use]
    pub fn compress_output(mut self, codec: Option<OutputCodec>) -> Table {
        self.compression = Some(codec);
        self
    }

    /// Also writes an index of the positions in the output, which is compressed as BGZF, beside it.
    #[must_use]
    pub fn write_index(mut self, index: IndexOptions) -> Table {
        self.index = Some(index);
        self
    }

    /// Writes only the first `rows` rows.
    #[must_use]
    pub fn top(mut self, rows: u64) -> Table {
        self.options.rows_max = Some(rows);
        self
    }

    /// Writes rows in a random order, which depends on `seed`, instead of sorting by keys.
    #[must_use]
    pub fn shuffle(mut self, seed: u64) -> Table {
        self.options.shuffle = Some(seed);
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. The output appears complete or
    /// not at all; until then an old file stays. It is compressed if its name ends in `.gz`,
    /// `.bgz`, `.zst` or `.lz4`.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Settings`] if there are no keys or no such columns.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let output = output.as_ref();
        self.sort(output, TableOutput::File { path: output, sync: self.sync })
    }

    /// Sorts into a writer. Unless set, scratch is in the system's temporary directory.
    ///
    /// # Errors
    /// The errors of [`run`](Table::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), TableOutput::Stream(output))
    }

    fn sort(&self, path: &Path, output: TableOutput<'_>) -> Result<KeyedReport, Error> {
        let (mut job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        let inputs = job.inputs(&self.inputs, LinesInput::at)?;
        self.run_in(&mut job, &observer, inputs, path, output)
    }

    /// Sorts within a job that the caller has begun and observes. `inputs` are the builder's
    /// inputs. `path` is the output's.
    ///
    /// # Errors
    /// The errors of [`run`](Table::run).
    pub fn run_in(
        &self,
        job: &mut Job,
        observer: &dyn Observer,
        inputs: Vec<LinesInput>,
        path: &Path,
        output: TableOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        let mut options = self.options(path)?;
        let tries_merge = self.tries_merge && job.known_bytes(&self.inputs).is_some();
        let again = output.again().filter(|_| tries_merge);
        let Some(again) = again else {
            return self.sort_once(&options, job, observer, inputs, path, output);
        };
        options.merges = true;
        let reservation = job.reservation.clone();
        let merged = self.sort_once(&options, job, observer, inputs, path, output);
        if !refuses_merge(&merged) {
            return merged;
        }
        options.merges = false;
        job.reservation = reservation;
        let inputs = job.inputs(&self.inputs, LinesInput::at)?;
        self.sort_once(&options, job, observer, inputs, path, again)
    }

    /// Sorts or merges, as `options` say.
    fn sort_once(
        &self,
        options: &TableOptions,
        job: &mut Job,
        observer: &dyn Observer,
        inputs: Vec<LinesInput>,
        path: &Path,
        output: TableOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        let meaning = || format!("table {options:?}");
        let checkpoint = job.checkpoint(self.checkpoint, &self.inputs, path, meaning)?;
        let inputs = job.decompressed(inputs, observer)?;
        let engine = LinesOptions { checkpoint, ..self.engine(job, path) };
        let disk = &*job.disk;
        let sorted = match &self.late {
            Some(late) => {
                self.sort_and_late((options, &engine), inputs, (output, late, path), disk, observer)
            }
            None => sort_table(options, &engine, inputs, output, disk, observer),
        };
        sorted.map_err(|error| job.total_from_budget(error))
    }

    /// Sorts, and writes rows that come too late to `late`.
    fn sort_and_late(
        &self,
        (options, engine): (&TableOptions, &LinesOptions),
        inputs: Vec<LinesInput>,
        (output, late, path): (TableOutput<'_>, &Path, &Path),
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<KeyedReport, Error> {
        if options.within.is_none() {
            return Err(Error::Settings("late takes the rows that within lets come late".into()));
        }
        let reservation = engine.reservation.clone().with("late rows", LateOutput::MEMORY_BYTES);
        let engine = LinesOptions { reservation, ..engine.clone() };
        let mut to = LateOutput::open(disk, late, path)?;
        let late = Some(&mut to as &mut (dyn Write + Send));
        let report = sort_table_and_late(options, &engine, inputs, output, late, disk, observer)
            .map_err(|error| error.of_late_output(to.path()))?;
        to.publish(self.sync)?;
        Ok(report)
    }

    /// Returns the first row of `input` that belongs before the preceding row. With
    /// [`unique`](Table::unique), a row that is equal to the preceding one also counts. `None` if
    /// all rows are in order.
    ///
    /// # Errors
    /// The errors of [`run`](Table::run).
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

    /// Returns the resources that the sort would use.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory is not enough.
    pub fn plan_in(&self, job: &Job, output: &Path) -> Result<LinesDryRun, Error> {
        let bytes = job.known_bytes(&self.inputs);
        plan_table(&self.options(output)?, &self.engine(job, output), self.inputs.len(), bytes)
            .map_err(|error| job.total_from_budget(error))
    }

    /// Returns the options for an output of this name.
    fn options(&self, output: &Path) -> Result<TableOptions, Error> {
        let options = self.options.clone();
        if options.keys.0.is_empty() && options.shuffle.is_none() {
            return Err(Error::Settings("there is no key to sort by".into()));
        }
        if options.is_incremental() && self.checkpoint.is_some() {
            let what = "rows that are sorted as they come (sorted-by, within) can't be resumed: \
                        leave one of both out";
            return Err(Error::Settings(what.into()));
        }
        let collator = collator(&options.keys)?;
        let by_name = || Some(OutputCodec::of_name(output)?.for_index(self.index.is_some()));
        let compression = self.compression.unwrap_or_else(by_name);
        let index = self.index.map(|index| {
            let path = Some(output).filter(|path| !is_standard_output(path));
            index.for_output(path, compression).map_err(|reason| Error::Settings(reason.into()))
        });
        Ok(TableOptions { compression, index: index.transpose()?, collator, ..options })
    }

    fn engine(&self, job: &Job, output: &Path) -> LinesOptions {
        LinesOptions { codec: self.codec, ..job.engine(&self.scratch, output) }
    }
}
