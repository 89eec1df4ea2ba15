//! The half of a pushed sort that gives records out.

use super::blocks::Blocks;
use super::feed::Feed;
use super::report::SorterReport;
use crate::Error;
use crate::keyed::{Decoded, decode_keyed};
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// A key and its record.
pub type KeyAndRecord<'s> = (&'s [u8], &'s [u8]);

/// The records of a pushed sort, in order. One that is dropped before its end stops the sort, and
/// leaves nothing in memory or on scratch.
pub struct Sorted {
    feed: Arc<Feed>,
    blocks: Blocks,
    /// Records that were pushed, and bytes of them and their keys.
    pushed: (u64, u64),
    taken: (u64, u64),
    report: Option<SorterReport>,
}

impl Sorted {
    pub(super) fn new(feed: Arc<Feed>, blocks: Blocks) -> Sorted {
        let pushed = feed.counts();
        Sorted { feed, blocks, pushed, taken: (0, 0), report: None }
    }

    /// Records that were pushed: how many come out in all.
    pub fn records(&self) -> u64 {
        self.pushed.0
    }

    /// The key and the record that come next, which live until the next call; `None` behind the
    /// last one. Only then it is sure that these are the records that were pushed, all of them and
    /// none changed. The first call waits for the sort.
    ///
    /// # Errors
    /// What the sort has failed of; [`Error::LostRecords`] at the end, if other records came out
    /// than were pushed; [`Error::Cancelled`] if it was stopped.
    #[expect(clippy::should_implement_trait, reason = "an Iterator's items can't borrow from it")]
    pub fn next(&mut self) -> Result<Option<KeyAndRecord<'_>>, Error> {
        if self.report.is_some() {
            return Ok(None);
        }
        let Some(keyed) = self.blocks.next_keyed() else {
            self.report = Some(end(&self.feed, self.pushed, self.taken)?);
            return Ok(None);
        };
        let Some(Decoded { key, record }) = decode_keyed(keyed) else {
            return Err(lost(self.pushed, self.taken));
        };
        self.taken.0 += 1;
        self.taken.1 += (key.len() + record.len()) as u64;
        Ok(Some((&keyed[key], &keyed[record])))
    }

    /// Has `write` write every record that is left, and flushes `output` then. Writes are gathered
    /// in a small buffer.
    ///
    /// # Errors
    /// As [`next`](Sorted::next); [`Error::Output`] with an error of `write` or `output`.
    pub fn write_to(
        mut self,
        output: &mut dyn Write,
        mut write: impl FnMut(&[u8], &[u8], &mut dyn Write) -> io::Result<()>,
    ) -> Result<SorterReport, Error> {
        let mut output = BufWriter::new(output);
        while let Some((key, record)) = self.next()? {
            write(key, record, &mut output).map_err(Error::Output)?;
        }
        output.flush().map_err(Error::Output)?;
        Ok(self.report.take().expect("there is one behind the last record"))
    }

    /// What the sort did, once [`next`](Sorted::next) has returned `None`.
    pub fn report(&self) -> Option<&SorterReport> {
        self.report.as_ref()
    }
}

/// Compares what came out with what was pushed, when the engine has compared its own sums.
fn end(feed: &Feed, pushed: (u64, u64), taken: (u64, u64)) -> Result<SorterReport, Error> {
    let report = feed.outcome.wait()?;
    let (records, bytes) = taken;
    match report.checksum {
        Some(checksum) if taken == pushed && report.lines == records => Ok(SorterReport {
            records,
            bytes,
            checksum,
            runs: report.runs,
            spilled_bytes: report.spilled_bytes,
            scratch_bytes: report.scratch_bytes,
            seconds: report.seconds,
        }),
        _ => Err(lost(pushed, taken)),
    }
}

fn lost(pushed: (u64, u64), taken: (u64, u64)) -> Error {
    Error::LostRecords {
        pushed: pushed.0,
        pushed_bytes: pushed.1,
        taken: taken.0,
        taken_bytes: taken.1,
    }
}

impl Drop for Sorted {
    fn drop(&mut self) {
        self.blocks.close();
        self.feed.abandon();
    }
}

impl fmt::Debug for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorted")
            .field("pushed", &self.pushed)
            .field("taken", &self.taken)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
