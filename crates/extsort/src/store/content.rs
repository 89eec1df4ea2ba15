//! Inputs that nobody called records of any format, and that look like something else: they are
//! refused before anything is done with them.

use crate::{Error, Observer};
use crossbeam_channel::unbounded;
use std::path::Path;
use xsort_disk::{ALIGNMENT, Direction, Disk, FileId, Lease, Request};
use xsort_records::Content;

/// Files whose beginnings are read at the same time: enough for a drive that is a queue, or many.
const AT_ONCE: usize = 64;

/// An input that is looked at: its name, itself, and its size in bytes.
pub(crate) type Looked<'a> = (&'a Path, FileId, u64);

/// Refuses an input that begins with `head`, or is all of it, if it looks like something else.
pub(crate) fn check_content(path: &Path, head: &[u8], is_whole: bool) -> Result<(), Error> {
    let shown = head.len().min(Content::HEAD_BYTES);
    match Content::of(&head[..shown], is_whole && shown == head.len()) {
        None => Ok(()),
        Some(content) => Err(Error::Input { path: path.to_owned(), reason: content.to_string() }),
    }
}

/// Reads the beginnings of all inputs, and refuses the first of those that look like something
/// else.
pub(crate) fn check_contents(
    disk: &dyn Disk,
    inputs: &[Looked<'_>],
    observer: &dyn Observer,
) -> Result<(), Error> {
    for some in inputs.chunks(AT_ONCE) {
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        check_some(disk, some)?;
    }
    Ok(())
}

fn check_some(disk: &dyn Disk, inputs: &[Looked<'_>]) -> Result<(), Error> {
    const HEAD_BYTES: usize = Content::HEAD_BYTES.next_multiple_of(ALIGNMENT);
    let inputs: Vec<_> = inputs.iter().filter(|(.., bytes)| *bytes > 0).collect();
    if inputs.is_empty() {
        return Ok(());
    }
    let mut memory = Lease::map(HEAD_BYTES * inputs.len())?;
    let (reply, completions) = unbounded();
    for (number, &&(_, file, bytes)) in inputs.iter().enumerate() {
        disk.submit(Request {
            direction: Direction::Read,
            file,
            offset: 0,
            bytes: HEAD_BYTES,
            bytes_needed: bytes.min(HEAD_BYTES as u64) as usize,
            lease: memory.split_off_front(HEAD_BYTES),
            tag: number as u64,
            reply: reply.clone(),
        });
    }
    // All of them, whatever comes: no transfer may outlive the files.
    let mut results: Vec<_> = completions.iter().take(inputs.len()).collect();
    results.sort_unstable_by_key(|completion| completion.tag);
    for (completion, &(path, _, bytes)) in results.into_iter().zip(inputs) {
        completion.result?;
        let head = &completion.lease[..bytes.min(HEAD_BYTES as u64) as usize];
        check_content(path, head, bytes <= HEAD_BYTES as u64)?;
    }
    Ok(())
}
