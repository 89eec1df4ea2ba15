//! Messages of Arrow's: how a stream of them is read, and how much memory one takes.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, Message, MessageHeader, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use std::io::{self, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The bytes before each message.
pub(crate) const CONTINUATION: [u8; 4] = [0xff; 4];
/// These bytes and the length of the metadata.
const PREFIX_BYTES: usize = 8;
/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;
/// The length of a buffer that isn't compressed, where others have that of their bytes.
const PLAIN: i64 = -1;
/// A batch may take one in `BATCH_SHARE` bytes of the memory.
pub(crate) const BATCH_SHARE: u64 = 32;

/// A stream of messages that was begun.
pub(crate) struct Messages {
    read: BufReader<Box<dyn Read + Send>>,
    schema: SchemaRef,
    decoder: FileDecoder,
}

impl Messages {
    /// Reads the schema.
    pub(crate) fn begin(read: Box<dyn Read + Send>) -> Result<Messages, ArrowError> {
        let mut read = BufReader::with_capacity(READ_BYTES, read);
        let (_, bytes) = next_message(&mut read)?.ok_or_else(|| broken("it is empty"))?;
        let message = message_of(&bytes)?;
        let schema = message.header_as_schema().ok_or_else(|| broken("it has no schema"))?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err(broken("its numbers have another order of bytes"));
        }
        let schema = Arc::new(arrow_ipc::convert::try_fb_to_schema(schema)?);
        let decoder = FileDecoder::new(Arc::clone(&schema), message.version());
        Ok(Messages { read, schema, decoder })
    }

    /// The schema of all batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the next batch, and `None` after the last one. A message that takes more than
    /// `bytes_max` bytes once it is decompressed is an error.
    pub(crate) fn next(&mut self, bytes_max: u64) -> Result<Option<RecordBatch>, ArrowError> {
        while let Some((block, bytes)) = next_message(&mut self.read)? {
            check_size(&block, &bytes, bytes_max)?;
            match message_of(&bytes)?.header_type() {
                MessageHeader::DictionaryBatch => self.decoder.read_dictionary(&block, &bytes)?,
                _ => match self.decoder.read_record_batch(&block, &bytes)? {
                    None => {}
                    batch => return Ok(batch),
                },
            }
        }
        Ok(None)
    }
}

/// Reads a message with its body. Memory grows with the bytes that come, whatever lengths say.
fn next_message(read: &mut impl Read) -> Result<Option<(Block, Buffer)>, ArrowError> {
    let mut word = [0; 4];
    // A stream may end without saying so.
    match read.read(&mut word[..1])? {
        0 => return Ok(None),
        _ => read.read_exact(&mut word[1..])?,
    }
    // The first versions of the format have the length only.
    if word == CONTINUATION {
        read.read_exact(&mut word)?;
    }
    let length = i32::from_le_bytes(word);
    if length == 0 {
        return Ok(None);
    }
    let mut bytes = [CONTINUATION, word].concat();
    append(read, i64::from(length), &mut bytes)?;
    let body = message_of(&bytes)?.bodyLength();
    let metadata = i32::try_from(bytes.len()).map_err(|_| broken("a message is too long"))?;
    append(read, body, &mut bytes)?;
    Ok(Some((Block::new(0, metadata, body), Buffer::from_vec(bytes))))
}

/// Appends this number of bytes.
fn append(read: &mut impl Read, count: i64, bytes: &mut Vec<u8>) -> Result<(), ArrowError> {
    let count = u64::try_from(count).map_err(|_| broken("a message has a negative length"))?;
    match read.take(count).read_to_end(bytes)? as u64 == count {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

fn message_of(bytes: &[u8]) -> Result<Message<'_>, ArrowError> {
    let prefix = if bytes.starts_with(&CONTINUATION) { PREFIX_BYTES } else { PREFIX_BYTES / 2 };
    let metadata = bytes.get(prefix..).unwrap_or_default();
    root_as_message(metadata).map_err(|error| broken(&error.to_string()))
}

/// Fails if a message takes more than `bytes_max` bytes once it is decompressed. Its buffers say
/// how long they are, and a decoder believes them.
pub(crate) fn check_size(block: &Block, bytes: &[u8], bytes_max: u64) -> Result<(), ArrowError> {
    let message = message_of(bytes)?;
    let dictionary = || message.header_as_dictionary_batch().and_then(|batch| batch.data());
    let Some(batch) = message.header_as_record_batch().or_else(dictionary) else { return Ok(()) };
    if batch.compression().is_none() {
        return Ok(());
    }
    let body = bytes.get(block.metaDataLength().max(0) as usize..).unwrap_or_default();
    let length = |buffer: &arrow_ipc::Buffer| {
        let begin = body.get(buffer.offset().max(0) as usize..).and_then(<[u8]>::first_chunk);
        match begin.map_or(0, |&begin| i64::from_le_bytes(begin)) {
            PLAIN => buffer.length().max(0) as u64,
            length => length.max(0) as u64,
        }
    };
    let lengths = batch.buffers().into_iter().flatten().map(length);
    let sum = lengths.fold(0_u64, u64::saturating_add);
    if sum <= bytes_max {
        return Ok(());
    }
    let mib = (sum.saturating_mul(BATCH_SHARE) >> 20) + 1;
    Err(ArrowError::MemoryError(format!(
        "a batch takes {sum} bytes once it is decompressed, more than its share of the memory: if \
         the file isn't damaged, give it -m {mib}M"
    )))
}

/// Returns the result of work that trusts what it reads, and of a panic an error. Nothing that has
/// panicked may be used again.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    let result = catch_unwind(AssertUnwindSafe(work));
    result.unwrap_or_else(|_| Err(broken("its parts contradict each other")))
}

fn broken(what: &str) -> ArrowError {
    ArrowError::ParseError(what.to_owned())
}
