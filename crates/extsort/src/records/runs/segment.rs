//! Segments of a merge, built from the forecast's blocks as they arrive from scratch.

use super::cut::Cut;
use super::forecast::RunBlock;
use super::run::{Block, Run};
use crate::Error;
use crate::records::job::SortJob;
use crate::store::seal::check_seal;
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use xsort_disk::Lease;

/// A spilled block that has been read.
#[derive(Debug)]
pub(crate) struct LoadedBlock {
    /// The compressed block as read, until a thread needs its records.
    compressed: Mutex<Option<Lease>>,
    /// The memory with the block's records; `None` if they can't be decompressed.
    records: OnceLock<Option<Lease>>,
    /// Offset of the first record.
    lead: usize,
}

impl LoadedBlock {
    /// A block of `run` that was read into `lease`.
    pub(crate) fn new(job: &SortJob<'_>, run: &Run, block: usize, lease: Lease) -> LoadedBlock {
        let lead = run.lead(block, job.record_bytes);
        let block = &run.index.blocks()[block];
        match block.compressed {
            None => {
                let records = OnceLock::from(Some(lease));
                LoadedBlock { compressed: Mutex::new(None), records, lead }
            }
            Some(_) => {
                let compressed = Mutex::new(Some(lease));
                LoadedBlock { compressed, records: OnceLock::new(), lead }
            }
        }
    }

    /// The block's records. If they must be decompressed, checks the seal first.
    pub(crate) fn records(&self, job: &SortJob<'_>, block: &Block) -> Result<&[u8], Error> {
        let decompress = || {
            let (mut lease, compressed) = self.compressed.lock().take().zip(block.compressed)?;
            match job.decompress(block, compressed, &mut lease) {
                Ok(()) => Some(lease),
                Err(error) => {
                    job.failure.set(error);
                    None
                }
            }
        };
        let lease = self.records.get_or_init(decompress).as_ref();
        // The thread that tried to decompress it has set the failure.
        let lease = lease.ok_or(Error::Cancelled)?;
        Ok(&lease[self.lead..][..block.records as usize * job.record_bytes])
    }

    /// Checks a block of `run`, which has `records`: an uncompressed one on scratch by its seal and
    /// the index, and that of an input by its order.
    ///
    /// # Errors
    /// If it isn't the block that was written, or its records aren't in order.
    pub(crate) fn check(
        &self,
        job: &SortJob<'_>,
        run: &Run,
        block: usize,
        records: &[u8],
    ) -> Result<(), Error> {
        if let Some(input) = run.input() {
            let (first, limit) = (run.index.key(block), run.index.limit(block));
            return input.check(job, records, first, limit);
        }
        self.check_seal(job, &run.index.blocks()[block])?;
        run.index.check(job.kernels, block, records, job.record_bytes)
    }

    /// Checks the seal of an uncompressed block.
    fn check_seal(&self, job: &SortJob<'_>, block: &Block) -> Result<(), Error> {
        let sealed = block.sealed(job.record_bytes);
        match (block.compressed, self.records.get()) {
            (None, Some(Some(lease))) => {
                let pages = &lease[..sealed.bytes];
                check_seal(job.disk, job.scratch(), sealed.address, pages, sealed.seal)
            }
            _ => Ok(()),
        }
    }
}

/// A run's share of a segment: its blocks that may have records there.
pub(crate) struct RunShare {
    pub(crate) run: usize,
    /// Number of the block that the segment's first cut divides, or of the run's first block.
    pub(crate) first: usize,
    /// Number of the block that the segment's last cut divides.
    pub(crate) last: usize,
    /// Index of the first block in the segment's `loaded` blocks, unless the run is resident.
    loaded_from: usize,
}

/// The records between two cuts, with everything that a thread needs to find the cuts and to merge.
pub(crate) struct Segment {
    /// Number of the segment, from 0 in the order of the output.
    pub(crate) number: usize,
    /// The block with whose first record the segment begins.
    pub(crate) first: RunBlock,
    /// The block whose first record ends the segment; `None` for the last segment.
    pub(crate) next: Option<RunBlock>,
    /// The runs' shares, in the order of the runs. Runs that begin after the segment, or have ended
    /// before it, are left out.
    pub(crate) shares: Vec<RunShare>,
    /// Number of records before the last blocks of all shares.
    pub(crate) records_passed: u64,
    loaded: Vec<Arc<LoadedBlock>>,
    /// Number of the forecast's blocks up to the segment's end.
    pub(crate) sources: usize,
    /// Receives the cut from the thread with the preceding segment.
    pub(crate) start: Receiver<Arc<Cut>>,
    /// Sends the cut to the thread with the next segment.
    pub(crate) end: Sender<Arc<Cut>>,
}

