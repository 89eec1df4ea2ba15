//! Sorts what leaves, a batch at a time, each by a sort of its own.
//!
//! So an incremental sort needs no other kernels, threads or plan, and a batch that doesn't fit in
//! memory goes to scratch as any input does.

use super::super::input::{Content, LinesInput};
use super::super::options::LinesOptions;
use super::super::plan::Plan;
use super::super::report::LinesReport;
use super::super::reservation::Share;
use super::waiting::Counts;
use crate::{Compressed, Error, Gauges, Observer, Spans};
use crossbeam_channel::Receiver;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Sorts one input and writes it.
pub type SortBatch<'a> = dyn Fn(
        &LinesOptions,
        LinesInput,
        &mut (dyn Write + Send),
        &dyn Observer,
    ) -> Result<LinesReport, Error>
    + Sync
    + 'a;

/// The sorts of what leaves, and their sums.
pub(super) struct Batches<'a> {
    options: LinesOptions,
    sort: &'a SortBatch<'a>,
    output: &'a mut (dyn Write + Send),
    observer: &'a dyn Observer,
    begun: Instant,
    sorted: Counts,
    written_bytes: u64,
    batches: usize,
    spilled_bytes: u64,
    scratch_bytes: u64,
    compressed: Compressed,
    /// The plan that takes the most memory, and its shares.
    plan: Option<(Plan, Vec<Share>)>,
}

impl<'a> Batches<'a> {
    pub(super) fn new(
        options: LinesOptions,
        sort: &'a SortBatch<'a>,
        output: &'a mut (dyn Write + Send),
        observer: &'a dyn Observer,
    ) -> Batches<'a> {
        Batches {
            options,
            sort,
            output,
            observer,
            begun: Instant::now(),
            sorted: Counts::default(),
            written_bytes: 0,
            batches: 0,
            spilled_bytes: 0,
            scratch_bytes: 0,
            compressed: Compressed::default(),
            plan: None,
        }
    }

    /// Sorts whole lines and writes them after all earlier ones.
    /// `path` names them in errors.
    pub(super) fn sort(&mut self, path: &Path, text: Vec<u8>) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        let bytes = Some(text.len() as u64);
        let content = Content::Stream(Box::new(Cursor::new(text)));
        self.sort_input(LinesInput { path: path.to_owned(), bytes, content })
    }

    /// Sorts whole lines that come in pieces of any length. `path` names them in errors.
    pub(super) fn sort_pieces(&mut self, path: &Path, pieces: Pieces) -> Result<(), Error> {
        let content = Content::Stream(Box::new(pieces));
        self.sort_input(LinesInput { path: path.to_owned(), bytes: None, content })
    }

    fn sort_input(&mut self, input: LinesInput) -> Result<(), Error> {
        let mut output = Unflushed(&mut *self.output);
        let quiet = Quiet(self.observer);
        let report = (self.sort)(&self.options, input, &mut output, &quiet)?;
        self.sorted.lines += report.lines;
        self.sorted.bytes += report.bytes;
        self.sorted.sum = self.sorted.sum.wrapping_add(report.checksum.unwrap_or_default());
        self.written_bytes += report.written_bytes;
        self.batches += 1;
        self.spilled_bytes += report.spilled_bytes;
        self.scratch_bytes += report.scratch_bytes;
        self.compressed.lz4_bytes += report.compressed.lz4_bytes;
        self.compressed.zstd_bytes += report.compressed.zstd_bytes;
        let bytes = report.plan.memory_bytes();
        if self.plan.as_ref().is_none_or(|(plan, _)| plan.memory_bytes() < bytes) {
            self.plan = Some((report.plan, report.shares));
        }
        Ok(())
    }

    /// Passes on everything that was written.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.output.flush().map_err(Error::Output)
    }

    /// The report, once everything that was `read` has left: in batches, or as one of `others`.
    ///
    /// # Errors
    ///
    /// [`Error::LostLines`] if the checksums differ, and [`Error::Lost`] if the numbers do.
    pub(super) fn report(self, read: Counts, others: [Counts; 2]) -> Result<LinesReport, Error> {
        let Counts { lines, bytes, sum } = read;
        let gone = others.iter().fold(self.sorted, |all, other| Counts {
            lines: all.lines + other.lines,
            bytes: all.bytes + other.bytes,
            sum: all.sum.wrapping_add(other.sum),
        });
        if gone.sum != sum {
            return Err(Error::LostLines { read: sum, written: gone.sum });
        }
        if gone.lines != lines {
            let what = format!("{lines} lines were read, and {} left", gone.lines);
            return Err(Error::Lost { what });
        }
        let (plan, shares) = self.plan.unwrap_or_else(|| {
            let plan = Plan::new(&self.options, Some(0), 0, false);
            let shares = plan.shares(&self.options);
            (plan, shares)
        });
        Ok(LinesReport {
            lines,
            bytes,
            written_bytes: self.written_bytes,
            checksum: Some(sum),
            late_lines: None,
            runs: self.batches,
            spilled_bytes: self.spilled_bytes,
            scratch_bytes: self.scratch_bytes,
            compressed: self.compressed,
            seconds: self.begun.elapsed().as_secs_f64(),
            plan,
            shares,
        })
    }
}

/// Lines that come in pieces through a channel. It ends with them, or fails with their error.
pub(super) struct Pieces {
    from: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
}

impl Pieces {
    pub(super) fn new(from: Receiver<io::Result<Vec<u8>>>) -> Pieces {
        Pieces { from, piece: Cursor::default() }
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.piece.read(out)?;
            if bytes > 0 || out.is_empty() {
                return Ok(bytes);
            }
            match self.from.recv() {
                Ok(piece) => self.piece = Cursor::new(piece?),
                Err(_) => return Ok(0),
            }
        }
    }
}

/// An output that more is written to. A sort flushes what it has written, but a later stage takes
/// that for the end of all lines.
struct Unflushed<'o>(&'o mut (dyn Write + Send));

impl Write for Unflushed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An observer without the phases and figures of single batches.
struct Quiet<'o>(&'o dyn Observer);

impl Observer for Quiet<'_> {
    fn phase(&self, _name: &str, _bytes: u64) {}

    fn advance(&self, _bytes: u64) {}

    fn notice(&self, line: &str) {
        self.0.notice(line);
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn show(&self, gauges: Gauges) {
        self.0.show(gauges);
    }

    fn spans(&self) -> Option<Arc<Spans>> {
        self.0.spans()
    }
}
