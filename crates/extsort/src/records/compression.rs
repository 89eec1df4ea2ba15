//! Shared state for compressing the blocks of runs on scratch.

use crate::Error;
use crate::store::compression::{BlockCodec, Codec, Effort, Workspaces};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The codec and compressed size of a block.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct CompressedBytes {
    pub(crate) codec: BlockCodec,
    /// Compressed size in bytes, from the block's first byte on.
    pub(crate) bytes: u32,
}

/// Shared state of all threads for compressing blocks.
pub(crate) struct Compression {
    pub(crate) effort: Effort,
    pub(crate) workspaces: Workspaces,
    /// The time at which the sort began.
    pub(crate) begun: Instant,
}

impl Compression {
    /// State for `threads` threads and blocks of `block_bytes` bytes. Without a codec it takes no
    /// memory.
    pub(crate) fn new(
        codec: Option<Codec>,
        threads: usize,
        block_bytes: u64,
    ) -> Result<Compression, Error> {
        let workspaces = match codec {
            Some(_) => Workspaces::new(threads, block_bytes)?,
            None => Workspaces::default(),
        };
        Ok(Compression { effort: Effort::new(codec, threads), workspaces, begun: Instant::now() })
    }
}
