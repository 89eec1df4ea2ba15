//! The half of a pushed sort that returns the records.

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

/// The records of a pushed sort, in order. Dropping it before its end stops the sort, and frees its
/// memory and scratch.
pub struct Sorted {
    feed: Arc<Feed>,
    blocks: Blocks,
    /// Number of records pushed, and the bytes of their keys and contents.
    pushed: (u64, u64),
    taken: (u64, u64),
    report: Option<SorterReport>,
}

impl Sorted {
    pub(super) fn new(feed: Arc<Feed>, blocks: Blocks) -> Sorted {
        let pushed = feed.counts();
        Sorted { feed, blocks, pushed, taken: (0, 0), report: None }
    }

    /// Number of records pushed, which is the number that come out in all.
    pub fn records(&self) -> u64 {
        self.pushed.0
    }

    /// Returns the next key and record, which live until the next call; `None` after the last one.
    /// Only then are the records verified: all that were pushed came out, unchanged. The first call
    /// waits for the sort.
    ///
    /// # Errors
    ///
    /// The error of the sort if it has failed; [`Error::LostRecords`] at the end, if the records
    /// returned aren't those that were pushed; [`Error::Cancelled`] if it was stopped.
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

    /// Calls `write` for every remaining record, and then flushes `output`. Writes are gathered in
    /// a small buffer.
    ///
    /// # Errors
    ///
    /// The errors of [`next`](Sorted::next); [`Error::Output`] with an error of `write` or
    /// `output`.
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

/// Compares the counts of returned and pushed records, after the engine has compared its own
/// checksums.
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
