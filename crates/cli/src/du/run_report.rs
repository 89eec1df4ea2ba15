//! The page of `--report`: the largest files and directories of the whole walk, whatever is printed
//! of it.

use super::json::JsonDocument;
use super::messages::Messages;
use super::ranking::Ranking;
use super::row::{Found, Row};
use crate::exit::Failure;
use crate::report::{ReportFiles, ReportRequest, RunFacts};
use parking_lot::Mutex;
use std::path::Path;
use xsort_gnu::du::Command;
use xsort_usage::{Usage, WalkError};

/// The number of rows on the page's map.
const ROWS_MAX: usize = 500;

/// What the page of a walk is made of.
pub(super) struct RunReport {
    files: ReportFiles,
    largest: Mutex<Ranking>,
    document: JsonDocument,
}

impl RunReport {
    /// Creates the file of `--report`. `None` if there is no such option.
    ///
    /// # Errors
    /// If it can't be created.
    pub(super) fn create(command: &Command) -> Result<Option<RunReport>, Failure> {
        let Some(path) = &command.extras.report else { return Ok(None) };
        let request = ReportRequest { report: Some(Path::new(path)), ..ReportRequest::default() };
        let others = command.files.iter().chain(&command.files0_from).map(Path::new);
        let files = ReportFiles::create(request, others, false)?;
        let largest = Mutex::new(Ranking::largest(ROWS_MAX));
        Ok(Some(RunReport { files, largest, document: JsonDocument::new() }))
    }

    /// Adds a file or directory that is counted completely.
    pub(super) fn add(&self, found: &Found, path: impl FnOnce() -> Vec<u8>) {
        let figure = found.total.allocated_bytes;
        let mut largest = self.largest.lock();
        if largest.has_place_for(figure) {
            let Found { depth, is_directory, files, total: usage, .. } = *found;
            largest.add(Row { path: path(), depth, is_directory, files, usage, figure });
        }
    }

    /// Adds what could not be counted.
    pub(super) fn add_error(&self, error: &WalkError) {
        self.document.add_error(error);
    }

    /// Writes the page.
    pub(super) fn write(self, total: &Usage, facts: Option<&RunFacts>, messages: Messages<'_>) {
        let RunReport { files, largest, document } = self;
        let mut json = Vec::new();
        for row in largest.into_inner().into_sorted() {
            document.write(&row, &mut json);
        }
        document.end(total, facts, &mut json);
        let json = String::from_utf8_lossy(&json);
        for warning in files.write_page(&json) {
            messages.print(format!("warning: {warning}").as_bytes());
        }
    }
}
