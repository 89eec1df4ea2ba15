//! Prepares inputs for the engine: limits their rate, decompresses them and takes their header.

use super::command::LinesCommand;
use super::failure::{self, Failure};
use super::torn_rows::TornRows;
use std::os::unix::ffi::OsStrExt;
use xsort::Job;
use xsort_extsort::Reservation;
use xsort_extsort::lines::{
    Header, LinesInput, Recognised, Shuffle, recognise, take_header, total_bytes, urls_at_once,
};
use xsort_gnu::sort::Command;

/// Inputs that are ready to be read, and the memory that they take.
pub(super) struct Prepared {
    pub(super) inputs: Vec<LinesInput>,
    /// The maximum number of inputs that may be read at once.
    pub(super) inputs_max: usize,
    /// Shares of the budget that the inputs' names and decoders take.
    pub(super) reservation: Reservation,
    /// The first CSV file found to have torn rows.
    pub(super) torn_rows: TornRows,
}

impl Prepared {
    /// Limits the inputs' rate, and decompresses them if the command asks for it.
    pub(super) fn new(
        lines: &LinesCommand<'_>,
        inputs: Vec<LinesInput>,
        names_bytes: u64,
        job: &Job,
    ) -> Result<Prepared, Failure> {
        let command = &lines.command;
        // An input of unknown size is not on a drive.
        let limited = |input: LinesInput| match input.bytes {
            Some(_) => job.hold(input),
            None => input,
        };
        let inputs: Vec<LinesInput> = inputs.into_iter().map(limited).collect();
        let budget_bytes = || job.total_bytes().saturating_sub(names_bytes);
        let (urls_max, urls_bytes) = match command.merge {
            true => urls_at_once(&inputs, budget_bytes),
            false => (usize::MAX, 0),
        };
        let reserved = Reservation::default()
            .with("names of inputs", names_bytes)
            .with("URLs that are read at once", urls_bytes);
        TornRows::refuse_before_merge(lines, &inputs)
            .map_err(|(path, error)| failure::of_read(path.as_os_str(), &error))?;
        let torn_rows = TornRows::default();
        if !lines.decompresses() {
            let inputs = torn_rows.watch(lines, inputs);
            return Ok(Prepared { inputs, inputs_max: urls_max, reservation: reserved, torn_rows });
        }
        let resources = || (budget_bytes().saturating_sub(urls_bytes), job.threads());
        let Recognised { inputs, inputs_max, reservation } =
            recognise(inputs, command.merge, resources)
                .map_err(|(path, error)| failure::of_read(path.as_os_str(), &error))?;
        let (inputs, inputs_max) = (torn_rows.watch(lines, inputs), inputs_max.min(urls_max));
        let reservation = reserved.and(reservation);
        Ok(Prepared { inputs, inputs_max, reservation, torn_rows })
    }

    /// `--shuffle`: gives lines random keys. Lines of a header have been taken before.
    pub(super) fn shuffle(&mut self, shuffle: &Shuffle) {
        let inputs = std::mem::take(&mut self.inputs);
        self.inputs = inputs.into_iter().map(|input| shuffle.with_keys(input)).collect();
    }

    /// Bytes of all inputs after decompression, if known.
    pub(super) fn bytes(&self) -> Option<u64> {
        total_bytes(&self.inputs)
    }

    /// `--header`, `--header-prefix`: takes the first lines of the first input.
    pub(super) fn take_header(&mut self, command: &Command) -> Result<Vec<u8>, Failure> {
        let header = match &command.extras.header_prefix {
            Some(prefix) => Header::Prefix(prefix.as_bytes()),
            None => Header::Lines(command.extras.header_lines),
        };
        let has_header = header != Header::Lines(0);
        let Some(first) = self.inputs.first_mut().filter(|_| has_header) else {
            return Ok(Vec::new());
        };
        take_header(first, header, command.terminator())
            .map_err(|error| failure::of_read(first.path.as_os_str(), &error))
    }
}
