//! The inputs of a sort, opened and measured.

use crate::records::options::SortOptions;
use crate::store::content::{InputFile, check_contents};
use crate::store::open_files::OpenFiles;
use crate::{Error, Observer};
use xsort_disk::{Disk, FileId};

/// The inputs, by number.
pub(super) struct Inputs<'a> {
    pub(super) files: Vec<FileId>,
    /// Size of each input in bytes.
    pub(super) bytes: Vec<u64>,
    pub(super) guard: OpenFiles<'a>,
}

impl<'a> Inputs<'a> {
    /// Opens all inputs except `stream`, which has no file and no bytes yet. Refuses files that
    /// can't consist of whole records.
    pub(super) fn open(
        options: &SortOptions,
        stream: Option<usize>,
        disk: &'a dyn Disk,
        observer: &dyn Observer,
    ) -> Result<Inputs<'a>, Error> {
        let mut inputs =
            Inputs { files: Vec::new(), bytes: Vec::new(), guard: OpenFiles::none(disk) };
        let mut opened = Vec::new();
        disk.announce(&mut options.inputs.iter().map(|path| &**path));
        for (number, path) in options.inputs.iter().enumerate() {
            if Some(number) == stream {
                inputs.bytes.push(0);
                continue;
            }
            let file = disk.open_input(path)?;
            inputs.guard.add(file);
            inputs.files.push(file);
            let bytes = disk.file_bytes(file)?;
            inputs.bytes.push(bytes);
            opened.push(InputFile { path, file, bytes });
        }
        if options.format_is_assumed {
            check_contents(disk, &opened, observer)?;
        }
        let record_bytes = options.layout.record_bytes() as u64;
        for InputFile { path, bytes, .. } in opened {
            if !bytes.is_multiple_of(record_bytes) {
                return Err(Error::Input {
                    path: path.to_owned(),
                    reason: format!(
                        "its size of {bytes} bytes is no multiple of the record's {record_bytes}: \
                         {} bytes are left over; \
                         is the format right (-f, --record), and the file complete?",
                        bytes % record_bytes
                    ),
                });
            }
        }
        Ok(inputs)
    }

    /// Adds the file of the stream.
    pub(super) fn add_stream(
        &mut self,
        number: usize,
        file: FileId,
        bytes: u64,
        guard: OpenFiles<'a>,
    ) {
        self.guard.adopt(guard);
        self.files.insert(number, file);
        self.bytes[number] = bytes;
    }
}
