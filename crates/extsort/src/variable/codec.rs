//! Compression of blocks on scratch: each by itself, by the thread that fills or merges it.

use serde::Serialize;
use std::io;

/// How blocks on scratch are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Codec {
    /// LZ4: less of the processor for more bytes.
    Lz4,
    /// Zstandard: where drives are slow, or space is short.
    Zstd,
}

/// The lowest regular level: the others were not measured
/// (docs/experiments/2026-11-21-lines-compression.md).
const ZSTD_LEVEL: i32 = 1;

impl Codec {
    /// Most bytes of lines in a block of `block_bytes`: what they compress to must fit another such
    /// block, even if it is larger.
    pub(super) fn fill_bytes_max(codec: Option<Codec>, block_bytes: usize) -> usize {
        match codec {
            // LZ4 demands a buffer for its worst case, 10% and 20 bytes more.
            Some(Codec::Lz4) => block_bytes / 16 * 14,
            Some(Codec::Zstd) | None => block_bytes,
        }
    }

    /// Bytes that compressing and decompressing take on a thread beside the blocks.
    pub(super) fn context_bytes(self) -> u64 {
        match self {
            Codec::Lz4 => 64 << 10,
            // With so much left out of the pool the process took no more than without compression
            // (the same record).
            Codec::Zstd => 1 << 20,
        }
    }
}

/// Compresses blocks, one after another.
pub(super) enum BlockCompressor {
    Lz4,
    Zstd(zstd::bulk::Compressor<'static>),
}

impl BlockCompressor {
    pub(super) fn new(codec: Codec) -> io::Result<BlockCompressor> {
        Ok(match codec {
            Codec::Lz4 => BlockCompressor::Lz4,
            Codec::Zstd => BlockCompressor::Zstd(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
        })
    }

    /// Compresses `block` into `compressed`. Returns how many bytes that took; `None` if it can't
    /// be done in fewer pages.
    pub(super) fn compress(&mut self, block: &[u8], compressed: &mut [u8]) -> Option<usize> {
        let bytes = match self {
            BlockCompressor::Lz4 => lz4_flex::block::compress_into(block, compressed).ok()?,
            BlockCompressor::Zstd(compressor) => {
                compressor.compress_to_buffer(block, compressed).ok()?
            }
        };
        (pages(bytes) < pages(block.len())).then_some(bytes)
    }
}

/// Decompresses blocks, one after another.
pub(super) enum BlockDecompressor {
    Lz4,
    Zstd(zstd::bulk::Decompressor<'static>),
}

impl BlockDecompressor {
    pub(super) fn new(codec: Codec) -> io::Result<BlockDecompressor> {
        Ok(match codec {
            Codec::Lz4 => BlockDecompressor::Lz4,
            Codec::Zstd => BlockDecompressor::Zstd(zstd::bulk::Decompressor::new()?),
        })
    }

    /// Decompresses into `block`, which it must fill.
    pub(super) fn decompress(&mut self, compressed: &[u8], block: &mut [u8]) -> Result<(), String> {
        let bytes = match self {
            BlockDecompressor::Lz4 => lz4_flex::block::decompress_into(compressed, block)
                .map_err(|error| error.to_string())?,
            BlockDecompressor::Zstd(decompressor) => decompressor
                .decompress_to_buffer(compressed, block)
                .map_err(|error| error.to_string())?,
        };
        if bytes == block.len() {
            Ok(())
        } else {
            Err(format!("{bytes} bytes instead of {}", block.len()))
        }
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
        for codec in [Codec::Lz4, Codec::Zstd] {
            let most = Codec::fill_bytes_max(Some(codec), block_bytes);
            let mut compressed = vec![0; block_bytes];
            let mut compressor = BlockCompressor::new(codec).unwrap();
            assert_eq!(compressor.compress(&random[..most], &mut compressed), None, "{codec:?}");
            assert_eq!(
                compressor.compress(&alike[..4096], &mut compressed),
                None,
                "a page is a page: {codec:?}"
            );
            let bytes = compressor.compress(&alike[..most], &mut compressed).unwrap();
            assert!(bytes < most / 8, "{codec:?}: {bytes}");
            let mut block = vec![0; most];
            let mut decompressor = BlockDecompressor::new(codec).unwrap();
            decompressor.decompress(&compressed[..bytes], &mut block).unwrap();
            assert!(block == alike[..most]);
            assert!(decompressor.decompress(&compressed[..bytes - 1], &mut block).is_err());
            assert!(decompressor.decompress(&compressed[..bytes], &mut block[1..]).is_err());
        }
    }
}
