//! Plain merges of more inputs than memory allows at once: adjacent inputs are first merged to
//! temporary files.
//!
//! The result is that of one merge, even if inputs are not in order: lines that follow a larger
//! line go along with it in each of the merges.

use super::super::input::{Content, LinesInput};
use super::super::options::LinesOptions;
use super::merge::merge_part;
use super::tree::WholeMerge;
use crate::{Error, Observer};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use xsort_kernels::lines::LineKernels;

/// Why a merge pass failed.
#[derive(Debug)]
pub enum PassError {
    /// A temporary file couldn't be created.
    Create(io::Error),
    /// A temporary file couldn't be written.
    Write(io::Error),
    /// The merge failed for another reason.
    Merge(Error),
}

/// How merge passes create their temporary files.
#[derive(Clone, Copy)]
pub struct TemporaryFiles<'a> {
    /// The directory, which names the files in errors.
    pub directory: &'a Path,
    /// Creates a file that is removed once it is closed.
    pub create: &'a dyn Fn() -> io::Result<File>,
}

impl std::fmt::Debug for TemporaryFiles<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("TemporaryFiles").field(&self.directory).finish()
    }
}

/// Merges adjacent inputs until at most `inputs_max` are left. Duplicates stay.
///
/// # Errors
///
/// If an input or a temporary file fails.
pub fn merge_passes(
    options: &LinesOptions,
    order: &dyn LineKernels,
    mut inputs: Vec<LinesInput>,
    inputs_max: usize,
    temporary: TemporaryFiles<'_>,
    observer: &dyn Observer,
) -> Result<Vec<LinesInput>, PassError> {
    let whole = WholeMerge::new(options, &inputs);
    let options = LinesOptions { is_unique: false, ..options.clone() };
    while inputs.len() > inputs_max {
        let file = Arc::new((temporary.create)().map_err(PassError::Create)?);
        let mut output = PassOutput { file: Arc::clone(&file), bytes: 0 };
        let mut merged = Vec::with_capacity(inputs.len().div_ceil(inputs_max));
        let mut rest = inputs.into_iter();
        while rest.len() > 0 {
            let group: Vec<LinesInput> = rest.by_ref().take(inputs_max).collect();
            let begin = output.bytes;
            let part = (&options, &whole);
            merge_part(part, order, group, &mut output, observer).map_err(|error| match error {
                Error::Output(error) => PassError::Write(error),
                other => PassError::Merge(other),
            })?;
            let range = FileRange { file: Arc::clone(&file), at: begin, end: output.bytes };
            merged.push(LinesInput {
                path: temporary.directory.to_owned(),
                bytes: Some(output.bytes - begin),
                content: Content::Stream(Box::new(range)),
            });
        }
        inputs = merged;
    }
    Ok(inputs)
}

/// A file that merges are written to, one after the other, and its length.
struct PassOutput {
    file: Arc<File>,
    bytes: u64,
}

impl Write for PassOutput {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = (&*self.file).write(buffer)?;
        self.bytes += bytes as u64;
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A range of a file, which is read once.
struct FileRange {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for FileRange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
        let bytes = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}
