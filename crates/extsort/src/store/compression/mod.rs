//! Compression of blocks on scratch.
//!
//! | file | idea |
//! |---|---|
//! | `codec` | compression and decompression of a block |
//! | `effort` | whether a block is compressed, and how |
//! | `workspace` | the same in the block's own memory |

mod codec;
mod effort;
mod workspace;

pub(crate) use codec::{BlockCodec, BlockCompressor, BlockDecompressor};
pub(crate) use effort::Effort;
pub use effort::{Codec, Load, Measure};
pub(crate) use workspace::{Workspaces, workspace_bytes};
