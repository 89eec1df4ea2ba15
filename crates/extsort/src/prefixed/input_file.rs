//! An input file that must not change while it is read.

use crate::lines::{Content, InputBytes, LinesInput, OpenInput};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use thiserror::Error;
use xsort_disk::{Disk, is_url};

/// Another process wrote to a file while it was read.
#[derive(Debug, Error)]
#[error("it was changed while it was read: try again once nobody writes to it")]
pub(super) struct Changed;

/// Returns the file at `path`, or whatever else is there, as an input that is opened when its turn
/// comes. Reading fails if a regular file's size or modification time has changed by its end.
#[must_use]
pub fn input_file(path: &Path) -> LinesInput {
    let input = LinesInput::at(path);
    let file = path.to_owned();
    let open = move || -> io::Result<InputBytes<'static>> {
        let file = File::open(&file)?;
        let opened = facts(&file.metadata()?)?;
        Ok(Box::new(InputFile { file, opened }))
    };
    match input.content {
        Content::File(_) => LinesInput { content: Content::File(OpenInput::new(open)), ..input },
        Content::Url(_) | Content::Mapped { .. } | Content::Stream(_) => input,
    }
}

/// Returns the input at `path`: a URL through the disk, anything else as [`input_file`] does.
///
/// # Errors
///
/// If there is no file at a URL, or the disk can't tell.
pub fn input_on(disk: &Arc<dyn Disk>, path: &Path) -> Result<LinesInput, xsort_disk::Error> {
    if is_url(path) { LinesInput::on(disk, path) } else { Ok(input_file(path)) }
}

type Facts = (u64, SystemTime);

fn facts(metadata: &Metadata) -> io::Result<Facts> {
    Ok((metadata.len(), metadata.modified()?))
}

struct InputFile {
    file: File,
    opened: Facts,
}

impl Read for InputFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        if bytes == 0 && !buffer.is_empty() && facts(&self.file.metadata()?)? != self.opened {
            return Err(io::Error::other(Changed));
        }
        Ok(bytes)
    }
}
