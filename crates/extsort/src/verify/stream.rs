//! Verifying a stream: one thread reads it once, in order.

use super::ledger::Tally;
use super::options::{VerifyOptions, VerifyReport};
use crate::{Error, Gauges, JobInfo, Observer};
use std::io::{ErrorKind, Read};
use std::path::Path;
use xsort_disk::Lease;
use xsort_records::Content;

/// Bytes of one read, if the budget allows it.
const READ_BYTES: u64 = 1 << 20;

/// Reads a stream to its end and verifies it like [`verify`](super::verify) verifies files. `name`
/// is the stream's name in messages.
///
/// # Errors
/// The errors of [`verify`](super::verify).
pub fn verify_stream(
    options: &VerifyOptions,
    name: &Path,
    mut stream: impl Read,
    observer: &dyn Observer,
) -> Result<VerifyReport, Error> {
    let record_bytes = options.layout.record_bytes();
    let records_at_once = (READ_BYTES.min(options.budget_bytes) as usize / record_bytes).max(1);
    let needed_bytes = (records_at_once * record_bytes) as u64;
    if options.budget_bytes < needed_bytes {
        return Err(Error::Memory { budget_bytes: options.budget_bytes, needed_bytes });
    }
    let frame = JobInfo {
        record_bytes: Some(record_bytes as u64),
        budget_bytes: options.budget_bytes,
        threads: 1,
        chunks: None,
    };
    observer.show(Gauges::new(frame, observer.spans()));
    observer.phase(if options.order { "verify" } else { "checksum" }, 0);
    let input_error = |reason: String| Error::Input { path: name.to_owned(), reason };
    let mut buffer = Lease::map(needed_bytes as usize)?;
    let (mut tally, mut bytes) = (Tally::new(options), 0);
    loop {
        let buffer = &mut buffer[..records_at_once * record_bytes];
        let filled =
            fill(&mut stream, buffer, observer).map_err(|error| input_error(error.to_string()))?;
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let is_end = filled < buffer.len();
        if options.format_is_assumed && bytes == 0 {
            let head = &buffer[..filled.min(Content::HEAD_BYTES)];
            if let Some(content) = Content::of(head, is_end && head.len() == filled) {
                return Err(input_error(content.to_string()));
            }
        }
        bytes += filled as u64;
        let left_over = filled % record_bytes;
        if left_over > 0 {
            return Err(input_error(format!(
                "its {bytes} bytes are no multiple of the record's {record_bytes}: {left_over} \
                 bytes are left over; is the format right (-f, --record), and did who wrote them \
                 come to the end?"
            )));
        }
        tally.extend(&buffer[..filled], record_bytes);
        observer.advance(filled as u64);
        if is_end {
            break;
        }
    }
    let (checksum, part) = match tally {
        Tally::Sum(checksum) => (checksum, None),
        Tally::Order(part) => (part.checksum(), Some(part)),
    };
    Ok(VerifyReport { records: checksum.records(), bytes, checksum, part })
}

/// Reads until the buffer is full, the stream ends, or the job is cancelled. Returns the number of
/// bytes read.
fn fill(
    stream: &mut impl Read,
    buffer: &mut [u8],
    observer: &dyn Observer,
) -> Result<usize, std::io::Error> {
    let mut filled = 0;
    while filled < buffer.len() && !observer.is_cancelled() {
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Cancelling the job interrupts a read that waits.
            Err(_) if observer.is_cancelled() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
