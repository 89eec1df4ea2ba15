//! Frames: an append-only format of whole pages, in which a reader can tell how far the data is
//! valid.
//!
//! ```text
//! byte 0            8               16             24             24 + payload   next page
//!      | "XSORTJ1\n" | payload bytes | chain (XXH3) | payload      | zeroes       |
//! ```
//!
//! The chain is the hash of payload and length, seeded with the chain of the preceding frame. So a
//! frame is valid only after the frame that it was appended to. The first invalid frame is the end,
//! for example after a power cut during an append. The next append overwrites it.

use crate::Error;
use crate::store::transfer::transfer;
use xsort_disk::{Direction, Disk, FileId, Lease, align_up};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: &[u8; 8] = b"XSORTJ1\n";
const HEAD_BYTES: usize = 24;
/// Size of the longest frame in bytes.
pub(super) const FRAME_BYTES: usize = 256 << 10;

/// The end of the last frame, and its chain, which the next frame continues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    end: u64,
    chain: u64,
}

fn chain(before: u64, payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, before ^ payload.len() as u64)
}

/// Parses a frame that continues the chain `before`. Returns its payload and its chain.
fn frame(bytes: &[u8], before: u64) -> Option<(&[u8], u64)> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let (magic, head) = head.split_at(MAGIC.len());
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let payload = rest.get(..usize::try_from(word(0)).ok()?)?;
    (magic == MAGIC && word(8) == chain(before, payload)).then(|| (payload, word(8)))
}

impl Frames {
    /// The frames of an empty file.
    pub(crate) fn empty() -> Frames {
        Frames { end: 0, chain: 0 }
    }

    /// Passes the payloads of all valid frames to `take`, in order. `take` returns true if its data
    /// is complete with this payload. Frames of incomplete data at the end were being appended when
    /// the process died: the next append overwrites them.
    pub(crate) fn read(
        disk: &dyn Disk,
        file: FileId,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<Frames, Error> {
        let mut frames = Frames::empty();
        let mut complete = frames;
        let file_bytes = disk.file_bytes(file)?;
        let mut lease = Lease::map(FRAME_BYTES)?;
        while frames.end < file_bytes {
            let there = (file_bytes - frames.end).min(FRAME_BYTES as u64) as usize;
            lease = transfer(disk, file, Direction::Read, frames.end, there, lease)?;
            let mut valid = 0;
            while let Some((payload, chain)) = frame(&lease[valid.min(there)..there], frames.chain)
            {
                valid += align_up((HEAD_BYTES + payload.len()) as u64) as usize;
                frames.chain = chain;
                if take(payload) {
                    complete = Frames { end: frames.end + valid as u64, chain };
                }
            }
            if valid == 0 {
                break;
            }
            frames.end += valid as u64;
        }
        Ok(complete)
    }

    /// Appends bytes, divided into several frames if needed. They are durable once the file is
    /// synced.
    pub(crate) fn append(
        &mut self,
        disk: &dyn Disk,
        file: FileId,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let mut lease = Lease::map(
            align_up((HEAD_BYTES + bytes.len()) as u64).min(FRAME_BYTES as u64) as usize,
        )?;
        for payload in bytes.chunks(FRAME_BYTES - HEAD_BYTES) {
            let chain = chain(self.chain, payload);
            let used = HEAD_BYTES + payload.len();
            let paged = align_up(used as u64) as usize;
            lease[..8].copy_from_slice(MAGIC);
            lease[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
            lease[16..24].copy_from_slice(&chain.to_le_bytes());
            lease[HEAD_BYTES..used].copy_from_slice(payload);
            lease[used..paged].fill(0);
            lease = transfer(disk, file, Direction::Write, self.end, paged, lease)?;
            self.end += paged as u64;
            self.chain = chain;
        }
        Ok(())
    }
}
