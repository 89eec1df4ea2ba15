//! The steps for lines between the engine and the output, one after the other: `--shuffle`,
//! `--count`, `--top`, `--debug`, compression and the rate limit.

use super::command::LinesCommand;
use super::filters::{Marks, Top};
use super::target::Target;
use std::io::Write;
use xsort::Job;
use xsort_extsort::lines::{
    CompressedOutput, CompressionThreads, CountedOutput, LineKernels, OutputCodec, WithoutKeys,
};
use xsort_extsort::{LinesOptions, Reservation};
use xsort_gnu::sort::{Command, Order};

/// The compression and the header of a command's output.
pub(super) struct Outgoing {
    compression: Option<(OutputCodec, CompressionThreads)>,
    /// The lines that precede all others, if the output is compressed.
    header: Vec<u8>,
}

impl Outgoing {
    /// Sets up what the command asks for, within the engine's settings. The output begins with
    /// `header`.
    pub(super) fn new(
        lines: &LinesCommand<'_>,
        options: &LinesOptions,
        header: Vec<u8>,
        target: &mut Target<'_>,
    ) -> Outgoing {
        let threads = CompressionThreads::of_budget(options.budget_bytes, options.threads);
        let compression = lines.output_codec().map(|codec| (codec, threads));
        let header = match compression {
            Some(_) => header,
            None => {
                target.begin_with(header);
                Vec::new()
            }
        };
        Outgoing { compression, header }
    }

    /// Adds what it takes of the budget of a sort by `threads` threads.
    pub(super) fn reserve(&self, reservation: Reservation, threads: usize) -> Reservation {
        let of = move |budget| CompressionThreads::of_budget(budget, threads).taken_bytes;
        match self.compression {
            Some(_) => reservation.with_share("compressors of the output", of),
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
        self,
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
            out = Box::new(CompressedOutput::new(out, codec, threads, self.header));
        }
        if command.debug {
            out = Box::new(Marks::new(out, order, &lines.locale, command.terminator()));
        }
        if let Some(top_lines) = command.extras.top_lines {
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
}