impl Segment {
    /// The blocks of a share in memory: all of them, if the run is spilled.
    pub(crate) fn blocks(&self, share: &RunShare) -> &[Arc<LoadedBlock>] {
        &self.loaded[share.loaded_from..][..share.last + 1 - share.first]
    }
}

/// How far the blocks of a run have been put into segments.
#[derive(Default)]
struct RunFront {
    /// Number of blocks of this run so far.
    begun: usize,
    /// The number of these that came before the segment being built.
    begun_before: usize,
    /// The last block before the segment being built, then the segment's own. Empty for a resident
    /// run.
    loaded: Vec<Arc<LoadedBlock>>,
    /// True if no later segment has records of this run.
    is_over: bool,
}

/// Builds segments one after another.
pub(crate) struct SegmentBuilder<'a> {
    runs: &'a [Run],
    fronts: Vec<RunFront>,
    begun: usize,
    records_passed: u64,
    start: Receiver<Arc<Cut>>,
}

impl<'a> SegmentBuilder<'a> {
    pub(crate) fn new(runs: &'a [Run]) -> Self {
        let fronts = runs.iter().map(|_| RunFront::default()).collect();
        let (first, start) = bounded(1);
        first.send(Arc::new(Cut::start(runs.len()))).expect("the channel is empty");
        SegmentBuilder { runs, fronts, begun: 0, records_passed: 0, start }
    }

    /// Number of segments built so far.
    pub(crate) fn begun(&self) -> usize {
        self.begun
    }

    /// Skips the blocks of a run that an earlier process has merged. `loaded` is the block in which
    /// the skipped records end. There is none if the run `is_over`.
    pub(crate) fn skip(
        &mut self,
        run: usize,
        last: usize,
        loaded: Option<Arc<LoadedBlock>>,
        is_over: bool,
    ) {
        let blocks = self.runs[run].index.blocks();
        let records =
            |blocks: &[Block]| blocks.iter().map(|block| u64::from(block.records)).sum::<u64>();
        let front = &mut self.fronts[run];
        front.begun = last + 1;
        // As if this were the only block of the segment that ends here.
        front.begun_before = last + 1;
        front.loaded.extend(loaded);
        front.is_over = is_over;
        self.records_passed += records(&blocks[..if is_over { last + 1 } else { last }]);
    }

    /// Adds the next block of the forecast. `loaded` is its memory, unless its run is resident.
    pub(crate) fn push(&mut self, run: usize, loaded: Option<Arc<LoadedBlock>>) {
        let front = &mut self.fronts[run];
        if front.begun > 0 {
            self.records_passed +=
                u64::from(self.runs[run].index.blocks()[front.begun - 1].records);
        }
        front.begun += 1;
        front.loaded.extend(loaded);
    }

    /// Ends the segment that begins with block `first`. It ends before block `next`, or at the end
    /// of the merge if that is `None`.
    pub(crate) fn end(&mut self, first: RunBlock, next: Option<RunBlock>) -> Segment {
        let (end, next_start) = bounded(1);
        let mut segment = Segment {
            number: self.begun,
            first,
            next,
            shares: Vec::with_capacity(self.runs.len()),
            records_passed: 0,
            loaded: Vec::with_capacity(self.runs.len()),
            sources: 0,
            start: std::mem::replace(&mut self.start, next_start),
            end,
        };
        let low = self.runs[first.run as usize].index.key(first.block as usize);
        for (run, front) in self.fronts.iter_mut().enumerate() {
            if front.begun == 0 || front.is_over {
                continue;
            }
            let index = &self.runs[run].index;
            if front.begun_before == index.blocks().len() && index.largest() < low {
                front.is_over = true;
                front.loaded.clear();
                self.records_passed += u64::from(index.blocks()[front.begun - 1].records);
                continue;
            }
            let loaded_from = segment.loaded.len();
            if let Some(last) = front.loaded.pop() {
                segment.loaded.append(&mut front.loaded);
                segment.loaded.push(Arc::clone(&last));
                front.loaded.push(last);
            }
            let first = front.begun_before.saturating_sub(1);
            segment.shares.push(RunShare { run, first, last: front.begun - 1, loaded_from });
            front.begun_before = front.begun;
        }
        segment.records_passed = self.records_passed;
        self.begun += 1;
        segment
    }
}
