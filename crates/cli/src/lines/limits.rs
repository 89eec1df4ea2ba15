//! `--bandwidth-limit` and `--temperature-limit`.

use super::failure::Failure;
use super::names;
use crate::settings::limited::Limited;
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::sync::Arc;
use xsort::size;
use xsort_disk::{DiskOptions, Gate, LazyDisk, RateLimit};
use xsort_extsort::variable::LinesInput;
use xsort_gnu::sort::Command;

/// The limits of a command.
pub(super) struct Limits {
    pub(super) rate: Option<Arc<RateLimit>>,
    /// Degrees Celsius, and the gate that is closed above these.
    pub(super) temperature: Option<(f64, Arc<Gate>)>,
}

impl Limits {
    /// What the command asks for.
    pub(super) fn new(command: &Command) -> Result<Limits, Failure> {
        let rate = command.extras.bandwidth_limit.as_deref().map(rate).transpose()?;
        // Signals end a sort of lines wherever it is, in waits too: nothing else has to end these.
        let rate = rate.map(|rate| Arc::new(RateLimit::new(rate, || false)));
        let celsius = command.extras.limit_celsius;
        let temperature = celsius.map(|celsius| (f64::from(celsius), Arc::default()));
        Ok(Limits { rate, temperature })
    }

    /// A disk whose transfers are held to the limits.
    pub(super) fn disk(&self, options: DiskOptions) -> LazyDisk {
        let gate = self.temperature.as_ref().map(|(_, gate)| Arc::clone(gate));
        LazyDisk::new(DiskOptions { gate, rate: self.rate.clone(), ..options })
    }

    /// An input held to the rate where it doesn't pass the disk.
    pub(super) fn limit(&self, input: LinesInput) -> LinesInput {
        match self.rate.clone() {
            Some(rate) => input.read_through(|bytes| Box::new(Limited::new(bytes, rate))),
            None => input,
        }
    }
}

/// The rate that an argument means.
fn rate(argument: &OsStr) -> Result<NonZeroU64, Failure> {
    let text = argument.to_string_lossy();
    size::rate(&text).map_err(|error| {
        let name = names::quoted(argument);
        Failure::Message(
            [
                b"invalid --bandwidth-limit argument ",
                &name[..],
                b": ",
                error.to_string().as_bytes(),
            ]
            .concat(),
        )
    })
}
