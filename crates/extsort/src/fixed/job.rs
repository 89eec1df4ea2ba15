//! What all stages of a sort share: the key, the plan, the disk, and how the sort fails.

use super::chunks::Extent;
use super::compression::Compression;
use super::memory::Memory;
use super::phases::Phases;
use super::plan::Plan;
use super::report::{BinReport, ChunkReport};
use super::spool::Spool;
use crate::job::failure::Failure;
use crate::job::stage_times::StageTimes;
use crate::job::traffic::Traffic;
use crate::store::journal::JournalHandle;
use crate::store::ordered_reads::{FileRange, OrderedReads};
use crate::store::output_prefix::OutputPrefix;
use crate::store::scratch::Scratch;
use crate::{Error, Gauges, Observer};
use xsort_disk::{Disk, FileId, Lease, Request};
use xsort_kernels::Caches;
use xsort_records::Checksum;

/// Where the records of a sort come from and go to, and what is known of those that were read.
pub(crate) struct SortIo<'a> {
    pub(crate) input_files: &'a [FileId],
    /// Size of each input.
    pub(crate) input_bytes: &'a [u64],
    pub(crate) output_file: FileId,
    /// Of the records that were read.
    pub(crate) read: Checksum,
    /// What was done with each chunk of the input.
    pub(crate) chunks: Vec<ChunkReport>,
    /// What was done with each bin.
    pub(crate) bins: Vec<BinReport>,
}

impl<'a> SortIo<'a> {
    pub(crate) fn new(
        input_files: &'a [FileId],
        input_bytes: &'a [u64],
        output_file: FileId,
    ) -> Self {
        let (read, chunks, bins) = (Checksum::default(), Vec::new(), Vec::new());
        SortIo { input_files, input_bytes, output_file, read, chunks, bins }
    }
}

/// What changes while a sort goes on.
pub(crate) struct SortState<'a> {
    pub(crate) io: SortIo<'a>,
    /// The free part of the pool.
    pub(crate) memory: Memory,
    pub(crate) phases: Phases<'a>,
}

/// The output, complete but not in place.
pub(crate) struct CompleteOutput {
    /// Of the records in it.
    pub(crate) checksum: Checksum,
    /// All of it.
    pub(crate) prefix: OutputPrefix,
}

/// A sort in progress. Stages borrow it; threads share it.
pub(crate) struct SortJob<'a, K> {
    pub(crate) key: K,
    pub(crate) record_bytes: usize,
    /// The caches that sorting in memory is tuned for.
    pub(crate) caches: Caches,
    pub(crate) plan: &'a Plan,
    pub(crate) disk: &'a dyn Disk,
    /// Scratch, if the plan needs any.
    pub(crate) scratch: Option<Scratch<'a>>,
    /// Of the blocks of runs.
    pub(crate) compression: Compression,
    /// The input that came from a stream, if there is one.
    pub(crate) spool: Option<Spool>,
    pub(crate) observer: &'a dyn Observer,
    /// What observers read of it.
    pub(crate) gauges: &'a Gauges,
    pub(crate) stage_times: &'a StageTimes,
    pub(crate) traffic: &'a Traffic,
    pub(crate) failure: Failure,
    /// Chooses the places of samples.
    pub(crate) sample_seed: u64,
    /// The output is a stream: its ranges are filled one after the other.
    pub(crate) writes_in_order: bool,
    /// Of finished steps, if the sort can be resumed.
    pub(crate) journal: JournalHandle<'a>,
}

impl<K> SortJob<'_, K> {
    /// Gives back the space on scratch that an earlier process has used and this one doesn't need.
    /// No step whose blocks are there may be replayed after this.
    pub(crate) fn reclaim(&self) -> Result<(), Error> {
        self.scratch.as_ref().map_or(Ok(()), Scratch::reclaim)
    }

    /// Scratch, for what was spilled.
    pub(crate) fn scratch(&self) -> &Scratch<'_> {
        self.scratch.as_ref().expect("a sort that spills has scratch")
    }

    /// The checksum of a chunk of the inputs, whose records lie together. Checks the seals of what
    /// comes from the spool.
    pub(crate) fn checksum_of(&self, extents: &[Extent], mut records: &[u8]) -> Checksum {
        let mut checksum = Checksum::default();
        for extent in extents {
            let (of_extent, rest) = records.split_at(extent.bytes as usize);
            checksum.add_records(of_extent, self.record_bytes);
            if let Some(spool) = self.spool.as_ref().filter(|spool| spool.input == extent.file)
                && let Err(broken) = spool.seals.check(extent.offset, of_extent)
            {
                self.failure.set(spool.corrupt(self.disk, &broken));
            }
            records = rest;
        }
        checksum
    }

    /// Records in a full block on scratch.
    pub(crate) fn block_records(&self) -> usize {
        self.plan.block_bytes as usize / self.record_bytes
    }

    /// Starts a transfer. The code that handles its completion counts it in `traffic`.
    pub(crate) fn submit(&self, request: Request) {
        self.traffic.submit(self.disk, request);
    }

    /// Whether to stop: a stage has failed, or the observer has cancelled the job.
    pub(crate) fn should_stop(&self) -> bool {
        if self.observer.is_cancelled() {
            self.failure.set(Error::Cancelled);
        }
        self.failure.is_set()
    }

    /// Fails if the job [should stop](SortJob::should_stop).
    pub(crate) fn check_stop(&self) -> Result<(), Error> {
        if self.should_stop() { self.failure.check() } else { Ok(()) }
    }

    /// Several reads in flight, whose bytes come in order.
    pub(crate) fn read_in_order<T>(
        &self,
        buffers: Vec<Lease>,
        ranges: impl Iterator<Item = (FileRange, T)>,
        take: impl FnMut(T, &[u8]) -> Result<(), Error>,
    ) -> Result<Vec<Lease>, Error> {
        let check_stop = || self.check_stop();
        let reads =
            OrderedReads { disk: self.disk, traffic: self.traffic, check_stop: &check_stop };
        reads.run(buffers, ranges, take)
    }
}
