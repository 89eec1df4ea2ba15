//! `--bandwidth-limit` and `--temperature-limit`, and the limits on transfers of objects.

use super::failure::Failure;
use super::names;
use crate::args::{connections, part_size};
use std::ffi::OsStr;
use std::sync::Arc;
use xsort::{limited_input, size};
use xsort_disk::{DiskOptions, Gate, OsDisk, RateLimit};
use xsort_extsort::lines::LinesInput;
use xsort_gnu::sort::{Command, Extras};
use xsort_objects::GivenLimits;

/// The limits of a command.
pub(super) struct Limits {
    pub(super) rate: Option<Arc<RateLimit>>,
    /// The limit in degrees Celsius, and the gate that is closed above it.
    pub(super) temperature: Option<(f64, Arc<Gate>)>,
    /// `--s3-part-size`, `--s3-connections` and `--verify-output`; also `--no-clobber`, which holds
    /// for output files, too.
    pub(super) objects: GivenLimits,
}

impl Limits {
    /// The limits that the command asks for.
    pub(super) fn new(command: &Command) -> Result<Limits, Failure> {
        let rate = command.extras.bandwidth_limit.as_deref();
        let parse = |text: &str| size::rate(text).map_err(|error| error.to_string());
        let rate = parsed("--bandwidth-limit", rate, parse)?;
        // A signal ends a sort of lines at any point, including waits, so the limit needs no check.
        let rate = rate.map(|rate| Arc::new(RateLimit::new(rate, || false)));
        let celsius = command.extras.limit_celsius;
        let temperature = celsius.map(|celsius| (f64::from(celsius), Arc::default()));
        let Extras { s3_part_size, s3_connections, no_clobber, verify_output, .. } =
            &command.extras;
        let objects = GivenLimits {
            part_bytes: parsed("--s3-part-size", s3_part_size.as_deref(), part_size)?,
            connections: parsed("--s3-connections", s3_connections.as_deref(), connections)?,
            no_clobber: *no_clobber,
            verify_output: *verify_output,
        };
        Ok(Limits { rate, temperature, objects })
    }

    /// A disk whose transfers keep the limits.
    pub(super) fn disk(&self, options: DiskOptions) -> OsDisk {
        let gate = self.temperature.as_ref().map(|(_, gate)| Arc::clone(gate));
        let (rate, no_clobber) = (self.rate.clone(), self.objects.no_clobber);
        OsDisk::lazy(DiskOptions { gate, rate, no_clobber, ..options })
    }

    /// Limits the rate of an input that isn't read through the disk.
    pub(super) fn limit(&self, input: LinesInput) -> LinesInput {
        limited_input(input, self.rate.as_ref())
    }
}

/// Parses the argument of an option.
fn parsed<T>(
    option: &str,
    argument: Option<&OsStr>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Failure> {
    let Some(argument) = argument else { return Ok(None) };
    parse(&argument.to_string_lossy()).map(Some).map_err(|reason| {
        let name = names::quoted(argument);
        let what = format!("invalid {option} argument ");
        Failure::Message([what.as_bytes(), &name[..], b": ", reason.as_bytes()].concat())
    })
}
