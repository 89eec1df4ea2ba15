//! Inputs that don't look like records: they are refused before the sort starts.
//!
//! This applies only if the caller named no format. A caller that names one knows the input.

use crate::job::traffic::Traffic;
use crate::store::ordered_reads::{FileRange, OrderedReads, check_cancelled};
use crate::{Error, Observer};
use std::path::Path;
use xsort_disk::{ALIGNMENT, Disk, FileId, Lease};
use xsort_records::Content;

/// Number of file heads read at the same time: enough for a drive with a queue, or for many drives.
const READS: usize = 64;
/// Bytes read from the beginning of each file.
const HEAD_BYTES: usize = Content::HEAD_BYTES.next_multiple_of(ALIGNMENT);

/// An open input.
#[derive(Clone, Copy)]
pub(crate) struct InputFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) file: FileId,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

/// Refuses an input whose content looks like something other than records. `head` is the input's
/// beginning, or all of it if `is_whole`.
pub(crate) fn check_content(path: &Path, head: &[u8], is_whole: bool) -> Result<(), Error> {
    let shown = head.len().min(Content::HEAD_BYTES);
    match Content::of(&head[..shown], is_whole && shown == head.len()) {
        None => Ok(()),
        Some(content) => Err(Error::Input { path: path.to_owned(), reason: content.to_string() }),
    }
}

/// Reads the beginnings of all inputs, and refuses the first one that doesn't look like records.
pub(crate) fn check_contents(
    disk: &dyn Disk,
    inputs: &[InputFile<'_>],
    observer: &dyn Observer,
) -> Result<(), Error> {
    let inputs = inputs.iter().filter(|input| input.bytes > 0);
    let count = inputs.clone().take(READS).count();
    if count == 0 {
        return Ok(());
    }
    let mut memory = Lease::map(HEAD_BYTES * count)?;
    let buffers = (0..count).map(|_| memory.split_off_front(HEAD_BYTES)).collect();
    let heads = inputs.map(|input| {
        let bytes = input.bytes.min(HEAD_BYTES as u64) as usize;
        (FileRange { file: input.file, offset: 0, bytes }, input)
    });
    let reads = OrderedReads {
        disk,
        traffic: &Traffic::default(),
        check_stop: &|| check_cancelled(observer),
    };
    reads.run(buffers, heads, |input, head| {
        check_content(input.path, head, input.bytes <= HEAD_BYTES as u64)
    })?;
    Ok(())
}
