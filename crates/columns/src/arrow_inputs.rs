//! Inputs in Arrow's own format: files with an index of their batches, and streams.

use crate::arrow_messages::{CONTINUATION, Messages, caught, check_size};
use crate::file::{InputFile, OpenInput};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MetadataVersion, root_as_footer};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use parking_lot::Mutex;
use parquet::file::reader::ChunkReader;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort::Job;
use xsort_disk::DisplayPath;
use xsort_extsort::Error;

/// The bytes at both ends of a file.
const MAGIC: &[u8; 6] = b"ARROW1";
/// Bytes of a footer's length and the magic after it.
const TAIL_BYTES: u64 = 10;

/// Inputs of one schema.
pub(crate) struct ArrowInputs {
    pub(crate) all: Vec<ArrowInput>,
    pub(crate) schema: SchemaRef,
}

/// An input.
pub(crate) struct ArrowInput {
    pub(crate) path: PathBuf,
    /// Bytes of a file; 0 if unknown.
    pub(crate) bytes: u64,
    /// None for standard input.
    file: Option<InputFile>,
    pub(crate) form: Form,
}

pub(crate) enum Form {
    File(ArrowFile),
    /// `None` once it was taken.
    Stream(Mutex<Option<Messages>>),
}

/// A file, and where its batches are.
#[derive(Clone, Debug)]
pub(crate) struct ArrowFile {
    pub(crate) file: InputFile,
    schema: SchemaRef,
    pub(crate) batches: Vec<Block>,
    dictionaries: Vec<Block>,
    version: MetadataVersion,
}

/// Opens standard input.
pub(crate) type OpenStdin<'s> = &'s mut dyn FnMut() -> io::Result<Box<dyn Read + Send>>;

impl ArrowInputs {
    /// Reads the schemas of these inputs; `-` is standard input.
    ///
    /// # Errors
    /// [`Error::Input`] if one is damaged, or has another schema than the first.
    pub(crate) fn open(
        paths: &[PathBuf],
        job: &Job,
        stdin: OpenStdin<'_>,
    ) -> Result<ArrowInputs, Error> {
        let (mut all, mut schema) = (Vec::new(), None);
        for path in paths {
            let (input, own) = open(path, job, stdin)?;
            let first = schema.get_or_insert_with(|| (Arc::clone(&own), path));
            if let Some(reason) = difference(&own, &first.0, first.1) {
                return Err(Error::Input { path: path.clone(), reason });
            }
            all.push(input);
        }
        match schema {
            Some((schema, _)) => Ok(ArrowInputs { all, schema }),
            None => Err(Error::Settings("name at least one input".into())),
        }
    }

    /// Fails if an object has changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        self.all
            .iter()
            .filter_map(|input| input.file.as_ref())
            .try_for_each(InputFile::check_unchanged)
    }

    /// Returns the bytes of the largest batch of a file.
    pub(crate) fn largest_batch(&self) -> u64 {
        let files = self.all.iter().filter_map(|input| match &input.form {
            Form::File(file) => Some(file),
            Form::Stream(_) => None,
        });
        files.flat_map(|file| file.batches.iter().map(block_bytes)).max().unwrap_or(0)
    }
}

/// Returns the bytes of a batch in a file.
pub(crate) fn block_bytes(block: &Block) -> u64 {
    block.bodyLength().max(0) as u64 + block.metaDataLength().max(0) as u64
}

fn open(path: &Path, job: &Job, stdin: OpenStdin<'_>) -> Result<(ArrowInput, SchemaRef), Error> {
    let stream = |read: Box<dyn Read + Send>, bytes, file| {
        let messages =
            caught(|| Messages::begin(read)).map_err(|error| damage(path, &error, "its schema"))?;
        let schema = messages.schema();
        let form = Form::Stream(Mutex::new(Some(messages)));
        Ok((ArrowInput { path: path.to_owned(), bytes, file, form }, schema))
    };
    if path.as_os_str() == "-" {
        let read = stdin()
            .map_err(|error| xsort_disk::Error::new(xsort_disk::Operation::Open, path, error))?;
        return stream(read, 0, None);
    }
    let file = InputFile::find(path, job)?;
    let opened = file.open()?;
    let begin = opened.get_bytes(0, (file.bytes as usize).min(MAGIC.len())).unwrap_or_default();
    if begin.starts_with(&CONTINUATION) {
        let read = opened.get_read(0).map_err(|error| file.error(error.to_string()))?;
        return stream(Box::new(read), file.bytes, Some(file));
    }
    if *begin != MAGIC[..] {
        let reason = "it is no file of Arrow: it begins neither with ARROW1 nor as a stream";
        return Err(file.error(reason.into()));
    }
    let found = caught(|| read_footer(&file, &opened))
        .map_err(|error| damage(path, &error, "its footer"))?;
    let schema = Arc::clone(&found.schema);
    let bytes = file.bytes;
    let (path, form) = (path.to_owned(), Form::File(found));
    Ok((ArrowInput { path, bytes, file: Some(file), form }, schema))
}

