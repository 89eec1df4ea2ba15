//! The first step in a journal: it identifies the sort.

use super::names::CheckpointNames;
use crate::Error;
use crate::store::journal::{Journal, Step};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xsort_disk::DisplayPath;

/// The journal's version. It changes when a journal of an older version means something else.
pub(super) const FORMAT: u32 = 8;

/// The first step's content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    /// [`FORMAT`]. It is the first field because nothing after it can be read in another format.
    pub(super) format: u32,
    /// The meaning of the arguments, as far as the output or the memory depends on them.
    pub(super) meaning: String,
    /// The plan as JSON, which describes itself.
    pub(super) plan: String,
    /// Bytes of memory that the plan uses.
    pub(super) budget_bytes: u64,
    /// Number of inputs.
    pub(super) inputs: u64,
    /// True if the inputs are removed before the output is written.
    pub(super) inputs_go_early: bool,
    /// The absolute paths of the scratch files, as bytes.
    pub(super) scratch: Vec<Vec<u8>>,
}

/// The sort that a caller asks for. It resumes an interrupted sort only if both are equal.
pub(crate) struct SortRequest<'t> {
    pub(crate) output: &'t Path,
    /// The meaning of the arguments, as far as the output or the memory depends on them.
    pub(crate) meaning: &'t str,
    pub(crate) budget_bytes: u64,
    /// Number of inputs.
    pub(crate) inputs: usize,
}

impl Header {
    /// Reads the header of a journal; `None` if it has none yet.
    ///
    /// # Errors
    /// If the header is damaged or has another format.
    pub(super) fn read(journal: &Journal<'_>) -> Result<Option<Header>, Error> {
        match journal.peek::<u32>(Step::Begin)? {
            Some(FORMAT) => journal.replay(Step::Begin),
            Some(_) => Err(Error::Settings(
                "what the interrupted sort has kept is another version's: \
                 begin anew with --restart, or resume it with that version"
                    .into(),
            )),
            None => Ok(None),
        }
    }

    /// The reason why the requested sort can't continue this one's work; `None` if it can.
    pub(super) fn refusal(
        &self,
        request: &SortRequest<'_>,
        names: &CheckpointNames,
    ) -> Option<String> {
        if self.meaning != request.meaning {
            Some("the interrupted sort had other records, another order or --compress".into())
        } else if self.budget_bytes > request.budget_bytes {
            Some(format!(
                "the interrupted sort has planned with {} bytes of memory",
                self.budget_bytes
            ))
        } else if self.inputs != request.inputs as u64 {
            Some(format!("the interrupted sort had {} inputs", self.inputs))
        } else if self.scratch != names.scratch_bytes() {
            let path =
                |bytes: &Vec<u8>| DisplayPath(Path::new(OsStr::from_bytes(bytes))).to_string();
            let paths = self.scratch.iter().map(path).collect::<Vec<_>>().join(", ");
            Some(format!("the interrupted sort had its scratch elsewhere (-T): {paths}"))
        } else {
            None
        }
    }
}
