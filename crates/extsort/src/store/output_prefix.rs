//! The beginning of the output that an earlier process has written: how far it reaches, its
//! checksum, and whether that is what the file holds.
//!
//! A journal says what was on the drive. What is there now may be less, older, or somebody else's:
//! the file was removed or cut, or its file system came back empty after a reboot. So all of it is
//! read before anything is built on it.

use crate::{Error, Observer};
use crossbeam_channel::{Receiver, bounded};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use xsort_disk::{
    ALIGNMENT, Completion, Direction, Disk, FileId, Lease, Request, align_down, align_up,
};

/// The beginning of the output that is written without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputPrefix {
    /// How long it is, the tail included.
    pub(crate) bytes: u64,
    /// CRC-32 of all of it. Parts are made by many threads, and CRCs of neighbours can be put
    /// together.
    pub(crate) crc: u32,
    /// Its last bytes, which are not on the drive yet: those of the page or block that is still
    /// being filled. Whoever resumes writes them, so that nothing is part of the output that was
    /// not compared with the journal.
    pub(crate) tail: Vec<u8>,
}

impl OutputPrefix {
    /// Bytes that are on the drive: whole pages, or all of the output.
    pub(crate) fn durable_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.tail.len() as u64)
    }

    /// Adds the next `bytes` bytes, and their CRC-32 if that is kept.
    pub(crate) fn append(&mut self, crc: Option<u32>, bytes: u64) {
        if let Some(crc) = crc {
            let mut whole = crc32fast::Hasher::new_with_initial_len(self.crc, self.bytes);
            whole.combine(&crc32fast::Hasher::new_with_initial_len(crc, bytes));
            self.crc = whole.finalize();
        }
        self.bytes += bytes;
    }

    /// Whether `file` begins with it. Reads all of it, with `memory_bytes` bytes of memory at most.
    pub(crate) fn is_in(
        &self,
        file: FileId,
        memory_bytes: u64,
        disk: &dyn Disk,
        observer: &dyn Observer,
    ) -> Result<bool, Error> {
        let Some(mut crc) = crc_of(file, self.durable_bytes(), memory_bytes, disk, observer)?
        else {
            return Ok(false);
        };
        crc.update(&self.tail);
        Ok(crc.finalize() == self.crc)
    }
}

/// Reads in flight, so that a drive has always one to do while the last one is hashed.
const READS: usize = 4;
/// Bytes of each at most.
const READ_BYTES_MAX: u64 = 1 << 20;

/// CRC-32 of the first `bytes` bytes of a file; `None` if it is shorter.
pub(crate) fn crc_of(
    file: FileId,
    bytes: u64,
    memory_bytes: u64,
    disk: &dyn Disk,
    observer: &dyn Observer,
) -> Result<Option<crc32fast::Hasher>, Error> {
    let mut crc = crc32fast::Hasher::new();
    if disk.file_bytes(file)? < bytes {
        return Ok(None);
    }
    if bytes == 0 {
        return Ok(Some(crc));
    }
    observer.phase("check output", bytes);
    let read_bytes = align_down(memory_bytes / READS as u64)
        .clamp(ALIGNMENT as u64, READ_BYTES_MAX)
        .min(align_up(bytes));
    let mut starts = (0..bytes).step_by(read_bytes as usize);
    let mut reads: VecDeque<Receiver<Completion>> = VecDeque::with_capacity(READS);
    let start = |offset: u64, lease: Lease| {
        let (reply, completed) = bounded(1);
        let bytes_needed = (bytes - offset).min(read_bytes) as usize;
        disk.submit(Request {
            direction: Direction::Read,
            file,
            offset,
            bytes: align_up(bytes_needed as u64) as usize,
            bytes_needed,
            lease,
            tag: 0,
            reply,
        });
        completed
    };
    for offset in starts.by_ref().take(READS) {
        reads.push_back(start(offset, Lease::map(read_bytes as usize)?));
    }
    while let Some(read) = reads.pop_front() {
        let Completion { result, lease, offset, .. } =
            read.recv().expect("a disk completes every request");
        result?;
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let read = (bytes - offset).min(read_bytes);
        crc.update(&lease[..read as usize]);
        observer.advance(read);
        if let Some(offset) = starts.next() {
            reads.push_back(start(offset, lease));
        }
    }
    Ok(Some(crc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unobserved;
    use xsort_disk::{SimDisk, SimOptions};

    #[test]
    fn a_prefix_is_known_by_all_of_its_bytes() {
        let content: Vec<u8> = (0..300_000u32).map(|byte| (byte % 251) as u8).collect();
        for durable in [0, 4096, 40_960, 286_720] {
            let mut prefix = OutputPrefix::default();
            let bytes = durable + 1000;
            for part in
                [&content[..durable / 3], &content[durable / 3..durable], &content[durable..bytes]]
            {
                prefix.append(Some(crc32fast::hash(part)), part.len() as u64);
            }
            prefix.tail = content[durable..bytes].to_vec();
            assert_eq!(prefix.durable_bytes(), durable as u64);
            let is_in = |there: &[u8]| {
                let disk = SimDisk::new(SimOptions::rough(durable as u64));
                disk.put("/out", there);
                let file = disk.open_input("/out".as_ref()).unwrap();
                prefix.is_in(file, 64 << 10, &disk, &Unobserved).unwrap()
            };
            assert!(is_in(&content));
            assert!(is_in(&content[..durable]));
            if durable > 0 {
                assert!(!is_in(&content[..durable - 1]));
                assert!(!is_in(&vec![0; durable]));
                for at in [0, durable / 2, durable - 1] {
                    let mut other = content.clone();
                    other[at] ^= 1;
                    assert!(!is_in(&other), "byte {at} of {durable}");
                }
            }
        }
    }
}
