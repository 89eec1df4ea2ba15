//! Bytes that are only ever appended, in frames of whole pages, and how far what is there can be
//! believed.
//!
//! ```text
//! byte 0            8               16             24             24 + payload   next page
//!      | "XSORTJ1\n" | payload bytes | chain (XXH3) | payload      | zeroes       |
//! ```
//!
//! The chain is the hash of payload and length, seeded with the chain of the frame before: so a
//! frame counts only behind those that it was written behind. The first frame that doesn't is the
//! end, as after a power cut in the middle of an append; what lies behind it is written over.

use super::transfer::transfer;
use crate::Error;
use xsort_disk::{Direction, Disk, FileId, Lease, align_up};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: &[u8; 8] = b"XSORTJ1\n";
const HEAD_BYTES: usize = 24;
/// Bytes of the longest frame.
pub(super) const FRAME_BYTES: usize = 256 << 10;

/// Where the next frame goes, and what it goes behind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    end: u64,
    chain: u64,
}

fn chain(before: u64, payload: &[u8]) -> u64 {
    xxh3_64_with_seed(payload, before ^ payload.len() as u64)
}

/// The payload of a frame and its chain, if the bytes begin with one that follows `before`.
fn frame(bytes: &[u8], before: u64) -> Option<(&[u8], u64)> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let (magic, head) = head.split_at(MAGIC.len());
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let payload = rest.get(..usize::try_from(word(0)).ok()?)?;
    (magic == MAGIC && word(8) == chain(before, payload)).then(|| (payload, word(8)))
}

impl Frames {
    pub(crate) fn empty() -> Frames {
        Frames { end: 0, chain: 0 }
    }

    /// Hands the payloads of all frames that can be believed to `take`, one after the other.
    pub(crate) fn read(
        disk: &dyn Disk,
        file: FileId,
        mut take: impl FnMut(&[u8]),
    ) -> Result<Frames, Error> {
        let mut frames = Frames::empty();
        let file_bytes = disk.file_bytes(file)?;
        let mut lease = Lease::map(FRAME_BYTES)?;
        while frames.end < file_bytes {
            let there = (file_bytes - frames.end).min(FRAME_BYTES as u64) as usize;
            let bytes = align_up(there as u64) as usize;
            lease = transfer(disk, file, Direction::Read, frames.end, bytes, there, lease)?;
            let mut believed = 0;
            while let Some((payload, chain)) =
                frame(&lease[believed.min(there)..there], frames.chain)
            {
                take(payload);
                believed += align_up((HEAD_BYTES + payload.len()) as u64) as usize;
                frames.chain = chain;
            }
            if believed == 0 {
                break;
            }
            frames.end += believed as u64;
        }
        Ok(frames)
    }

    /// Writes bytes behind what is there, as many frames as they take. They are durable when the
    /// file is synced.
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
            lease = transfer(disk, file, Direction::Write, self.end, paged, paged, lease)?;
            self.end += paged as u64;
            self.chain = chain;
        }
        Ok(())
    }
}
