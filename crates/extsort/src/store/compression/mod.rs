//! Compression of blocks on scratch.
//!
//! | file | idea |
//! |---|---|
//! | `codec` | compression and decompression of a block |
//! | `effort` | whether a block is compressed, and how |
//! | `workspace` | compression and decompression in the block's own memory |

mod codec;
mod effort;
mod workspace;

use crate::Error;
use crate::store::scratch::{BlockAddress, Scratch};
use xsort_disk::Disk;

pub(crate) use codec::{BlockCodec, BlockCompressor, BlockDecompressor};
pub(crate) use effort::Effort;
pub use effort::{Codec, Load, Measure};
pub(crate) use workspace::{Workspaces, workspace_bytes};

/// The error for a block on scratch that doesn't decompress to `bytes` bytes.
pub(crate) fn broken_block(
    disk: &dyn Disk,
    scratch: &Scratch<'_>,
    address: BlockAddress,
    bytes: usize,
    reason: &str,
) -> Error {
    let what = format!("a scratch block of {bytes} bytes can't be decompressed: {reason}");
    Error::corrupt(disk, scratch.file(address.drive), address.offset, what)
}