fn read_footer(file: &InputFile, open: &OpenInput) -> Result<ArrowFile, ArrowError> {
    let outside = |what: &str| ArrowError::ParseError(what.to_owned());
    let read = |at: u64, bytes: usize| {
        open.get_bytes(at, bytes).map_err(|error| ArrowError::ParseError(error.to_string()))
    };
    let tail_at = file.bytes.checked_sub(TAIL_BYTES).ok_or_else(|| outside("it is too short"))?;
    let tail = read(tail_at, TAIL_BYTES as usize)?;
    let tail: [u8; 10] = (&*tail).try_into().map_err(|_| outside("it is too short"))?;
    let length = read_footer_length(tail)?;
    let at = tail_at.checked_sub(length as u64).ok_or_else(|| outside("it is too short"))?;
    let bytes = read(at, length)?;
    let footer = root_as_footer(&bytes).map_err(|error| outside(&format!("{error}")))?;
    let schema = footer.schema().ok_or_else(|| outside("it has no schema"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(outside("its numbers have another order of bytes"));
    }
    let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(schema)?);
    let batches: Vec<Block> =
        footer.recordBatches().map(|all| all.iter().copied().collect()).unwrap_or_default();
    let dictionaries: Vec<Block> =
        footer.dictionaries().map(|all| all.iter().copied().collect()).unwrap_or_default();
    let is_inside = |block: &Block| {
        let end = (block.offset().max(0) as u64).checked_add(block_bytes(block));
        block.offset() >= 0
            && block.bodyLength() >= 0
            && block.metaDataLength() > 0
            && end.is_some_and(|end| end <= file.bytes)
    };
    if !batches.iter().chain(&dictionaries).all(is_inside) {
        return Err(outside("it names batches beyond the end of the file"));
    }
    let version = footer.version();
    Ok(ArrowFile { file: file.clone(), schema, batches, dictionaries, version })
}

impl ArrowFile {
    /// Opens the file, and reads its dictionaries. Each takes at most `bytes_max` bytes.
    pub(crate) fn decoder(&self, bytes_max: u64) -> Result<(OpenInput, FileDecoder), Error> {
        let open = self.file.open()?;
        let mut decoder = FileDecoder::new(Arc::clone(&self.schema), self.version);
        for block in &self.dictionaries {
            let read =
                caught(|| decoder.read_dictionary(block, &read_block(&open, block, bytes_max)?));
            read.map_err(|error| damage(&self.file.path, &error, "a dictionary"))?;
        }
        Ok((open, decoder))
    }
}

/// Reads a block of a file, which takes at most `bytes_max` bytes once it is decompressed.
pub(crate) fn read_block(
    open: &OpenInput,
    block: &Block,
    bytes_max: u64,
) -> Result<Buffer, ArrowError> {
    let bytes = open.get_bytes(block.offset() as u64, block_bytes(block) as usize);
    let bytes = bytes.map_err(|error| ArrowError::ParseError(error.to_string()))?;
    check_size(block, &bytes, bytes_max)?;
    Ok(Buffer::from(bytes))
}

/// Returns the error of a damaged input.
pub(crate) fn damage(path: &Path, error: &ArrowError, what: &str) -> Error {
    let reason = match error {
        ArrowError::MemoryError(text) => {
            return Error::Input { path: path.to_owned(), reason: text.clone() };
        }
        ArrowError::IoError(text, _) => text.clone(),
        other => other.to_string(),
    };
    let reason = reason.lines().next().unwrap_or_default().to_owned();
    Error::Input { path: path.to_owned(), reason: format!("{what} is damaged: {reason}") }
}

/// Returns how a schema differs from that of the first input.
fn difference(own: &Schema, first: &Schema, first_path: &Path) -> Option<String> {
    let first_path = DisplayPath(first_path);
    for (a, b) in own.fields().iter().zip(first.fields()) {
        let (name, first_name) = (a.name(), b.name());
        if name != first_name {
            return Some(format!("its column '{name}' is where {first_path} has '{first_name}'"));
        }
        if a.data_type() != b.data_type() {
            return Some(format!(
                "its column '{name}' is {}, and in {first_path} it is {}",
                a.data_type(),
                b.data_type()
            ));
        }
    }
    let (count, first_count) = (own.fields().len(), first.fields().len());
    (count != first_count)
        .then(|| format!("it has {count} columns, and {first_path} has {first_count}"))
}

/// Returns whether a type is a dictionary, or has one in it.
pub(crate) fn has_dictionary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_dictionary(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => has_dictionary(item.data_type()),
        DataType::Union(fields, _) => {
            fields.iter().any(|(_, field)| has_dictionary(field.data_type()))
        }
        _ => false,
    }
}
