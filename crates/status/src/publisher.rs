//! The job's side: a prefix of its own in the directory, and snapshots into it.

use crate::{Place, Snapshot};
use std::path::PathBuf;
use xsort_shm::{Error, Writer, WriterOptions, Xxh3};

/// Jobs with one number, in several containers that share the directory.
const NAMESAKES_MAX: u32 = 16;

/// Readers that read without copying at the same time; more copy.
const READERS_MAX: usize = 64;

/// Publishes the snapshots of one job. Dropping it leaves the last one, as a kill does; [`Publisher::end`] takes it away.
pub struct Publisher {
    writer: Writer<Xxh3>,
    prefix: PathBuf,
}

impl Publisher {
    /// Begins to publish, under the number of the process.
    ///
    /// # Errors
    /// A reason in words. A job does well without.
    pub fn open(place: &Place, pid: u32) -> Result<Publisher, String> {
        let directory = place.directory().map_err(|error| error.to_string())?;
        let mut options = WriterOptions::default();
        (options.readers_max, options.mode, options.readers_mode) = (READERS_MAX, 0o600, 0o600);
        for namesake in 0..NAMESAKES_MAX {
            let name = if namesake == 0 { pid.to_string() } else { format!("{pid}-{namesake}") };
            let prefix = directory.join(name);
            match Writer::with_options(&prefix, options.clone()) {
                Ok(writer) => return Ok(Publisher { writer, prefix }),
                Err(Error::Busy { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!("{}: all names for process {pid} are taken", directory.display()))
    }

    /// The beginning of the names of its files.
    pub fn prefix(&self) -> &std::path::Path {
        &self.prefix
    }

    /// Shows what is now.
    ///
    /// # Errors
    /// A reason in words: no memory for it.
    pub fn publish(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        self.writer.write(&snapshot.to_bytes()).map(drop).map_err(|error| error.to_string())
    }

    /// The job is over, and nothing of it stays.
    pub fn end(self) {
        // What can't be removed is shown as a dead job, and cleared as one.
        let _ = self.writer.remove();
    }
}
