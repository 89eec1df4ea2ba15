//! Small reads at many offsets of a file.

use crate::error::Error;
use crossbeam_channel::unbounded;
use std::path::Path;
use xsort_disk::{
    ALIGNMENT, Completion, Direction, Disk, FileId, Lease, Request, align_down, align_up,
};

/// Maximum number of reads in flight.
const AT_ONCE: usize = 32;

/// A file that is closed on drop.
struct Opened<'d> {
    disk: &'d dyn Disk,
    file: FileId,
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}

/// Reads `bytes` bytes, or up to the file's end, at each of these offsets. Passes each offset's
/// index and bytes to `found`, in any order.
///
/// # Errors
/// If the file can't be read.
pub(crate) fn read_places(
    disk: &dyn Disk,
    path: &Path,
    offsets: &[u64],
    bytes: u64,
    mut found: impl FnMut(usize, &[u8]),
) -> Result<(), Error> {
    let file = Opened { disk, file: disk.open_input(path)? };
    let file_bytes = disk.file_bytes(file.file)?;
    let numbers: Vec<usize> = (0..offsets.len()).collect();
    for some in numbers.chunks(AT_ONCE) {
        let (reply, completions) = unbounded();
        for &number in some {
            let begin = offsets[number];
            let from = align_down(begin);
            let end = begin.saturating_add(bytes).min(file_bytes).max(begin);
            let length = align_up(end - from).max(ALIGNMENT as u64) as usize;
            disk.submit(Request {
                direction: Direction::Read,
                file: file.file,
                offset: from,
                bytes: length,
                bytes_needed: (end - from) as usize,
                lease: Lease::map(length)?,
                tag: number as u64,
                reply: reply.clone(),
            });
        }
        drop(reply);
        for Completion { lease, tag, result, .. } in completions {
            result?;
            let begin = offsets[tag as usize];
            let from = (begin % ALIGNMENT as u64) as usize;
            let length = bytes.min(file_bytes.saturating_sub(begin)) as usize;
            found(tag as usize, &lease[from..from + length]);
        }
    }
    Ok(())
}
