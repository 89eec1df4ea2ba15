//! Sorting the rows of tables.

use crate::resources::{Resources, output_setters, resource_setters};
use std::io::Write;
use std::path::{Path, PathBuf};
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::keyed::KeyedReport;
use xsort_extsort::variable::{LinesInput, OutputCodec, Recognised, recognise, unreadable};
use xsort_extsort::{Error, LinesOptions, Observer};
use xsort_table::{
    BadKeys, Collator, Dialect, Keep, Keys, OnBad, RowFormat, TableOptions, TableOutput, collator,
    sort_table,
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
    scratch: Vec<PathBuf>,
    resources: Resources,
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
        Table {
            inputs: inputs.into_iter().map(Into::into).collect(),
            options: TableOptions {
                format,
                has_header: true,
                keys: Keys(Vec::new()),
                collator: Collator::default(),
                on_bad: OnBad::Refuse,
                unique: None,
                counts: false,
                shuffle: None,
                rows_max: None,
                compression: None,
            },
            scratch: Vec::new(),
            resources: Resources::default(),
        }
    }

    resource_setters!();
    output_setters!();

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

    /// Directories for scratch: the output's, unless set.
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Table {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Sorts into the file `output`, which may be one of the inputs. It appears whole or not at
    /// all: until then the old one stays. A name in `.gz`, `.zst` or `.lz4` is compressed.
    ///
    /// # Errors
    /// What [`Error`] lists; [`Error::Settings`] if there are no keys or no such columns.
    pub fn run(&self, output: impl AsRef<Path>) -> Result<KeyedReport, Error> {
        let output = output.as_ref();
        self.sort(
            output,
            OutputCodec::of_name(output),
            TableOutput::File { path: output, sync: true },
        )
    }

    /// Sorts into anything that can be written to. Scratch goes to the system's temporary
    /// directory, unless set.
    ///
    /// # Errors
    /// As [`run`](Table::run).
    pub fn write_to(&self, output: &mut (dyn Write + Send)) -> Result<KeyedReport, Error> {
        self.sort(Path::new(STANDARD_OUTPUT), None, TableOutput::Stream(output))
    }

    fn sort(
        &self,
        path: &Path,
        compression: Option<OutputCodec>,
        output: TableOutput<'_>,
    ) -> Result<KeyedReport, Error> {
        if self.options.keys.0.is_empty() {
            return Err(Error::Settings("there is no key to sort by".into()));
        }
        let job = self.resources.of_job(&self.inputs, Some(path))?;
        let engine = job.engine(&self.scratch, path);
        let observer = self.resources.observer();
        let disk = job.lazy_disk();
        let inputs = LinesInput::all_on(&disk, &self.inputs)?;
        let Recognised { inputs, reservation, .. } =
            recognise(inputs, false, || engine.budget_bytes)
                .map_err(|(path, error)| unreadable(path, error))?;
        let engine = LinesOptions { reservation, ..engine };
        let collator = collator(&self.options.keys)?;
        let options = TableOptions { compression, collator, ..self.options.clone() };
        let report = sort_table(&options, &engine, inputs, output, &*disk, &observer);
        disk.notices().iter().for_each(|line| observer.notice(line));
        report.map_err(|error| job.add_to(error))
    }
}
