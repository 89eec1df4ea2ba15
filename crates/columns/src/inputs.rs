//! The inputs of a sort: their footers, and the one schema that they have.

use crate::file::{InputFile, OpenInput};
use crate::physical::{read_schema, written_schema};
use crate::schema_difference::difference;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};
use parquet::file::reader::ChunkReader;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use xsort::Job;
use xsort_extsort::Error;

/// The bytes at both ends of a Parquet file, and at the end of one with an encrypted footer.
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8] = b"PARE";
/// Most groups inside of each other; a list has two.
const LEVELS_MAX: usize = 160;
/// Bytes of the smallest file: both magics, and the length of a footer.
const BYTES_MIN: u64 = 12;

/// Files of one schema.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) all: Vec<Input>,
    /// The schema as the first file has it, by Arrow's types.
    pub(crate) schema: SchemaRef,
}

/// A Parquet file and its footer.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) file: InputFile,
    pub(crate) footer: ParquetMetaData,
}

/// A row group of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) input: usize,
    pub(crate) index: usize,
    pub(crate) rows: usize,
    /// Bytes in the file.
    pub(crate) bytes: u64,
}

impl Inputs {
    /// Reads the footers of these files.
    ///
    /// # Errors
    /// [`Error::Input`] if one is no Parquet file, is encrypted or damaged, or has another schema
    /// than the first.
    pub(crate) fn open(paths: &[PathBuf], job: &Job) -> Result<Inputs, Error> {
        let input = |path: &PathBuf| {
            let file = InputFile::find(path, job)?;
            let footer = read_footer(&file)?;
            Ok(Input { file, footer })
        };
        let all = paths.iter().map(input).collect::<Result<Vec<_>, Error>>()?;
        let Some(first) = all.first() else {
            return Err(Error::Settings("name at least one input".into()));
        };
        for other in &all[1..] {
            let found = difference(other.root(), first.root(), &first.file.path);
            if let Some(how) = found {
                let reason = format!("{how}: sort files of one schema together");
                return Err(other.file.error(reason));
            }
        }
        let schema = parquet_to_arrow_schema(first.descriptor(), None)
            .map_err(|error| first.file.error(words(&error)))?;
        let schema = Arc::new(schema);
        Ok(Inputs { all, schema })
    }

    /// Returns the first input.
    pub(crate) fn first(&self) -> &Input {
        &self.all[0]
    }

    /// Returns the row groups of all inputs, in their order.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let of_input = |(input, all): (usize, &Input)| {
            let groups = all.footer.row_groups().iter().enumerate();
            let groups = groups.map(move |(index, group)| Group {
                input,
                index,
                rows: group.num_rows().max(0) as usize,
                bytes: group.compressed_size().max(0) as u64,
            });
            groups.filter(|group| group.rows > 0).collect::<Vec<_>>()
        };
        self.all.iter().enumerate().flat_map(of_input).collect()
    }

    /// Returns the number of bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.all.iter().map(|input| input.file.bytes).sum()
    }

    /// Returns the memory that the footers take, in bytes.
    pub(crate) fn footer_bytes(&self) -> u64 {
        self.all.iter().map(|input| input.footer.memory_size() as u64).sum()
    }

    /// Returns what decodes each input, if `keys` are the leaves of the keys.
    ///
    /// # Errors
    /// [`Error::Input`] if a schema can't be read in this way.
    pub(crate) fn decoders(&self, keys: &[Range<usize>]) -> Result<Vec<Decoder>, Error> {
        self.all.iter().map(|input| input.decoder(keys)).collect()
    }

    /// Returns what decodes each input to the types of Arrow that its writer has noted.
    ///
    /// # Errors
    /// [`Error::Input`] if a schema can't be read in this way.
    pub(crate) fn decoders_to_arrow(&self) -> Result<Vec<Decoder>, Error> {
        let decoder = |input: &Input| {
            let footer = Arc::new(input.footer.clone());
            let metadata = ArrowReaderMetadata::try_new(footer, ArrowReaderOptions::new());
            let metadata = metadata.map_err(|error| input.file.error(words(&error)))?;
            Ok(Decoder { file: input.file.clone(), metadata })
        };
        self.all.iter().map(decoder).collect()
    }

    /// Returns the schema of the output, if `keys` are the leaves of the keys.
    ///
    /// # Errors
    /// [`Error::Input`] if it has a type that can't be written.
    pub(crate) fn written_schema(&self, keys: &[Range<usize>]) -> Result<TypePtr, Error> {
        let first = self.first();
        written_schema(first.root(), keys).map_err(|error| first.file.error(words(&error)))
    }
}

/// An input with what decodes its columns.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    pub(crate) file: InputFile,
    pub(crate) metadata: ArrowReaderMetadata,
}

impl Decoder {
    /// Returns a reader of columns of a row group from `file`, which is this input.
    pub(crate) fn reader(
        &self,
        file: OpenInput,
        group: usize,
        columns: impl IntoIterator<Item = usize>,
        batch_rows: usize,
    ) -> ParquetRecordBatchReaderBuilder<OpenInput> {
        let metadata = self.metadata.clone();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), columns);
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_row_groups(vec![group])
            .with_projection(mask)
            .with_batch_size(batch_rows)
    }
}

impl Input {
    pub(crate) fn descriptor(&self) -> &SchemaDescriptor {
        self.footer.file_metadata().schema_descr()
    }

    pub(crate) fn root(&self) -> &Type {
        self.descriptor().root_schema()
    }

