//! The builder of a sort of files of columns.

use crate::copy_plan::find_copies;
use crate::infer::{infer_fields, infer_json};
use crate::keyed_source::keyed_source;
use crate::options::ColumnsOptions;
use crate::options::InputFormat;
use crate::output_files::OutputFiles;
use crate::plan::MemoryPlan;
use crate::read_sorted::read_sorted;
use crate::sort_plan::{Opened, SortPlan};
use crate::verify::verify;
use crate::write_sorted::write_sorted;
use arrow_schema::SchemaRef;
use parking_lot::Mutex;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use xsort::{Job, Setup, Verdict};
use xsort_disk::{Operation, STANDARD_OUTPUT, is_url};
use xsort_extsort::keyed::{Counted, KeyedReport};
use xsort_extsort::lines::{Content, LinesDryRun, LinesInput, SortedOutput};
use xsort_extsort::{Compressed, Error, Observer, scratch_directories};
use xsort_table::{BadKeys, BestRow, Keep, RowFormat, TableOutput};

/// Sorts the rows of Parquet or Arrow files by any of their columns.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use xsort_columns::Columns;
///
/// let inputs = ["monday.parquet", "tuesday.parquet"];
/// let columns = Columns::files(inputs).by("ts,user.id:desc")?.memory(1 << 30);
/// let report = columns.run("sorted.parquet")?;
/// println!("{report}");
/// # Ok(())
/// # }
/// ```
///
/// All files have the same schema. Rows with equal keys keep the order of the inputs. The output
/// has the schema, the metadata, the compression and the encodings of the first input.
#[derive(Clone, Debug)]
pub struct Columns {
    inputs: Vec<PathBuf>,
    options: ColumnsOptions,
    scratch: Vec<PathBuf>,
    setup: Setup,
    stdin: Option<Stdin>,
}

/// What is read as standard input.
#[derive(Clone)]
struct Stdin(Arc<Mutex<Option<Box<dyn Read + Send>>>>);

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdin").finish_non_exhaustive()
    }
}

impl Columns {
    /// Sorts the rows of these files together.
    pub fn files<P: Into<PathBuf>>(inputs: impl IntoIterator<Item = P>) -> Columns {
        Columns::with_options(ColumnsOptions::new(xsort_table::Keys(Vec::new())), inputs)
    }

    /// Sorts the rows of these files together with these options.
    pub fn with_options<P: Into<PathBuf>>(
        options: ColumnsOptions,
        inputs: impl IntoIterator<Item = P>,
    ) -> Columns {
        Columns {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options,
            scratch: Vec::new(),
            setup: Setup::default(),
            stdin: None,
        }
    }

    /// Sorts by these columns, in the syntax of `xsort table --by`: `"date:desc,user.id"`, `"#3"`.
    /// Columns of later calls decide among rows whose earlier columns are equal.
    ///
    /// # Errors
    /// If the text is not a list of keys. A missing column is found only when the sort runs.
    pub fn by(mut self, keys: &str) -> Result<Columns, BadKeys> {
        self.options.keys.0.extend(keys.parse::<xsort_table::Keys>()?.0);
        Ok(self)
    }

