//! Compression and decompression of blocks in their own memory. Each thread needs one buffer, and
//! blocks need none.

use super::codec::{BlockCodec, BlockCompressor, BlockDecompressor};
use parking_lot::Mutex;
use std::io;
use xsort_disk::{ALIGNMENT, Lease, align_up};

/// Size of a thread's buffer for blocks of `block_bytes` bytes. LZ4 demands a buffer for its worst
/// case: 110% of the input and 20 bytes.
pub(crate) fn workspace_bytes(block_bytes: u64) -> u64 {
    align_up(block_bytes + block_bytes / 8 + ALIGNMENT as u64)
}

/// Buffers and codecs for compression in place, one for each thread.
#[derive(Default)]
pub(crate) struct Workspaces {
    free: Mutex<Vec<Workspace>>,
}

struct Workspace {
    buffer: Lease,
    compressor: BlockCompressor,
    decompressor: BlockDecompressor,
}

impl Workspaces {
    /// Workspaces for `threads` threads and blocks of `block_bytes` bytes.
    pub(crate) fn new(threads: usize, block_bytes: u64) -> Result<Workspaces, xsort_disk::Error> {
        let bytes = workspace_bytes(block_bytes) as usize;
        let workspace = |_| {
            let (compressor, decompressor) = Default::default();
            Ok(Workspace { buffer: Lease::map(bytes)?, compressor, decompressor })
        };
        let free = (0..threads).map(workspace).collect::<Result<_, _>>()?;
        Ok(Workspaces { free: Mutex::new(free) })
    }

    /// Compresses the first `bytes` bytes of a block in place. Returns the compressed size; `None`,
    /// with the block unchanged, if that saves no page.
    pub(crate) fn compress(
        &self,
        codec: BlockCodec,
        block: &mut [u8],
        bytes: usize,
    ) -> io::Result<Option<usize>> {
        let compressed = self.with(|Workspace { buffer, compressor, .. }| {
            let compressed = compressor.compress(codec, &block[..bytes], buffer)?;
            if let Some(compressed) = compressed {
                block[..compressed].copy_from_slice(&buffer[..compressed]);
            }
            Ok(compressed)
        });
        compressed.expect("who compresses has planned a workspace for each thread")
    }

    /// Decompresses the first `compressed` bytes of a block in place, to `bytes` bytes. The inner
    /// error says why the result has another size.
    pub(crate) fn decompress(
        &self,
        codec: BlockCodec,
        block: &mut [u8],
        compressed: usize,
        bytes: usize,
    ) -> io::Result<Result<(), String>> {
        let no_memory = || Ok(Err("the plan has no memory for it".into()));
        if compressed.max(bytes) > block.len() {
            return no_memory();
        }
        let decompressed = self.with(|Workspace { buffer, decompressor, .. }| {
            let buffer = &mut buffer[..compressed];
            buffer.copy_from_slice(&block[..compressed]);
            decompressor.decompress(codec, buffer, &mut block[..bytes])
        });
        decompressed.unwrap_or_else(no_memory)
    }

    /// Calls `work` with a free workspace. Returns `None` if no workspace was planned: each thread
    /// has one, or none has.
    fn with<T>(&self, work: impl FnOnce(&mut Workspace) -> T) -> Option<T> {
        let mut workspace = self.free.lock().pop()?;
        let result = work(&mut workspace);
        self.free.lock().push(workspace);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_compressed_and_decompressed_where_it_is() {
        let block_bytes = 16 << 10;
        let workspaces = Workspaces::new(1, block_bytes as u64).unwrap();
        for codec in [BlockCodec::Lz4, BlockCodec::Zstd] {
            let plain: Vec<u8> = (0..block_bytes).map(|at| (at / 100) as u8).collect();
            let mut block = plain.clone();
            let compressed = workspaces.compress(codec, &mut block, block_bytes).unwrap().unwrap();
            assert!(compressed < block_bytes / 4 && block[..compressed] != plain[..compressed]);
            workspaces.decompress(codec, &mut block, compressed, block_bytes).unwrap().unwrap();
            assert!(block == plain, "{codec:?}");

            let mut random = xsort_testing::Random::new(1);
            let noise = random.bytes(block_bytes);
            let mut block = noise.clone();
            assert_eq!(workspaces.compress(codec, &mut block, block_bytes).unwrap(), None);
            assert!(block == noise, "{codec:?}");
        }
    }

    /// Sizes that a forged journal may contain.
    #[test]
    fn what_no_plan_has_memory_for_is_refused() {
        let mut block = vec![0; 4096];
        let mut is_refused = |workspaces: &Workspaces, compressed, bytes| {
            let codec = BlockCodec::Lz4;
            workspaces.decompress(codec, &mut block, compressed, bytes).unwrap().is_err()
        };
        assert!(is_refused(&Workspaces::default(), 100, 4096));
        let workspaces = Workspaces::new(1, 4096).unwrap();
        assert!(is_refused(&workspaces, 4097, 4096) && is_refused(&workspaces, 100, 4097));
    }
}