    /// Reads the footer again, with what these options say.
    pub(crate) fn footer_with(
        &self,
        reader: ParquetMetaDataReader,
    ) -> Result<ParquetMetaData, Error> {
        let footer = reader.parse_and_finish(&self.file.open()?);
        footer.map_err(|error| read_error(&self.file, error, "its footer"))
    }

    fn decoder(&self, keys: &[Range<usize>]) -> Result<Decoder, Error> {
        let failed = |error: ParquetError| self.file.error(words(&error));
        let schema = read_schema(self.root(), keys).map_err(failed)?;
        let schema: SchemaDescPtr = Arc::new(SchemaDescriptor::new(schema));
        let file = self.footer.file_metadata();
        let file = FileMetaData::new(file.version(), file.num_rows(), None, None, schema, None);
        let footer = ParquetMetaData::new(file, self.footer.row_groups().to_vec());
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::try_new(Arc::new(footer), options).map_err(failed)?;
        Ok(Decoder { file: self.file.clone(), metadata })
    }
}

/// Reads a footer, without the statistics of columns: the output gets its own.
fn read_footer(file: &InputFile) -> Result<ParquetMetaData, Error> {
    let open = file.open()?;
    let end = |bytes: u64| open.get_bytes(file.bytes - bytes, MAGIC.len());
    let magics = match file.bytes {
        BYTES_MIN.. => (open.get_bytes(0, MAGIC.len()), end(MAGIC.len() as u64)),
        _ => return Err(file.error("it is no Parquet file: it is too short".into())),
    };
    let failed = |error: ParquetError| read_error(file, error, "its footer");
    let (first, last) = (magics.0.map_err(failed)?, magics.1.map_err(failed)?);
    if last == ENCRYPTED_MAGIC {
        return Err(encrypted(file));
    }
    if first != MAGIC {
        return Err(file.error("it is no Parquet file: it doesn't begin with PAR1".into()));
    }
    if last != MAGIC {
        let reason = "it is cut: it begins as a Parquet file (PAR1) and doesn't end as one";
        return Err(file.error(reason.into()));
    }
    // Which pages a column has says how the output is written.
    let options = ParquetMetaDataOptions::new()
        .with_encoding_stats_as_mask(false)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let reader = ParquetMetaDataReader::new().with_metadata_options(Some(options));
    // With a plain footer, columns that are encrypted may have no metadata there.
    let footer = reader.parse_and_finish(&open).map_err(|error| match words(&error) {
        text if text.to_lowercase().contains("encrypt") => encrypted(file),
        text if text.contains("column metadata") => encrypted(file),
        _ => failed(error),
    });
    check_footer(file, footer?)
}

/// Returns how many groups are inside of each other.
fn depth(group: &Type) -> usize {
    match group.is_group() {
        true => 1 + group.get_fields().iter().map(|field| depth(field)).max().unwrap_or(0),
        false => 0,
    }
}

/// Refuses a footer that contradicts itself.
fn check_footer(file: &InputFile, footer: ParquetMetaData) -> Result<ParquetMetaData, Error> {
    let descriptor = footer.file_metadata().schema_descr();
    if depth(descriptor.root_schema()) > LEVELS_MAX {
        return Err(file.error(format!("its columns are nested deeper than {LEVELS_MAX} levels")));
    }
    let leaves = descriptor.num_columns();
    for (at, group) in footer.row_groups().iter().enumerate() {
        let what = if group.num_rows() < 0 {
            "fewer than no rows".to_owned()
        } else if group.num_columns() != leaves {
            format!("{} columns of {leaves}", group.num_columns())
        } else if group.columns().iter().any(|column| {
            column.compressed_size() < 0
                || column.uncompressed_size() < 0
                || column.data_page_offset() < 0
                || column.dictionary_page_offset().is_some_and(|offset| offset < 0)
        }) {
            "a column of negative size or place".to_owned()
        } else if group.columns().iter().any(|column| column.file_path().is_some()) {
            "columns in other files: sort those instead".to_owned()
        } else {
            continue;
        };
        return Err(file.error(format!("its footer says that row group {at} has {what}")));
    }
    Ok(footer)
}

fn encrypted(file: &InputFile) -> Error {
    let reason = "it is encrypted, and xsort has no keys: decrypt it first, for example with \
                  pyarrow or Spark";
    file.error(reason.into())
}

/// Returns the error of reading `what` of a file.
pub(crate) fn read_error(file: &InputFile, error: ParquetError, what: &str) -> Error {
    let error = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => {
                let path = &file.path;
                return xsort_disk::Error::new(xsort_disk::Operation::Read, path, *source).into();
            }
            Err(other) => ParquetError::External(other),
        },
        other => other,
    };
    let reason = words(&error);
    // Features of the format that are missing here aren't damage.
    match &error {
        ParquetError::NYI(_) => file.error(format!("{what} can't be read: {reason}")),
        _ if is_missing_codec(&reason) => file.error(format!(
            "{what} has a compression that xsort doesn't read ({reason}): write the file with \
             Zstandard, Snappy, gzip or LZ4"
        )),
        _ => file.error(format!("{what} is damaged: {reason}")),
    }
}

fn is_missing_codec(reason: &str) -> bool {
    let reason = reason.to_lowercase();
    reason.contains("feature") && reason.contains("brotli") || reason.contains("codec")
}

/// Returns an error of the Parquet library in one line, without its own beginning.
pub(crate) fn words(error: &ParquetError) -> String {
    let text = error.to_string();
    let text = ["Parquet error: ", "EOF: ", "NYI: ", "Arrow: ", "External: "]
        .iter()
        .fold(&*text, |text, own| text.strip_prefix(own).unwrap_or(text));
    text.lines().next().unwrap_or_default().to_owned()
}
