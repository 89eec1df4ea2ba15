//! The bytes of a simulated file, as a map of blocks.
//!
//! Files are sparse, so that holes, reserved space and discarded ranges cost what they cost on a
//! drive.

use crate::ALIGNMENT;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Size of a block in bytes.
pub(super) const BLOCK: u64 = ALIGNMENT as u64;

/// The bytes of one block. Shared, so that they can be copied without holding the one lock.
pub(super) type Page = Arc<[u8; ALIGNMENT]>;

/// Copies `bytes` to pages. The last page is padded with zeroes.
pub(super) fn pages(bytes: &[u8]) -> Vec<Page> {
    let page = |chunk: &[u8]| {
        let mut page = [0; ALIGNMENT];
        page[..chunk.len()].copy_from_slice(chunk);
        Arc::new(page)
    };
    bytes.chunks(ALIGNMENT).map(page).collect()
}

/// One block of a file. A block that is not in the map is a hole: it reads as zeroes and takes no
/// space.
#[derive(Clone, Debug)]
enum Block {
    Data(Page),
    /// Space without bytes; reads as zeroes.
    Reserved,
    /// Its space was discarded; reading it is a mistake.
    Discarded,
}

/// A file's length and blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    blocks: BTreeMap<u64, Block>,
    /// The file's length in bytes.
    pub(super) bytes: u64,
    /// All blocks up to this one have space, so that a long file need not be searched whenever it
    /// grows.
    space_end: u64,
}

impl Content {
    /// Returns the space that the file takes, in bytes.
    pub(super) fn space(&self) -> u64 {
        self.blocks.values().filter(|block| !matches!(block, Block::Discarded)).count() as u64
            * BLOCK
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes.next_multiple_of(BLOCK) as usize];
        for (&index, block) in &self.blocks {
            if let Block::Data(data) = block
                && let Some(block) =
                    bytes.get_mut((index * BLOCK) as usize..((index + 1) * BLOCK) as usize)
            {
                block.copy_from_slice(&data[..]);
            }
        }
        bytes.truncate(self.bytes as usize);
        bytes
    }

    /// Creates a file with these bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Content {
        let mut content = Content { bytes: bytes.len() as u64, ..Content::default() };
        content.blocks.extend((0..).zip(pages(bytes).into_iter().map(Block::Data)));
        content
    }

    /// Returns the number of bytes that the file has in a range, and their pages. `None` is a page
    /// of zeroes.
    pub(super) fn read(&self, offset: u64, bytes: usize) -> io::Result<(usize, Vec<Option<Page>>)> {
        let bytes = bytes.min(self.bytes.saturating_sub(offset) as usize);
        let first = offset / BLOCK;
        let mut pages = vec![None; bytes.div_ceil(ALIGNMENT)];
        for (&index, block) in self.blocks.range(first..first + pages.len() as u64) {
            match block {
                Block::Data(page) => pages[(index - first) as usize] = Some(Arc::clone(page)),
                Block::Reserved => {}
                Block::Discarded => {
                    return Err(io::Error::other("the range read was discarded before"));
                }
            }
        }
        Ok((bytes, pages))
    }

    /// Writes `bytes` bytes, any number of sectors, at an aligned offset whose blocks have space.
    /// Bytes of the last page beyond `bytes` are ignored.
    pub(super) fn write(&mut self, offset: u64, mut pages: Vec<Page>, bytes: usize) {
        let tail = bytes % ALIGNMENT;
        let last = offset / BLOCK + pages.len().saturating_sub(1) as u64;
        if let (true, Some(Block::Data(old)), Some(page)) =
            (tail > 0, self.blocks.get(&last), pages.last_mut())
        {
            Arc::make_mut(page)[tail..].copy_from_slice(&old[tail..]);
        }
        self.blocks.extend((offset / BLOCK..).zip(pages.into_iter().map(Block::Data)));
        self.bytes = self.bytes.max(offset + bytes as u64);
    }

    pub(super) fn flip_bit(&mut self, bit: u64) {
        let byte = bit / 8;
        if let Some(Block::Data(data)) = self.blocks.get_mut(&(byte / BLOCK)) {
            Arc::make_mut(data)[(byte % BLOCK) as usize] ^= 1 << (bit % 8);
        }
    }

    pub(super) fn discard(&mut self, offset: u64, bytes: u64) {
        self.space_end = self.space_end.min(offset.div_ceil(BLOCK));
        for index in offset.div_ceil(BLOCK)..(offset + bytes) / BLOCK {
            self.blocks.insert(index, Block::Discarded);
        }
    }

    pub(super) fn truncate(&mut self, bytes: u64) {
        self.blocks.split_off(&bytes.div_ceil(BLOCK));
        self.space_end = self.space_end.min(bytes.div_ceil(BLOCK));
        // If the file grows later, the new bytes must read as zeroes, so the last block's tail is
        // cleared, as a real file system does.
        if let Some(Block::Data(data)) = self.blocks.get_mut(&(bytes / BLOCK)) {
            Arc::make_mut(data)[(bytes % BLOCK) as usize..].fill(0);
        }
        self.bytes = bytes;
    }

    /// Returns the blocks of a range that have no space yet.
    pub(super) fn blocks_without_space(&self, offset: u64, bytes: u64) -> Vec<u64> {
        let (first, end) = (offset / BLOCK, (offset + bytes).div_ceil(BLOCK));
        (first.max(self.space_end)..end)
            .filter(|index| matches!(self.blocks.get(index), None | Some(Block::Discarded)))
            .collect()
    }

    /// Reserves space for `blocks`, which are all blocks of the range without space.
    pub(super) fn reserve(&mut self, offset: u64, bytes: u64, blocks: Vec<u64>) {
        self.blocks.extend(blocks.into_iter().map(|index| (index, Block::Reserved)));
        if offset / BLOCK <= self.space_end {
            self.space_end = self.space_end.max((offset + bytes).div_ceil(BLOCK));
        }
    }
}
