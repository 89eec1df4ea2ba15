//! What all threads of a sort need to compress the blocks of runs on scratch.

use crate::Error;
use crate::store::compression::{BlockCodec, Codec, Effort, Workspaces};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What a block was compressed to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct CompressedBytes {
    pub(crate) codec: BlockCodec,
    /// How many bytes, from the block's first one on.
    pub(crate) bytes: u32,
}

/// What all threads of a sort need to compress blocks.
pub(crate) struct Compression {
    pub(crate) effort: Effort,
    pub(crate) workspaces: Workspaces,
    /// When the sort began.
    pub(crate) begun: Instant,
}

impl Compression {
    /// For so many threads, and blocks of so many bytes. Without a codec it takes no memory.
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
