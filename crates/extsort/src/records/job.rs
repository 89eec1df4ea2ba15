//! State that all stages of a sort share: the key, the plan, the disk and the failure.

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
use xsort_kernels::{Caches, RecordKernels};
use xsort_records::Checksum;

/// The files of a sort, and facts about the records read so far.
pub(crate) struct SortIo<'a> {
    pub(crate) input_files: &'a [FileId],
    /// Size of each input in bytes.
    pub(crate) input_bytes: &'a [u64],
    pub(crate) output_file: FileId,
    /// Checksum of the records that were read.
    pub(crate) read: Checksum,
    /// The report of each chunk of the input.
    pub(crate) chunks: Vec<ChunkReport>,
    /// The report of each bin.
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

/// The mutable state of a sort.
pub(crate) struct SortState<'a> {
    pub(crate) io: SortIo<'a>,
    /// The free part of the pool.
    pub(crate) memory: Memory,
    pub(crate) phases: Phases<'a>,
}

/// The output, complete but not published.
pub(crate) struct CompleteOutput {
    /// Checksum of the records in the output.
    pub(crate) checksum: Checksum,
    /// The whole output, as a prefix.
    pub(crate) prefix: OutputPrefix,
}

/// A sort in progress. Stages borrow it; threads share it.
pub(crate) struct SortJob<'a> {
    /// The kernels of the records' key.
    pub(crate) kernels: &'a dyn RecordKernels,
    pub(crate) record_bytes: usize,
    /// Cache sizes, for which sorting in memory is tuned.
    pub(crate) caches: Caches,
    pub(crate) plan: &'a Plan,
    pub(crate) disk: &'a dyn Disk,
    /// Scratch, if the plan needs any.
    pub(crate) scratch: Option<Scratch<'a>>,
    /// State for compressing the blocks of runs.
    pub(crate) compression: Compression,
    /// The spool of the input that came from a stream, if there is one.
    pub(crate) spool: Option<Spool>,
    pub(crate) observer: &'a dyn Observer,
    /// Gauges that observers read.
    pub(crate) gauges: &'a Gauges,
    pub(crate) stage_times: &'a StageTimes,
    pub(crate) traffic: &'a Traffic,
    pub(crate) failure: Failure,
    /// The seed that chooses the places of samples.
    pub(crate) sample_seed: u64,
    /// True if the output is a stream: its ranges are filled in order.
    pub(crate) writes_in_order: bool,
    /// The journal of finished steps, if the sort can be resumed.
    pub(crate) journal: JournalHandle<'a>,
}

impl<'a> SortJob<'a> {
    /// The job with another plan, which needs no scratch, and with a failure of its own, so that
    /// the job can go on if what is tried by this plan fails.
    pub(crate) fn with_plan(&self, plan: &'a Plan) -> Result<SortJob<'a>, Error> {
        Ok(SortJob {
            plan,
            scratch: None,
            compression: Compression::new(None, plan.threads, plan.block_bytes)?,
            spool: None,
            failure: Failure::default(),
            ..*self
        })
    }
}

impl SortJob<'_> {
    /// Frees the scratch space that an earlier process has used and this one doesn't need. After
    /// this, steps with blocks on scratch can no longer be replayed.
    pub(crate) fn reclaim(&self) -> Result<(), Error> {
        self.scratch.as_ref().map_or(Ok(()), Scratch::reclaim)
    }

    /// The scratch of a sort that spills.
    pub(crate) fn scratch(&self) -> &Scratch<'_> {
        self.scratch.as_ref().expect("a sort that spills has scratch")
    }

    /// The checksum of a chunk of the inputs, whose records are contiguous. Checks the seals of
    /// records from the spool.
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

    /// Submits a transfer. The completion's handler counts it in `traffic`.
    pub(crate) fn submit(&self, request: Request) {
        self.traffic.submit(self.disk, request);
    }

    /// True if the job must stop, because a stage has failed or the observer has cancelled it.
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

    /// Runs several reads at once, and passes their bytes to `take` in order.
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
