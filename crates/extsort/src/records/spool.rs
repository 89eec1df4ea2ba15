//! The spool: a stream, read to its end before the sort is planned. A stream can't be read by
//! ranges, and the plan needs its size, which isn't known before its end.
//!
//! The stream goes to a nameless file in memory as long as everything can be sorted in memory. A
//! larger stream moves in full to a nameless file in scratch, so it is written and read once more
//! than a file would be. The first pass frees the spool's space as it reads (`filler.rs`): areas
//! take over the memory, and runs the scratch. Every block is sealed when it is written, and the
//! seals are checked as chunks are read (`SortJob::checksum_of`).

use super::options::SortOptions;
use super::plan::{BLOCK_BYTES_MAX, PAGE};
use super::spool_seals::{DamagedBlock, Seals};
use super::spooler::{BLOCKS, Spooler};
use crate::store::content::check_content;
use crate::store::open_files::OpenFiles;
use crate::{Error, Observer};
use serde::Serialize;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;
use xsort_disk::{Disk, FileId, align_down, align_up};

/// Space on a drive is freed in steps of this many bytes; see
/// [`discard`](xsort_disk::ScratchFiles::discard).
const GIVE_BACK_BYTES: u64 = 64 << 20;

/// An input that is read from a stream.
pub struct Stream {
    /// The stream's number among [`SortOptions::inputs`]. The path there is only a name for
    /// messages.
    pub input: usize,
    /// The source. A read that waits should regularly check whether the job was cancelled, and fail
    /// if so.
    pub read: Box<dyn Read + Send>,
}

/// How a stream was spooled.
#[derive(Clone, Debug, Serialize)]
pub struct SpoolReport {
    /// Length of the stream in bytes.
    pub bytes: u64,
    /// The scratch directory that the stream was written to; `None` if it stayed in memory.
    #[serde(serialize_with = "lossy_path")]
    pub directory: Option<PathBuf>,
    /// Seconds until the stream's end. The sort's own seconds don't include them.
    pub seconds: f64,
}

fn lossy_path<S: serde::Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

/// A stream that has been read to its end.
pub(crate) struct Spool {
    /// The spool's file, which the caller closes.
    pub(crate) file: FileId,
    /// The number of the input.
    pub(crate) input: usize,
    /// The seals of the spool's blocks.
    pub(crate) seals: Seals,
    pub(crate) report: SpoolReport,
}

impl Spool {
    /// The error for a damaged block.
    pub(crate) fn corrupt(&self, disk: &dyn Disk, damaged: &DamagedBlock) -> Error {
        let DamagedBlock { offset, bytes, written, read } = damaged;
        let what = format!(
            "{bytes} bytes of what came from a stream were kept with checksum {written:08x} \
             and read with {read:08x}"
        );
        Error::corrupt(disk, self.file, *offset, what)
    }

    /// The number of bytes to free at a time. For memory it is as small as possible, since no
    /// transfers wait for that.
    pub(crate) fn give_back_bytes(&self) -> u64 {
        if self.report.directory.is_some() { GIVE_BACK_BYTES } else { 1 }
    }

    /// Bytes of scratch that are certainly free after the first pass.
    pub(crate) fn returned_bytes(&self) -> u64 {
        self.report.bytes.saturating_sub(2 * GIVE_BACK_BYTES)
    }
}

/// Reads the stream to its end. Up to `memory_bytes` bytes stay in memory.
pub(crate) fn spool<'a>(
    stream: Stream,
    memory_bytes: u64,
    options: &SortOptions,
    directories: &[PathBuf],
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<(Spool, OpenFiles<'a>), Error> {
    let begun_at = Instant::now();
    let Stream { input, mut read } = stream;
    let name = &options.inputs[input];
    observer.phase("spool", 0);
    let block_bytes = align_down(options.budget_bytes / BLOCKS).clamp(PAGE, BLOCK_BYTES_MAX);
    let mut spooler = Spooler::new(disk, observer, directories, block_bytes)?;
    let mut seals = Seals::new(block_bytes);
    let mut bytes = 0;
    loop {
        let mut block = spooler.take()?;
        let filled = fill(&mut *read, &mut block, name, observer)?;
        if options.format_is_assumed && bytes == 0 {
            check_content(name, &block[..filled], filled < block.len())?;
        }
        if spooler.directory.is_none() && bytes + filled as u64 > memory_bytes {
            spooler.move_to_scratch(bytes)?;
        }
        let is_end = filled < block.len();
        if filled > 0 {
            seals.push(&block[..filled]);
            block[filled..].fill(0);
            spooler.write(block, bytes)?;
        }
        bytes += filled as u64;
        if is_end {
            break;
        }
    }
    spooler.flush()?;
    // Space that was reserved and not needed is free for runs again.
    disk.set_bytes(spooler.file, align_up(bytes))?;
    let record_bytes = options.layout.record_bytes() as u64;
    let left_over = bytes % record_bytes;
    if left_over > 0 {
        return Err(Error::Input {
            path: name.clone(),
            reason: format!(
                "its {bytes} bytes are no multiple of the record's {record_bytes}: \
                 {left_over} bytes are left over; \
                 is the format right (-f, --record), and did who wrote them come to the end?"
            ),
        });
    }
    let Spooler { file, guard, directory, .. } = spooler;
    let report = SpoolReport { bytes, directory, seconds: begun_at.elapsed().as_secs_f64() };
    Ok((Spool { file, input, seals, report }, guard))
}

/// Reads until the block is full or the stream ends. Returns the number of bytes read.
fn fill(
    read: &mut dyn Read,
    block: &mut [u8],
    name: &Path,
    observer: &dyn Observer,
) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < block.len() {
        let result = read.read(&mut block[filled..]);
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match result {
            Ok(0) => break,
            Ok(bytes) => {
                filled += bytes;
                observer.advance(bytes as u64);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Error::Input {
                    path: name.to_owned(),
                    reason: format!("reading failed: {error}"),
                });
            }
        }
    }
    Ok(filled)
}
