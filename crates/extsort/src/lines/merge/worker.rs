//! The tasks of a merge's threads: merging segments, and decompressing and checking blocks for the
//! next ones.

use super::super::block::LoadedBlock;
use super::super::input::UncheckedBlock;
use super::super::job::{LinesJob, PIECE_ROOM, SegmentForm};
use super::super::options::LinesOptions;
use super::compressed::{CompressedBlock, DecompressedBlock};
use super::ordered_writer::OrderedWriter;
use super::segment::Segment;
use super::sink::{MergedLines, Sink};
use crate::Error;
use crate::store::compression::BlockDecompressor;
use crossbeam_channel::{Receiver, Sender, select};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_disk::Lease;
use xsort_kernels::lines::{Filled, LineComparer, LineMerge, SameBytes};

/// A task for a merging thread.
pub(crate) enum MergeTask<'r> {
    Merge(Segment<'r>),
    Decompress(CompressedBlock<'r>),
    Check(SortedBlock),
}

/// A block of a sorted input, which must be checked.
pub(crate) struct SortedBlock {
    pub(crate) run: usize,
    /// The block's number in the run.
    pub(crate) number: usize,
    pub(crate) block: UncheckedBlock,
}

/// A block of a sorted input that was checked.
pub(crate) struct CheckedBlock {
    pub(crate) run: usize,
    pub(crate) number: usize,
    pub(crate) block: Arc<LoadedBlock>,
    /// The sum of the hashes of its lines.
    pub(crate) sum: Result<u64, Error>,
}

/// The outcome of a task.
pub(crate) enum MergeOutcome {
    /// A segment was merged and written. The value is its number of lines.
    Merged(u64),
    Decompressed(DecompressedBlock),
    Checked(CheckedBlock),
}

/// Does tasks.
pub(crate) struct MergeWorker<'a, 'j, S> {
    job: &'j LinesJob<'a>,
    /// Bytes that all keys share, if known.
    same: Option<&'j SameBytes>,
    writer: &'j OrderedWriter<S>,
    decompressor: BlockDecompressor,
    /// Compares the lines of sorted inputs.
    comparer: Option<Box<dyn LineComparer + 'j>>,
    /// True if lines are written while others are read, which counts as the progress.
    is_phase_one: bool,
}

impl<'a, 'j, S: Sink> MergeWorker<'a, 'j, S> {
    pub(crate) fn new(
        job: &'j LinesJob<'a>,
        same: Option<&'j SameBytes>,
        writer: &'j OrderedWriter<S>,
    ) -> Self {
        let decompressor = BlockDecompressor::default();
        MergeWorker { job, same, writer, decompressor, comparer: None, is_phase_one: false }
    }

    /// A worker that writes lines while others are still read.
    pub(crate) fn of_phase_one(
        job: &'j LinesJob<'a>,
        same: Option<&'j SameBytes>,
        writer: &'j OrderedWriter<S>,
    ) -> Self {
        MergeWorker { is_phase_one: true, ..MergeWorker::new(job, same, writer) }
    }

    /// Does tasks until there are no more segments. Blocks go first, because a cut may wait for
    /// them.
    pub(crate) fn run(
        mut self,
        write_buffer: &mut Lease,
        blocks: &Receiver<MergeTask<'_>>,
        segments: &Receiver<MergeTask<'_>>,
        done: &Sender<Result<MergeOutcome, Error>>,
    ) {
        write_buffer.populate(0..write_buffer.len());
        loop {
            let next = || match blocks.try_recv() {
                Ok(task) => Ok(task),
                Err(_) => select! {
                    recv(blocks) -> task => task.or_else(|_| segments.recv()),
                    recv(segments) -> task => task,
                },
            };
            let task = self.job.gauges.stage_times.merge_waits_for_read.time(next);
            let Ok(task) = task else { return };
            if self.job.failure.is_set() {
                continue;
            }
            // The coordinator may have given up.
            drop(done.send(self.work(task, write_buffer)));
        }
    }

    /// Does one task. All memory of the task is returned by then.
    pub(crate) fn work(
        &mut self,
        task: MergeTask<'_>,
        write_buffer: &mut [u8],
    ) -> Result<MergeOutcome, Error> {
        match task {
            MergeTask::Merge(segment) => {
                self.merge(&segment, write_buffer).map(MergeOutcome::Merged)
            }
            MergeTask::Decompress(block) => {
                let decompressed = block.decompress(self.job, &mut self.decompressor);
                decompressed.map(MergeOutcome::Decompressed)
            }
            MergeTask::Check(SortedBlock { run, number, block }) => {
                let comparer = self.comparer.get_or_insert_with(|| self.job.order.comparer());
                let sum = block.check(&mut **comparer);
                let block = block.into_block();
                Ok(MergeOutcome::Checked(CheckedBlock { run, number, block, sum }))
            }
        }
    }

    /// Merges a segment. Returns its number of lines.
    pub(crate) fn merge(
        &self,
        segment: &Segment<'_>,
        write_buffer: &mut [u8],
    ) -> Result<u64, Error> {
        let LinesJob { order, options, failure, form, .. } = self.job;
        let stage_times = &self.job.gauges.stage_times;
        let texts = segment.texts();
        let lines = segment.lines(&texts);
        let LinesOptions { delimiter, is_unique, .. } = **options;
        let mut merge = order.merge(delimiter, is_unique, &lines, segment.ends(), self.same);
        if !self.job.needs_hashes() {
            merge.omit_written_sum();
        }
        let mut form = form.filter(|_| S::IS_OUTPUT).map(|form| (form.segment)());
        let has_crc = S::IS_OUTPUT && self.job.journal.is_recording();
        loop {
            let Filled { bytes, line_bytes } = stage_times.output_busy.time(|| match &mut form {
                Some(form) => fill_formed(&mut *merge, &mut **form, write_buffer),
                None => {
                    let bytes = merge.fill(write_buffer);
                    Filled { bytes, line_bytes: bytes }
                }
            });
            let filled = &write_buffer[..bytes];
            let is_last = merge.is_done();
            let to_come = merge.pending_bytes();
            let (written_sum, dropped_sum) = merge.sums();
            let hash_sum = written_sum.wrapping_add(dropped_sum);
            let merged = MergedLines { lines: merge.taken(), hash_sum };
            let crc = has_crc.then(|| crc32fast::hash(filled));
            let write = |sink: &mut S| {
                sink.write(filled, crc, to_come)?;
                if is_last { sink.end_segment(&segment.positions, merged) } else { Ok(()) }
            };
            let write = || self.writer.write(segment.number, is_last, failure, write);
            stage_times.output_waits_for_write.time(write)?;
            if !self.is_phase_one {
                self.job.observer.advance(line_bytes as u64);
            }
            if is_last {
                self.job.balance.dropped(dropped_sum);
                if S::IS_OUTPUT {
                    self.job.balance.written(written_sum);
                }
                self.job.gauges.counts.parts.fetch_add(1, Relaxed);
                return Ok(merge.taken());
            }
        }
    }
}

/// Writes the next lines in their output form to `out`: whole lines, or a piece of a longer one.
fn fill_formed(
    merge: &mut dyn LineMerge<'_>,
    form: &mut dyn SegmentForm,
    out: &mut [u8],
) -> Filled {
    let pending = merge.pending_bytes();
    if pending == 0 {
        let filled = merge.fill_with(out, form);
        if filled.line_bytes > 0 || merge.is_done() {
            return filled;
        }
    }
    let room = out.len() - PIECE_ROOM;
    let most = if pending == 0 { room } else { pending.min(room) };
    let line_bytes = merge.fill(&mut out[..most]);
    Filled { bytes: form.put_piece(out, line_bytes), line_bytes }
}
