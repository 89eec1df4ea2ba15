//! The session of a command: its job, and which of its names are URLs. Small local sorts ask the
//! machine for nothing, and start neither threads nor rings.

use super::command::LinesCommand;
use super::failure::Failure;
use super::resources;
use crate::gnu_commands::is_called_as_gnu;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use xsort::Job;
use xsort_disk::{Disk, Gate, is_url};
use xsort_objects::ObjectUse;

/// A running command.
pub(super) struct LinesSession {
    pub(super) job: Job,
    /// The limit in degrees Celsius, and the gate that is closed above it.
    pub(super) temperature: Option<(f64, Arc<Gate>)>,
    /// To GNU sort no name is a URL.
    has_urls: bool,
    /// True if a name on the command line is a URL, not only one in a list of names.
    is_url_given: bool,
}

impl LinesSession {
    /// Begins the job that the command asks for.
    pub(super) fn begin(lines: &LinesCommand<'_>) -> Result<LinesSession, Failure> {
        let command = &lines.command;
        let celsius = command.extras.limit_celsius;
        let temperature = celsius.map(|celsius| (f64::from(celsius), Arc::<Gate>::default()));
        let gate = temperature.as_ref().map(|(_, gate)| Arc::clone(gate));
        let has_urls = !is_called_as_gnu(lines.program);
        let given = match has_urls {
            true => ObjectUse::of(&command.files, command.output.as_deref().map(Path::new)),
            false => ObjectUse::default(),
        };
        let is_url_given = given != ObjectUse::default();
        let reads = given.reads || (has_urls && command.files0_from.is_some());
        let job = resources::of_job(command, gate)?.job_with_objects(ObjectUse { reads, ..given });
        Ok(LinesSession { job, temperature, has_urls, is_url_given })
    }

    /// Notices for the user about the stores that were used.
    pub(super) fn notices_of_objects(&self) -> Vec<String> {
        if self.job.object_bytes() == 0 { Vec::new() } else { self.job.disk.notices() }
    }

    /// Bytes of the budget reserved for transfers of objects.
    pub(super) fn object_bytes(&self) -> u64 {
        if self.is_url_given { self.job.object_bytes() } else { 0 }
    }

    /// The disk, if `name` is a URL.
    pub(super) fn disk_of_url(&self, name: &OsStr) -> Option<&Arc<dyn Disk>> {
        (self.has_urls && is_url(Path::new(name))).then_some(&self.job.disk)
    }
}