    /// Sets the directories for scratch. Unless set, scratch is in the output's directory.
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Self {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Writes one of several rows with equal keys.
    #[must_use]
    pub fn unique(mut self, keep: Keep) -> Columns {
        self.options.unique = Some(keep);
        self
    }

    /// Writes the best one of several rows with equal keys; of several that are best the first of
    /// the inputs. Call it after [`by`](Columns::by).
    #[must_use]
    pub fn keep(mut self, best: BestRow) -> Columns {
        self.options = self.options.keeping(best);
        self
    }

    /// Writes the first `rows` rows of the order only.
    #[must_use]
    pub fn top(mut self, rows: u64) -> Columns {
        self.options.rows_max = Some(rows);
        self
    }

    /// Requires that each input is in order. One that isn't is an error.
    #[must_use]
    pub fn merge(mut self) -> Columns {
        self.options.merges = true;
        self
    }

    xsort::resource_setters!();

    /// Reads the input `-` from `stream`, which is read once. Unless set, it is standard input.
    #[must_use]
    pub fn stdin(mut self, stream: Box<dyn Read + Send>) -> Self {
        self.stdin = Some(Stdin(Arc::new(Mutex::new(Some(stream)))));
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. It appears whole or not at
    /// all; until then an old file stays.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Settings`] if there are no keys or no such columns.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let path = output.as_ref();
        let (mut job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        self.run_in(&mut job, &observer, path, TableOutput::File { path, sync: true })
    }

    /// Sorts into a writer. Unless set, scratch is in the system's temporary directory.
    ///
    /// # Errors
    /// The errors of [`run`](Columns::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        let path = Path::new(STANDARD_OUTPUT);
        let (mut job, observer) = self.setup.begin(&self.inputs, Some(path))?;
        self.run_in(&mut job, &observer, path, TableOutput::Stream(output))
    }

    /// Sorts within a job that the caller has begun and observes. `path` is the output's.
    ///
    /// # Errors
    /// The errors of [`run`](Columns::run).
    pub fn run_in(
        &self,
        job: &mut Job,
        observer: &dyn Observer,
        path: &Path,
        output: TableOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        let began = Instant::now();
        let texts = self.open_texts(job, observer)?;
        let mut plan = self.plan(job, &self.inputs, texts)?;
        let part_bytes = match &output {
            TableOutput::Parts { part_bytes, .. } => Some(*part_bytes),
            TableOutput::File { .. } | TableOutput::Stream(_) => None,
        };
        plan.copies = find_copies(&plan, job, observer, part_bytes)?;
        let bytes = plan.bytes();
        observer.expect(&[("form runs", plan.sorted_bytes()), ("merge", bytes)]);
        let scratch = scratch_directories(&self.scratch, path);
        let (sorted, rows, read_bytes) = read_sorted(&plan, job, observer, scratch)?;
        // Of streams and compressed text only what was read tells the bytes.
        let bytes = bytes.max(read_bytes);
        observer.phase("merge", bytes);
        let threads = job.threads();
        let write =
            |files: &mut OutputFiles<'_>| write_sorted(sorted, &plan, threads, observer, files);
        let (sorted, written_bytes) = match output {
            TableOutput::Stream(to) => write_one(to, write)?,
            TableOutput::File { path, sync } => {
                let file = SortedOutput::File { path, sync };
                file.write(bytes, &*job.disk, |to| write_one(to, write))?
            }
            TableOutput::Parts { path, part_bytes, sync } => {
                let mut files = OutputFiles::parts(&*job.disk, path, part_bytes);
                let report = write(&mut files);
                let part = files.path().unwrap_or_default();
                (report.map_err(|error| error.of_output(&part))?, files.publish(sync)?)
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        let copied = plan.copies.all.len() as u64;
        Ok(KeyedReport {
            counted: Counted::Rows(rows + plan.copies.rows()),
            bytes,
            written_bytes,
            // Rows that are copied have no hashes.
            checksum: sorted.checksum.filter(|_| copied == 0).map(|sum| format!("{sum:x}")),
            bad_rows: None,
            late_rows: None,
            copied_row_groups: Some(copied).filter(|&copied| copied > 0),
            seconds,
            bytes_per_second: bytes as f64 / seconds.max(1e-9),
            threads,
            memory_bytes: plan.memory.bytes(),
            shares: plan.memory.shares(),
            runs: sorted.runs,
            spilled_bytes: sorted.spilled_bytes,
            scratch_bytes: sorted.scratch_bytes,
            compressed: Compressed::default(),
        })
    }

    /// Returns the number, from 1, of the first row of the input that belongs before the row before
    /// it; with `unique` also of one that is equal to it. `None` if all rows are in order.
    ///
    /// # Errors
    /// The errors of [`run`](Columns::run); [`Error::Settings`] if there are several inputs.
    pub fn check_in(&self, job: &Job, observer: &dyn Observer) -> Result<Option<u64>, Error> {
        if self.inputs.len() != 1 {
            return Err(Error::Settings("--check takes one file: check them one by one".into()));
        }
        self.options.refuse_curve()?;
        let plan = self.plan(job, &self.inputs, Vec::new())?;
        observer.phase("check", plan.bytes());
        let mut check = plan.order_check(self.options.unique.is_some())?;
        let mut reading = keyed_source(&plan)?;
        while let Some(batch) = reading.next()? {
            if observer.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let found = check.push(&batch.rows)?;
            if found.is_some() {
                return Ok(found);
            }
            observer.advance(batch.bytes);
        }
        plan.check_unchanged()?;
        Ok(None)
    }

    /// Checks the inputs as one sequence, and compares their rows with those of the files
    /// `against`, in any order. All have the same schema. `None` if there is nothing to compare
    /// with; no files have no rows.
    ///
    /// # Errors
    /// The errors of [`run`](Columns::run).
    pub fn verify_in(
        &self,
        job: &Job,
        observer: &dyn Observer,
        against: Option<&[PathBuf]>,
    ) -> Result<Verdict, Error> {
        self.options.refuse_curve()?;
        let files = [&self.inputs, against.unwrap_or_default()].concat();
        let plan = self.plan(job, &files, Vec::new())?;
        observer.phase("verify", plan.bytes());
        let (verdict, others) = verify(&plan, self.inputs.len(), job.threads(), observer)?;
        plan.check_unchanged()?;
        let against = against.map(|_| (others.records(), others));
        Ok(Verdict { against, ..verdict })
    }

    /// Reads inputs whose rows are text, and returns the schema that their values have. For each
    /// column it is the first of these types of which each value is one: int64, double, bool, date,
    /// timestamps, string. JSON has types of its own.
    ///
    /// # Errors
    /// [`Error::Input`] if an input can't be read; [`Error::Settings`] if one is standard input,
    /// which can't be read twice.
    pub fn infer_in(&self, job: &mut Job, observer: &dyn Observer) -> Result<SchemaRef, Error> {
        let InputFormat::Rows(format) = self.options.input_format else {
            return Err(Error::Settings("files of columns have a schema already".into()));
        };
        if self.inputs.iter().any(|path| path.as_os_str() == "-") {
            let what = "standard input can't be read twice, to find its types and to sort it: \
                        give a schema, or save it to a file first";
            return Err(Error::Settings(what.into()));
        }
        if format == RowFormat::Ndjson {
            return infer_json(self.open_texts(job, observer)?);
        }
        let plan = MemoryPlan::of_text(1, job.data_bytes(), job.threads());
        let pieces = plan.map_err(|error| job.total_from_data(error))?.pieces;
        let (threads, has_header) = (job.threads(), self.options.has_header);
        let mut open = || self.open_texts(job, observer);
        let inputs = (&*self.inputs, format, has_header);
        infer_fields(&mut open, inputs, (pieces, threads), observer)
    }

    /// Returns the resources that the sort would use.
    ///
    /// # Errors
    /// [`Error::Memory`] if the memory is not enough.
    pub fn plan_in(&self, job: &Job) -> Result<LinesDryRun, Error> {
        let plan = self.plan(job, &self.inputs, Vec::new())?;
        // Batches, their keys and their order take about twice as much as the columns.
        let is_resident =
            plan.memory.decoded_bytes.is_some_and(|bytes| bytes * 2 < plan.memory.sort_bytes);
        Ok(LinesDryRun {
            bytes: Some(plan.bytes()).filter(|&bytes| bytes > 0),
            memory_bytes: plan.memory.bytes(),
            shares: plan.memory.shares(),
            scratch_bytes: if is_resident { Some(0) } else { None },
            compress: None,
            threads: job.threads(),
        })
    }

    fn plan(
        &self,
        job: &Job,
        inputs: &[PathBuf],
        texts: Vec<LinesInput>,
    ) -> Result<SortPlan, Error> {
        let stdin = &mut || self.open_stdin();
        SortPlan::new(inputs, &self.options, job, Opened { stdin, texts })
    }

    fn open_stdin(&self) -> io::Result<Box<dyn Read + Send>> {
        match &self.stdin {
            Some(stdin) => stdin.0.lock().take().ok_or_else(|| io::Error::other("it was read")),
            None => Ok(Box::new(io::stdin())),
        }
    }

    /// Opens inputs whose rows are text, and decompresses them.
    fn open_texts(&self, job: &mut Job, observer: &dyn Observer) -> Result<Vec<LinesInput>, Error> {
        if !matches!(self.options.input_format, InputFormat::Rows(_)) {
            return Ok(Vec::new());
        }
        let open = |path: &PathBuf| {
            if path.as_os_str() != "-" {
                if !is_url(path) {
                    let missing = |error| xsort_disk::Error::new(Operation::Open, path, error);
                    fs::metadata(path).map_err(missing)?;
                }
                return job.input(path, LinesInput::at);
            }
            let stream = self
                .open_stdin()
                .map_err(|error| xsort_disk::Error::new(Operation::Open, path, error))?;
            let content = Content::Stream(stream);
            Ok(LinesInput { path: path.clone(), bytes: None, content })
        };
        let inputs = self.inputs.iter().map(open).collect::<Result<_, Error>>()?;
        job.decompressed(inputs, observer)
    }
}

/// Passes a single file or stream to `write`. Also returns the bytes that were written.
fn write_one<R>(
    to: &mut (dyn Write + Send),
    write: impl FnOnce(&mut OutputFiles<'_>) -> Result<R, Error>,
) -> Result<(R, u64), Error> {
    let mut files = OutputFiles::one(to);
    let result = write(&mut files)?;
    Ok((result, files.publish(false)?))
}
