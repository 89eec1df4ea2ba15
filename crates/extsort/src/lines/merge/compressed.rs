//! Compressed blocks, between their read from scratch and their decompression by the merging
//! threads.

use super::super::block::SpilledBlock;
use super::super::job::LinesJob;
use crate::Error;
use crate::store::compression::{BlockCodec, BlockDecompressor, broken_block};
use crate::store::seal::check_seal;
use xsort_disk::Lease;

/// A block that was read and must be decompressed.
pub(crate) struct CompressedBlock<'r> {
    pub(crate) run: usize,
    /// The block's number in the run.
    pub(crate) number: usize,
    pub(crate) block: &'r SpilledBlock,
    pub(crate) codec: BlockCodec,
    pub(crate) pages: Lease,
    pub(crate) pages_bytes: usize,
    /// Memory for its lines.
    pub(crate) to: Lease,
}

/// A block that was decompressed.
pub(crate) struct DecompressedBlock {
    pub(crate) run: usize,
    pub(crate) number: usize,
    pub(crate) lease: Lease,
}

impl CompressedBlock<'_> {
    /// Checks the block's seal and decompresses it.
    pub(crate) fn decompress(
        mut self,
        job: &LinesJob<'_>,
        decompressor: &mut BlockDecompressor,
    ) -> Result<DecompressedBlock, Error> {
        let (scratch, address) = (job.scratch()?, self.block.address);
        let pages = &self.pages[..self.pages_bytes];
        check_seal(job.disk, scratch, address, pages, self.block.checksum)?;
        let bytes = self.block.bytes as usize;
        let compressed = &pages[..self.block.compressed_bytes as usize];
        let to = &mut self.to[..bytes];
        let decompressed = decompressor.decompress(self.codec, compressed, to);
        decompressed
            .map_err(Error::Codec)?
            .map_err(|reason| broken_block(job.disk, scratch, address, bytes, &reason))?;
        Ok(DecompressedBlock { run: self.run, number: self.number, lease: self.to })
    }
}
