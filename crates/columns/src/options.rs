//! What a sort of columns should do.

use arrow_schema::SchemaRef;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use std::ffi::OsStr;
use std::path::Path;
use xsort_extsort::Error;
use xsort_extsort::lines::OutputCodec;
use xsort_table::{BestRow, Curve, Keep, Keys, RowFormat};

/// The options of a sort of files of columns.
#[derive(Clone, Debug)]
pub struct ColumnsOptions {
    /// The columns to sort by.
    pub keys: Keys,
    /// Which one of several rows with equal keys is written; all of them unless set.
    pub unique: Option<Keep>,
    /// The number of the first `keys` that make rows equal; all of them unless set. The others only
    /// say which of equal rows is the first.
    pub unique_keys: Option<usize>,
    /// Writes the number of rows with each key in a new first column. With `unique`.
    pub counts: bool,
    /// Most rows that are written.
    pub rows_max: Option<u64>,
    /// Writes rows in a random order, which depends on this number, instead of sorting by keys.
    pub shuffle: Option<u64>,
    /// Checks that each input is in order already.
    pub merges: bool,
    /// The format of the inputs.
    pub input_format: InputFormat,
    /// The format of the output.
    pub output_format: OutputFormat,
    /// The compression of the output. Unless set, each column of Parquet has that of the first
    /// input, and Arrow's files are not compressed.
    pub codec: Option<Codec>,
    /// Maximum number of rows in a row group. Unless set, as many as the largest one of the inputs
    /// has, but at least 122,880. Fewer if the memory has no room for them.
    pub group_rows: Option<usize>,
    /// The schema of inputs whose rows are text; see [`parse_schema`](crate::parse_schema).
    pub schema: Option<SchemaRef>,
    /// True if rows of text have a header, which names the columns.
    pub has_header: bool,
}

impl ColumnsOptions {
    /// Creates the options of a sort by these columns.
    pub fn new(keys: Keys) -> ColumnsOptions {
        ColumnsOptions {
            keys,
            unique: None,
            unique_keys: None,
            counts: false,
            rows_max: None,
            shuffle: None,
            merges: false,
            input_format: InputFormat::Parquet,
            output_format: OutputFormat::Parquet,
            codec: None,
            group_rows: None,
            schema: None,
            has_header: true,
        }
    }
}

impl ColumnsOptions {
    /// Of rows with equal keys writes the best one only; of several that are best the first of the
    /// inputs.
    #[must_use]
    pub fn keeping(mut self, best: BestRow) -> ColumnsOptions {
        self.unique_keys = Some(self.keys.0.len());
        self.keys.0.push(best.0);
        self.unique = Some(Keep::First);
        self
    }

    /// Refuses options that contradict each other.
    ///
    /// # Errors
    /// [`Error::Settings`] with what to do.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.unique.is_some() || self.merges {
            true => self.refuse_curve(),
            false => Ok(()),
        }
    }

    /// Refuses keys that aren't in the rows themselves.
    ///
    /// # Errors
    /// [`Error::Settings`] with what to do.
    pub(crate) fn refuse_curve(&self) -> Result<(), Error> {
        let refused = |curve: &Curve| Err(Error::Settings(curve.only_for_sorts()));
        self.keys.curve().map_or(Ok(()), refused)
    }
}

/// The format of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Parquet.
    Parquet,
    /// Files or streams of Arrow's.
    Arrow,
    /// Rows of text, which become columns by a schema.
    Rows(RowFormat),
}

impl InputFormat {
    /// The format that a name says.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<InputFormat> {
        match extension(path).as_deref() {
            Some("parquet" | "parq" | "pq") => Some(InputFormat::Parquet),
            Some("arrow" | "feather" | "ipc" | "arrows") => Some(InputFormat::Arrow),
            _ => RowFormat::of_name(path).map(InputFormat::Rows),
        }
    }
}

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Parquet.
    Parquet,
    /// A file of Arrow's, with an index of its batches (also called Feather, version 2).
    ArrowFile,
    /// A stream of Arrow's.
    ArrowStream,
    /// Rows of text, and their compression.
    Rows(RowFormat, Option<OutputCodec>),
}

impl OutputFormat {
    /// The format that the name of an output says, or else that of the inputs; of Arrow the stream,
    /// which can be read from a pipe while it is written.
    #[must_use]
    pub fn of_name(path: &Path, inputs: InputFormat) -> OutputFormat {
        if let Some(format) = RowFormat::of_name(path) {
            return OutputFormat::Rows(format, OutputCodec::of_name(path));
        }
        match (extension(path).as_deref(), inputs) {
            (Some("parquet" | "parq" | "pq"), _) => OutputFormat::Parquet,
            (Some("arrow" | "feather" | "ipc"), _) => OutputFormat::ArrowFile,
            (Some("arrows"), _) | (_, InputFormat::Arrow) => OutputFormat::ArrowStream,
            (_, InputFormat::Parquet) => OutputFormat::Parquet,
            (_, InputFormat::Rows(format)) => OutputFormat::Rows(format, None),
        }
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

/// A compression of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// None.
    Plain,
    /// Snappy: quick.
    Snappy,
    /// Zstandard, level 1: nearly as quick and smaller.
    Zstd,
    /// LZ4: the quickest to decompress.
    Lz4,
    /// gzip: slow; what everything can read.
    Gzip,
}

impl Codec {
    pub(crate) fn compression(self) -> Compression {
        match self {
            Codec::Plain => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Zstd => Compression::ZSTD(ZstdLevel::default()),
            Codec::Lz4 => Compression::LZ4_RAW,
            Codec::Gzip => Compression::GZIP(GzipLevel::default()),
        }
    }
}
