//! What a sort of lines or tables would do, as `--dry-run` prints it.

use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use xsort_disk::DisplayPath;
use xsort_extsort::lines::LinesDryRun;
use xsort_extsort::units::{Bytes, Count, Decimal};

/// The plan that `--dry-run` prints.
#[derive(Serialize)]
pub(crate) struct LinesPlan {
    /// The number of inputs.
    pub(crate) inputs: usize,
    /// The file that would be written; `None` for standard output.
    pub(crate) output: Option<String>,
    #[serde(flatten)]
    pub(crate) figures: LinesDryRun,
    /// Directories for scratch; empty if the sort needs none.
    #[serde(serialize_with = "crate::output::lossy_all")]
    pub(crate) scratch: Vec<PathBuf>,
}

impl LinesPlan {
    /// Returns `directories` if the sort uses scratch, otherwise none.
    pub(crate) fn scratch_of(figures: &LinesDryRun, directories: Vec<PathBuf>) -> Vec<PathBuf> {
        if figures.scratch_bytes == Some(0) { Vec::new() } else { directories }
    }
}

impl fmt::Display for LinesPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = Count(self.inputs as u64, "file");
        match self.figures.bytes {
            Some(bytes) => writeln!(f, "input    {} in {files}", Decimal(bytes as f64))?,
            None => writeln!(f, "input    of unknown size, {files}")?,
        }
        let output = self.output.as_deref().unwrap_or("standard output");
        writeln!(f, "output   {}", DisplayPath(output))?;
        let threads = Count(self.figures.threads as u64, "thread");
        writeln!(f, "memory   at most {}, {threads}", Bytes(self.figures.memory_bytes))?;
        self.figures.shares.iter().try_for_each(|share| writeln!(f, "{share}"))?;
        let names: Vec<_> = self.scratch.iter().map(|path| DisplayPath(path).to_string()).collect();
        match self.figures.scratch_bytes {
            Some(0) => write!(f, "scratch  none")?,
            Some(bytes) => {
                let bytes = Decimal(bytes as f64);
                write!(f, "scratch  at most {bytes} in {}", names.join(", "))?;
            }
            None => write!(f, "scratch  as much as the input takes, in {}", names.join(", "))?,
        }
        match self.figures.compress {
            Some(how) if self.figures.scratch_bytes != Some(0) => write!(f, ", compressed: {how}"),
            _ => Ok(()),
        }
    }
}
