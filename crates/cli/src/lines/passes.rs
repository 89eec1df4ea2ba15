//! A merge of more inputs than there is memory for: neighbours are merged first, into files without
//! a name, until the others are few enough.
//!
//! What comes of it is the same as from one merge, also of inputs that are not in order.

use super::failure::{self, Failure};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use xsort_extsort::Error;
use xsort_extsort::variable::Source;

/// Merges neighbours in `directory` until there are at most `sources_max` sources. `merge` merges
/// some of them.
pub(super) fn reduce(
    mut sources: Vec<Source>,
    sources_max: usize,
    directory: &Path,
    mut merge: impl FnMut(Vec<Source>, &mut (dyn Write + Send)) -> Result<(), Error>,
    of_job: impl Fn(&Error) -> Failure,
) -> Result<Vec<Source>, Failure> {
    while sources.len() > sources_max {
        let file = tempfile::tempfile_in(directory)
            .map_err(|error| failure::of_scratch(directory.as_os_str(), &error))?;
        let mut output = Counted { file: Arc::new(file), bytes: 0 };
        let mut merged = Vec::with_capacity(sources.len().div_ceil(sources_max));
        let mut rest = sources.into_iter();
        while rest.len() > 0 {
            let group: Vec<Source> = rest.by_ref().take(sources_max).collect();
            let begin = output.bytes;
            merge(group, &mut output).map_err(|error| match &error {
                Error::Output(error) => {
                    Failure::of_file("write failed", directory.as_os_str(), error)
                }
                other => of_job(other),
            })?;
            let part = Part { file: Arc::clone(&output.file), at: begin, end: output.bytes };
            merged.push(Source {
                path: directory.to_owned(),
                bytes: Some(part.end - begin),
                bytes_from: Box::new(part),
                is_file: false,
            });
        }
        sources = merged;
    }
    Ok(sources)
}

/// A file that is written, and how far.
struct Counted {
    file: Arc<File>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let bytes = (&*self.file).write(buffer)?;
        self.bytes += bytes as u64;
        Ok(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A range of a file.
struct Part {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.end - self.at).unwrap_or(usize::MAX));
        let bytes = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}
