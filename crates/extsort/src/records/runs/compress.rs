//! Compressing the blocks of runs. The thread that fills a block compresses it on its own, and the
//! first thread that needs its records decompresses it.

use super::run::Block;
use crate::Error;
use crate::job::process::process_cpu_time;
use crate::records::compression::{CompressedBytes, Compression};
use crate::records::job::SortJob;
use crate::store::compression::{Load, broken_block};
use crate::store::seal::check_seal;
use std::sync::atomic::Ordering::Relaxed;

impl SortJob<'_> {
    /// Compresses in place a block whose records have `bytes` bytes, if that pays.
    pub(crate) fn compress(
        &self,
        block: &mut [u8],
        bytes: usize,
    ) -> Result<Option<CompressedBytes>, Error> {
        let Compression { effort, workspaces, .. } = &self.compression;
        let Some(codec) = effort.codec(|| self.load()) else { return Ok(None) };
        let compress = || workspaces.compress(codec, block, bytes);
        let compressed = effort.compress(codec, bytes, self.gauges, compress)?;
        Ok(compressed.map(|compressed| CompressedBytes { codec, bytes: compressed as u32 }))
    }

    /// Checks the seal of a compressed block, and decompresses it in place.
    pub(crate) fn decompress(
        &self,
        block: &Block,
        compressed: CompressedBytes,
        memory: &mut [u8],
    ) -> Result<(), Error> {
        let sealed = block.sealed(self.record_bytes);
        let (scratch, address) = (self.scratch(), sealed.address);
        check_seal(self.disk, scratch, address, &memory[..sealed.bytes], sealed.seal)?;
        let bytes = block.records as usize * self.record_bytes;
        let CompressedBytes { codec, bytes: compressed } = compressed;
        let workspaces = &self.compression.workspaces;
        let decompressed = workspaces.decompress(codec, memory, compressed as usize, bytes);
        decompressed
            .map_err(Error::Codec)?
            .map_err(|reason| broken_block(self.disk, scratch, address, bytes, &reason))
    }

    /// The sort's load so far. While runs are formed, threads wait only for the drive, whether they
    /// read or write.
    fn load(&self) -> Load {
        let times = self.stage_times;
        let spilled_bytes = self.gauges.spilled.bytes.load(Relaxed) as f64;
        Load {
            clock: self.compression.begun.elapsed().as_secs_f64(),
            blocked: times.spill_waits_for_write.seconds_now()
                + times.output_waits_for_write.seconds_now()
                + times.work_waits_for_read.seconds_now(),
            idle: times.merge_waits_for_read.seconds_now(),
            processor: process_cpu_time().as_secs_f64(),
            spilled_bytes,
            progress_bytes: spilled_bytes + self.traffic.moved().read_bytes as f64,
        }
    }
}
