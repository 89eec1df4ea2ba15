//! What every stage of one sort shares: the rule, the plan, the disk, and how the sort ends early.

use super::chunks::Extent;
use super::plan::Plan;
use super::report::{BinReport, ChunkReport};
use super::spool::Spool;
use crate::job::failure::Failure;
use crate::job::stage_times::StageTimes;
use crate::job::traffic::Traffic;
use crate::store::journal::JournalHandle;
use crate::store::output_prefix::OutputPrefix;
use crate::store::scratch::Scratch;
use crate::{Error, Gauges, Observer};
use xsort_disk::{Disk, FileId, Request};
use xsort_kernels::Caches;
use xsort_records::Checksum;

/// From where a sort's records come and where they go, and what was seen of them on the way.
pub(crate) struct SortIo<'a> {
    pub(crate) input_files: &'a [FileId],
    /// Size of each input.
    pub(crate) input_bytes: &'a [u64],
    pub(crate) output_file: FileId,
    /// Of the records read.
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

/// The output, complete but not in place.
pub(crate) struct Sorted {
    /// Of the records that are in it.
    pub(crate) written: Checksum,
    /// All of it.
    pub(crate) prefix: OutputPrefix,
}

/// A sort in progress. Stages borrow it; threads share it.
pub(crate) struct Job<'a, K> {
    pub(crate) key: K,
    pub(crate) record_bytes: usize,
    /// What pieces of a sort in memory are made for.
    pub(crate) caches: Caches,
    pub(crate) plan: &'a Plan,
    pub(crate) disk: &'a dyn Disk,
    /// Scratch, if the plan needs any.
    pub(crate) scratch: Option<Scratch<'a>>,
    /// The input that came from a stream, if there is one.
    pub(crate) spool: Option<Spool>,
    pub(crate) observer: &'a dyn Observer,
    /// What others see of it.
    pub(crate) gauges: &'a Gauges,
    pub(crate) stage_times: &'a StageTimes,
    pub(crate) traffic: &'a Traffic,
    pub(crate) failure: Failure,
    /// Of what is finished, if it is kept.
    pub(crate) notes: JournalHandle<'a>,
}

impl<K> Job<'_, K> {
    /// Gives back what an earlier process has left on scratch and nobody needs. Nothing may be
    /// recalled after this that is there.
    pub(crate) fn reclaim(&self) -> Result<(), Error> {
        self.scratch.as_ref().map_or(Ok(()), Scratch::reclaim)
    }

    /// Scratch, for those who deal with what was spilled.
    pub(crate) fn scratch(&self) -> &Scratch<'_> {
        self.scratch.as_ref().expect("what the plan spills has scratch")
    }

    /// The checksum of a chunk of the inputs, whose records lie together.
    pub(crate) fn checksum_of(&self, extents: &[Extent], mut records: &[u8]) -> Checksum {
        let mut checksum = Checksum::default();
        for extent in extents {
            let (of_extent, rest) = records.split_at(extent.bytes as usize);
            let mut part = Checksum::default();
            part.add_records(of_extent, self.record_bytes);
            checksum.merge(part);
            if let Some(spool) = self.spool.as_ref().filter(|spool| spool.input == extent.file)
                && let Err(broken) = spool.seals.come_back(extent.offset, of_extent)
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

    /// Starts a transfer; whoever takes its completion in tells `traffic`.
    pub(crate) fn submit(&self, request: Request) {
        self.traffic.submit(self.disk, request);
    }

    /// Whether to give up: a stage failed, or the observer asks for it.
    pub(crate) fn should_stop(&self) -> bool {
        if self.observer.is_cancelled() {
            self.failure.set(Error::Cancelled);
        }
        self.failure.is_set()
    }
}
