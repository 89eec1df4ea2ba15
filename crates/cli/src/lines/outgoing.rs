//! The steps for lines between the engine and the output, one after the other: `--shuffle`,
//! `--count`, `--top`, `--debug`, compression and the rate limit.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::filters::{Marks, Top};
use super::target::Target;
use std::io::Write;
use std::path::Path;
use xsort::Job;
use xsort_disk::Disk;
use xsort_extsort::lines::{
    CompressedOutput, CompressionThreads, CountedOutput, FinishedIndex, IndexOptions, LineKernels,
    OutputCodec, PositionIndex, WithoutKeys,
};
use xsort_extsort::{LinesOptions, Reservation};
use xsort_gnu::sort::{Command, Order};

/// The compression and the header of a command's output.
pub(super) struct Outgoing {
    /// The index of the output, if one is written.
    index: Option<PositionIndex>,
    compression: Option<(OutputCodec, CompressionThreads)>,
    /// The lines that precede all others, if the output is compressed.
    header: Vec<u8>,
}

impl Outgoing {
    /// Sets up what the command asks for, with this index, within the engine's settings. The output
    /// begins with `header`.
    pub(super) fn new(
        lines: &LinesCommand<'_>,
        options: &LinesOptions,
        header: Vec<u8>,
        index: Option<IndexOptions>,
        target: &mut Target<'_>,
    ) -> Outgoing {
        let threads = CompressionThreads::of_budget(options.budget_bytes, options.threads);
        let compression = lines.output_codec().map(|codec| (codec, threads));
        let index = index.map(|index| PositionIndex::new(index, &header, options.budget_bytes));
        let header = match compression {
            Some(_) => header,
            None => {
                target.begin_with(header);
                Vec::new()
            }
        };
        Outgoing { index, compression, header }
    }

    /// Adds what it takes of the budget of a sort by `threads` threads.
    pub(super) fn reserve(&self, reservation: Reservation, threads: usize) -> Reservation {
        let of = move |budget| CompressionThreads::of_budget(budget, threads).taken_bytes;
        let reservation = match self.compression {
            Some(_) => reservation.with_share("compressors of the output", of),
            None => reservation,
        };
        match self.index {
            Some(_) => reservation.with_share("index of the output", PositionIndex::taken_bytes),
            None => reservation,
        }
    }

    /// True if the output is exactly what the engine writes.
    pub(super) fn is_unchanged(&self, lines: &LinesCommand<'_>) -> bool {
        let Command { debug, extras, .. } = &lines.command;
        let is_filtered = *debug || extras.counts || extras.shuffles || extras.top_lines.is_some();
        !is_filtered && self.compression.is_none()
    }

    /// A writer that filters lines and passes them to the target. The lines arrive in the order
    /// `order`, whose kernels for the engine are `by`.
    pub(super) fn to<'o>(
        &'o mut self,
        target: &'o mut Target<'_>,
        lines: &'o LinesCommand<'_>,
        by: &'o dyn LineKernels,
        order: &'o Order,
        job: &Job,
    ) -> Box<dyn Write + Send + 'o> {
        let command = &lines.command;
        let is_to_drive = target.identity().is_some();
        let mut out: Box<dyn Write + Send + '_> = Box::new(target);
        if is_to_drive {
            out = job.hold_stream(out);
        }
        if let Some((codec, CompressionThreads { threads, .. })) = self.compression {
            let header = std::mem::take(&mut self.header);
            let compressed = CompressedOutput::new(out, codec, threads, header);
            out = Box::new(compressed.with_index(self.index.as_mut()));
        }
        if command.debug {
            out = Box::new(Marks::new(out, order, &lines.locale, command.terminator()));
        }
        // Where a record ends, only the engine knows.
        if let (Some(top_lines), None) = (command.extras.top_lines, order.records()) {
            out = Box::new(Top::new(out, top_lines, command.terminator()));
        }
        if command.extras.shuffles {
            out = Box::new(WithoutKeys::new(out, command.terminator()));
        }
        if command.extras.counts {
            out = Box::new(CountedOutput::new(out, by, command.terminator()));
        }
        out
    }

    /// Writes the index, if there is one, of an output that is written.
    pub(super) fn finish_index<'d>(
        self,
        lines: &LinesCommand<'_>,
        disk: &'d dyn Disk,
    ) -> Result<Option<FinishedIndex<'d>>, Failure> {
        let index = self.index.zip(lines.command.output.as_ref());
        let index = index.map(|(index, output)| index.finish(disk, Path::new(output)));
        index.transpose().map_err(|error| failure::of_engine(&error))
    }
}
