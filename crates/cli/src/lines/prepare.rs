//! Inputs as the engine reads them: held to the limits, decompressed, without their header.

use super::failure::{self, Failure};
use super::limits::Limits;
use super::progress::OtherFigures;
use super::resources;
use super::target::Target;
use xsort_extsort::variable::{Decoders, LinesInput, take_header};
use xsort_gnu::sort::Command;

/// Inputs ready to be read, and what that takes.
pub(super) struct Prepared {
    pub(super) inputs: Vec<LinesInput>,
    /// How many of them may be read at once.
    pub(super) inputs_max: usize,
    /// Bytes of the budget that their names and decoders take.
    pub(super) taken_bytes: u64,
}

impl Prepared {
    /// Inputs held to the limits, and decompressed if that is asked for.
    pub(super) fn new(
        command: &Command,
        inputs: Vec<LinesInput>,
        names_bytes: u64,
        limits: &Limits,
    ) -> Prepared {
        // An input of unknown size is none on a drive.
        let limited = |input: LinesInput| match input.bytes {
            Some(_) => limits.limit(input),
            None => input,
        };
        let mut inputs: Vec<LinesInput> = inputs.into_iter().map(limited).collect();
        if !command.extras.decompress {
            return Prepared { inputs, inputs_max: usize::MAX, taken_bytes: names_bytes };
        }
        let budget_bytes = resources::budget_bytes(command).saturating_sub(names_bytes);
        let decoders = match command.merge {
            true => Decoders::for_merge(budget_bytes, inputs.len()),
            false => Decoders::for_sort(budget_bytes),
        };
        inputs = inputs.into_iter().map(|input| decoders.decompressed(input)).collect();
        let taken_bytes = names_bytes + decoders.taken_bytes;
        Prepared { inputs, inputs_max: decoders.inputs_max, taken_bytes }
    }

    /// `--header`: moves the first lines of the first input to the output. Returns how many.
    pub(super) fn take_header(
        &mut self,
        command: &Command,
        target: &mut Target,
    ) -> Result<OtherFigures, Failure> {
        let (lines, terminator) = (command.extras.header_lines, command.terminator());
        let mut figures = OtherFigures::default();
        let Some(first) = self.inputs.first_mut().filter(|_| lines > 0) else {
            return Ok(figures);
        };
        let header = take_header(first, lines, terminator);
        let header = header.map_err(|error| failure::of_read(first.path.as_os_str(), &error))?;
        figures.header_lines = memchr::memchr_iter(terminator, &header).count() as u64;
        figures.header_bytes = header.len() as u64;
        target.begin_with(header);
        Ok(figures)
    }
}
