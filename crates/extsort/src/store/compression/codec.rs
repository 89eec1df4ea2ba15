//! Compression of blocks on scratch. Each block is compressed on its own, by the thread that fills
//! or merges it.

use serde::{Deserialize, Serialize};
use std::io;

/// The codec of a block on scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum BlockCodec {
    Lz4,
    Zstd,
}

/// The lowest regular level. Each negative level is either no faster than LZ4 or compresses less
/// (docs/experiments/2026-11-23-compression-auto.md).
const ZSTD_LEVEL: i32 = 1;

impl BlockCodec {
    /// Maximum bytes of lines in a block of `block_bytes`. Their compressed form must fit another
    /// block of this size even in the worst case.
    pub(crate) fn fill_bytes_max(self, block_bytes: usize) -> usize {
        match self {
            // LZ4 demands a buffer for its worst case: 110% of the input and 20 bytes.
            BlockCodec::Lz4 => block_bytes / 16 * 14,
            BlockCodec::Zstd => block_bytes,
        }
    }

    /// Bytes that a thread needs, beside the blocks, to compress and decompress.
    pub(crate) fn context_bytes(self) -> u64 {
        match self {
            BlockCodec::Lz4 => 64 << 10,
            // With this much left out of the pool, the process took no more memory than without
            // compression (docs/experiments/2026-11-21-lines-compression.md).
            BlockCodec::Zstd => 1 << 20,
        }
    }
}

/// Compresses blocks one after another.
#[derive(Default)]
pub(crate) struct BlockCompressor {
    /// Created for the first block that needs it.
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl BlockCompressor {
    /// Compresses `block` into `compressed`. Returns the number of compressed bytes; `None` if they
    /// take no fewer pages than the block.
    pub(crate) fn compress(
        &mut self,
        codec: BlockCodec,
        block: &[u8],
        compressed: &mut [u8],
    ) -> io::Result<Option<usize>> {
        let bytes = match codec {
            BlockCodec::Lz4 => lz4_flex::block::compress_into(block, compressed).ok(),
            BlockCodec::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
                };
                zstd.compress_to_buffer(block, compressed).ok()
            }
        };
        Ok(bytes.filter(|&bytes| pages(bytes) < pages(block.len())))
    }
}

/// Decompresses blocks one after another.
#[derive(Default)]
pub(crate) struct BlockDecompressor {
    /// Created for the first block that needs it.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl BlockDecompressor {
    /// Decompresses into `block`, which the result must fill exactly. If it doesn't, the inner
    /// error says why.
    pub(crate) fn decompress(
        &mut self,
        codec: BlockCodec,
        compressed: &[u8],
        block: &mut [u8],
    ) -> io::Result<Result<(), String>> {
        let bytes = match codec {
            BlockCodec::Lz4 => lz4_flex::block::decompress_into(compressed, block)
                .map_err(|error| error.to_string()),
            BlockCodec::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    none => none.insert(zstd::bulk::Decompressor::new()?),
                };
                zstd.decompress_to_buffer(compressed, block).map_err(|error| error.to_string())
            }
        };
        Ok(bytes.and_then(|bytes| match bytes == block.len() {
            true => Ok(()),
            false => Err(format!("{bytes} bytes instead of {}", block.len())),
        }))
    }
}

fn pages(bytes: usize) -> u64 {
    xsort_disk::align_up(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_whole_or_are_not_packed() {
        let block_bytes = 64 << 10;
        let alike = b"some words of a log, again and again\n".repeat(3000);
        let mut state = 1u64;
        let random: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(block_bytes)
        .collect();
        for codec in [BlockCodec::Lz4, BlockCodec::Zstd] {
            let most = codec.fill_bytes_max(block_bytes);
            let mut compressed = vec![0; block_bytes];
            let mut compressor = BlockCompressor::default();
            let mut compress = |block: &[u8], compressed: &mut [u8]| {
                compressor.compress(codec, block, compressed).unwrap()
            };
            assert_eq!(compress(&random[..most], &mut compressed), None, "{codec:?}");
            let page = compress(&alike[..4096], &mut compressed);
            assert_eq!(page, None, "a page is a page: {codec:?}");
            let bytes = compress(&alike[..most], &mut compressed).unwrap();
            assert!(bytes < most / 8, "{codec:?}: {bytes}");
            let mut block = vec![0; most];
            let mut decompressor = BlockDecompressor::default();
            let mut decompress = |compressed: &[u8], block: &mut [u8]| {
                decompressor.decompress(codec, compressed, block).unwrap()
            };
            decompress(&compressed[..bytes], &mut block).unwrap();
            assert!(block == alike[..most]);
            assert!(decompress(&compressed[..bytes - 1], &mut block).is_err());
            assert!(decompress(&compressed[..bytes], &mut block[1..]).is_err());
        }
    }
}
