//! The files of `--report` and `--trace`. They are created before the run, so that a place that
//! can't be written is refused before hours of work. Each appears whole or not at all.
//!
//! A page that can't be written after the run changes neither the run's result nor its exit status:
//! status 0 means that the output is right, and it is. A warning says what is missing.

use super::trace::trace;
use crate::exit::Failure;
use crate::job::Watched;
use crate::signals::clean_up_when_killed;
use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use xsort_disk::{Creation, DisplayPath, NewFile, is_standard_output};
use xsort_report::{Run, page};

/// The files that a command line asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReportRequest<'a> {
    /// The page.
    pub(crate) report: Option<&'a Path>,
    /// What each thread did over time, in Chrome's trace format.
    pub(crate) trace: Option<&'a Path>,
    /// True if the command only plans or checks, so there is no run to show.
    pub(crate) has_no_run: bool,
}

/// Files without a name, for what the request asks for.
#[derive(Debug, Default)]
pub(crate) struct ReportFiles {
    page: Option<PendingFile>,
    trace: Option<PendingFile>,
    /// What is missing of what was written.
    warnings: Vec<String>,
}

#[derive(Debug)]
struct PendingFile {
    path: PathBuf,
    file: NewFile,
}

impl ReportRequest<'_> {
    /// True if the run must be recorded.
    pub(crate) fn is_any(&self) -> bool {
        self.report.is_some() || self.trace.is_some()
    }
}

impl ReportFiles {
    /// Creates the files. `others` are the files and directories that the command reads and writes.
    ///
    /// # Errors
    /// If a file can't be created or would replace one of `others`, or if there is no run to show.
    pub(crate) fn create<'a>(
        request: ReportRequest<'_>,
        others: impl Iterator<Item = &'a Path> + Clone,
        no_clobber: bool,
    ) -> Result<ReportFiles, Failure> {
        if request.has_no_run && request.is_any() {
            return Err(Failure::Usage(
                "--report and --trace show a run: leave them out with --dry-run and with checks"
                    .into(),
            ));
        }
        let create = |(option, path)| PendingFile::create(option, path, others.clone(), no_clobber);
        let page = request.report.map(|path| create(("--report", path))).transpose()?;
        let trace = request.trace.map(|path| create(("--trace", path))).transpose()?;
        Ok(ReportFiles { page, trace, warnings: Vec::new() })
    }

    /// True if there is a file to write.
    pub(crate) fn is_any(&self) -> bool {
        self.page.is_some() || self.trace.is_some()
    }

    /// Writes the trace of a job that has ended, if it is wanted.
    pub(crate) fn write_trace(&mut self, watched: Option<&Watched>) {
        if let (Some(file), Some(watched)) = (self.trace.take(), watched) {
            self.warnings.extend(file.write_or_warn("the trace", Ok(trace(watched))));
        }
    }

    /// Writes the page about the run that the report `json` describes, if it is wanted. Returns a
    /// warning for each file that is missing.
    pub(crate) fn write_page(self, json: &str) -> Vec<String> {
        let ReportFiles { page: file, mut warnings, .. } = self;
        if let Some(file) = file {
            let text = Run::read(json.as_bytes()).map(|run| page(&run, None));
            let text = text.map_err(|error| error.to_string());
            warnings.extend(file.write_or_warn("the page", text));
        }
        warnings
    }
}

impl PendingFile {
    fn create<'a>(
        option: &str,
        path: &Path,
        mut others: impl Iterator<Item = &'a Path>,
        no_clobber: bool,
    ) -> Result<PendingFile, Failure> {
        if is_standard_output(path) {
            return Err(Failure::Usage(format!("{option} needs the name of a file")));
        }
        let old = fs::metadata(path).ok();
        let is_same = |other: &&Path| *other == path || is_same_file(old.as_ref(), other);
        if let Some(other) = others.find(is_same) {
            return Err(Failure::Usage(format!(
                "{option}: {} is {}, which the command reads or writes: name another file",
                DisplayPath(path),
                DisplayPath(other)
            )));
        }
        match NewFile::create(path, no_clobber)? {
            Creation::Created(file) => {
                if file.has_hidden_name() {
                    clean_up_when_killed().map_err(|source| failed(path, source))?;
                }
                Ok(PendingFile { path: path.to_owned(), file })
            }
            Creation::Obstructed(obstacle) => Err(Failure::Usage(format!(
                "{option}: {} can't be replaced, because {obstacle}: name another file",
                DisplayPath(path)
            ))),
        }
    }

    /// Writes the file about a job that is done. Returns a warning if it is missing.
    fn write_or_warn(self, what: &str, text: Result<String, String>) -> Option<String> {
        let path = self.path.clone();
        let written = text.and_then(|text| self.write(&text).map_err(|error| error.to_string()));
        let error = written.err()?;
        let path = DisplayPath(path);
        Some(format!(
            "the job is done and its result is right; only {what} {path} is missing: {error}"
        ))
    }

    fn write(self, text: &str) -> Result<(), Failure> {
        self.file.file().write_all(text.as_bytes()).map_err(|source| failed(&self.path, source))?;
        Ok(self.file.publish(true)?)
    }
}

fn failed(path: &Path, source: io::Error) -> Failure {
    Failure::File { what: format!("writing {}", DisplayPath(path)), source }
}

/// True if the path `other` leads to the file with the metadata `one`.
fn is_same_file(one: Option<&Metadata>, other: &Path) -> bool {
    let (Some(one), Ok(other)) = (one, fs::metadata(other)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Writes a page that is a command's own output.
pub(super) fn write_page(path: &Path, text: &str, read: &[PathBuf]) -> Result<(), Failure> {
    let read = read.iter().map(PathBuf::as_path);
    PendingFile::create("-o", path, read, false)?.write(text)
}
