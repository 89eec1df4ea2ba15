//! Destinations of merged lines: the output, or a run on scratch.

use super::super::job::LinesJob;
use super::super::run::Run;
use super::super::spill::Spiller;
use super::cursor::RunPosition;
use crate::Error;
use crate::store::journal::{JournalHandle, Step};
use crate::store::output_prefix::OutputPrefix;
use crate::store::write_behind::WriteBehind;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;
use xsort_disk::BlockPool;

/// A destination of merged lines.
pub(crate) trait Sink: Send {
    /// True if lines are merged for the last time.
    const IS_OUTPUT: bool;

    /// Writes the next bytes. `crc` is their CRC-32, with a journal. If they end within a line,
    /// `to_come` bytes of it are missing, its delimiter included.
    fn write(&mut self, bytes: &[u8], crc: Option<u32>, to_come: usize) -> Result<(), Error>;

    /// Ends a segment. The arguments are the positions of all runs after it, if the journal records
    /// these, and the merged lines.
    fn end_segment(&mut self, _: &[RunPosition], _: MergedLines) -> Result<(), Error> {
        Ok(())
    }
}

impl Sink for Spiller<'_, '_> {
    const IS_OUTPUT: bool = false;

    fn write(&mut self, bytes: &[u8], _: Option<u32>, to_come: usize) -> Result<(), Error> {
        self.extend(bytes, to_come)
    }
}

/// Counts of merged lines.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct MergedLines {
    /// Number of lines, dropped duplicates included.
    pub(crate) lines: u64,
    /// Sum of the lines' hashes.
    pub(crate) hash_sum: u64,
}

/// The progress of the output, as the journal records it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OutputProgress {
    /// The first field, because the checkpoint reads only this one.
    pub(crate) prefix: OutputPrefix,
    /// Position of each run.
    pub(crate) positions: Vec<RunPosition>,
    pub(crate) merged: MergedLines,
}

impl OutputProgress {
    /// Checks that the positions are in these runs.
    ///
    /// # Errors
    ///
    /// A message about positions that aren't.
    pub(crate) fn check(&self, runs: &[Run]) -> Result<(), String> {
        let positions = &self.positions;
        let is_in = |(&(blocks, offset), run): (&RunPosition, &Run)| match run.blocks().get(blocks)
        {
            Some(block) => (offset as u64) < block.bytes,
            None => (blocks, offset) == (run.blocks().len(), 0),
        };
        let are_in = positions.len() == runs.len() && positions.iter().zip(runs).all(is_in);
        if are_in || positions.is_empty() {
            return Ok(());
        }
        Err(format!("the positions {positions:?} are not in the runs"))
    }
}

/// The output of the last merge.
pub(crate) struct MergedOutput<'o> {
    target: OutputTarget<'o>,
    /// The prefix that was written, without its tail.
    prefix: OutputPrefix,
    merged: MergedLines,
    journal: JournalHandle<'o>,
    /// When progress was last recorded.
    recorded_at: Instant,
}

/// The writer of the output.
pub(crate) enum OutputTarget<'o> {
    Stream(&'o mut (dyn Write + Send)),
    File(WriteBehind<'o>),
}

impl<'o> OutputTarget<'o> {
    /// The output of a job without a checkpoint: its file, bypassing the page cache if possible,
    /// else the stream.
    pub(crate) fn open(
        job: &'o LinesJob<'_>,
        output: &'o mut (dyn Write + Send),
        block_pool: Arc<BlockPool>,
        expected_bytes: u64,
    ) -> Result<OutputTarget<'o>, Error> {
        let Some(path) = &job.options.output_file else { return Ok(OutputTarget::Stream(output)) };
        output.flush().map_err(Error::Output)?;
        Ok(match WriteBehind::open(job.disk, path, block_pool, expected_bytes) {
            Ok(file) => OutputTarget::File(file),
            Err(_) => OutputTarget::Stream(output),
        })
    }
}

impl<'o> MergedOutput<'o> {
    /// An output of which an earlier process may have written `prefix`, from the lines in `merged`.
    pub(crate) fn new(
        target: OutputTarget<'o>,
        prefix: OutputPrefix,
        merged: MergedLines,
        journal: JournalHandle<'o>,
    ) -> Self {
        let prefix = OutputPrefix { tail: Vec::new(), ..prefix };
        MergedOutput { target, prefix, merged, journal, recorded_at: Instant::now() }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.prefix.bytes
    }

    /// Lines written so far.
    pub(crate) fn lines(&self) -> u64 {
        self.merged.lines
    }

    /// Ends the output. Returns the prefix that was written.
    pub(crate) fn end(self) -> Result<OutputPrefix, Error> {
        match self.target {
            OutputTarget::Stream(stream) => stream.flush().map_err(Error::Output)?,
            OutputTarget::File(file) => file.end()?,
        }
        Ok(self.prefix)
    }
}

impl Sink for MergedOutput<'_> {
    const IS_OUTPUT: bool = true;

    fn write(&mut self, bytes: &[u8], crc: Option<u32>, _: usize) -> Result<(), Error> {
        self.prefix.append(crc, bytes.len() as u64);
        match &mut self.target {
            OutputTarget::Stream(stream) => stream.write_all(bytes).map_err(Error::Output),
            OutputTarget::File(file) => file.write(bytes),
        }
    }

    fn end_segment(&mut self, runs: &[RunPosition], merged: MergedLines) -> Result<(), Error> {
        self.merged.lines += merged.lines;
        self.merged.hash_sum = self.merged.hash_sum.wrapping_add(merged.hash_sum);
        if let (Some(every), OutputTarget::File(file)) = (self.journal.interval(), &mut self.target)
            && self.recorded_at.elapsed() >= every
        {
            let prefix = OutputPrefix { tail: file.flush()?.to_vec(), ..self.prefix };
            let progress = OutputProgress { prefix, positions: runs.to_vec(), merged: self.merged };
            self.journal.record(Step::Written, &progress);
            self.recorded_at = Instant::now();
        }
        Ok(())
    }
}
