//! The files of a verification as one sequence of sections.

use crate::Error;
use crate::units::Count;
use crate::verify::VerifyOptions;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use xsort_disk::{Direction, Disk, FileId, Lease, Request, align_up};
use xsort_records::Content;

/// The files as one sequence of sections.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) files: Vec<SequenceFile>,
    section_bytes: u64,
}

/// A file of the sequence.
#[derive(Debug)]
pub(super) struct SequenceFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// Number of the file's first section, counted over all files.
    first_section: u64,
}

/// A range of one file, in whole records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Sequence {
    /// Opens and measures all files before reading any, so that a bad file is found at once.
    pub(super) fn open(
        options: &VerifyOptions,
        disk: &dyn Disk,
        section_bytes: u64,
    ) -> Result<Sequence, Error> {
        let mut files = Vec::with_capacity(options.inputs.len());
        let mut first_section = 0;
        for path in &options.inputs {
            let file = disk.open_input(path)?;
            let bytes = measure(path, file, options, disk);
            disk.close(file);
            let bytes = bytes?;
            files.push(SequenceFile { path: path.clone(), bytes, first_section });
            first_section += bytes.div_ceil(section_bytes);
        }
        Ok(Sequence { files, section_bytes })
    }

    /// Total size of all files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|input| input.bytes).sum()
    }

    /// Number of sections in all files.
    pub(super) fn section_count(&self) -> u64 {
        self.files.last().map_or(0, |last| self.sections_end(last))
    }

    /// The number of the first section after a file.
    fn sections_end(&self, input: &SequenceFile) -> u64 {
        input.first_section + input.bytes.div_ceil(self.section_bytes)
    }

    /// The sections of one file, with their numbers.
    pub(super) fn sections(&self, input: &SequenceFile) -> impl Iterator<Item = (u64, Section)> {
        let (first, bytes, step) = (input.first_section, input.bytes, self.section_bytes);
        (0..bytes.div_ceil(step)).map(move |n| {
            (first + n, Section { start: n * step, end: ((n + 1) * step).min(bytes) })
        })
    }

    /// The file that contains this section.
    pub(super) fn input(&self, number: u64) -> &SequenceFile {
        let after = self.files.partition_point(|input| input.first_section <= number);
        &self.files[after - 1]
    }

    /// The section with this number.
    pub(super) fn section(&self, number: u64) -> Section {
        let input = self.input(number);
        let start = (number - input.first_section) * self.section_bytes;
        assert!(
            start < input.bytes,
            "section {number} is past the end of {}",
            input.path.display()
        );
        Section { start, end: (start + self.section_bytes).min(input.bytes) }
    }
}

/// Refuses a file whose size has changed since it was measured.
fn refuse_resized(input: &SequenceFile, bytes: u64) -> Result<(), Error> {
    if bytes == input.bytes {
        return Ok(());
    }
    let reason = format!(
        "it had {} bytes when it was looked at first and has {bytes} now; \
         run again when nobody writes to it",
        input.bytes
    );
    Err(Error::Input { path: input.path.clone(), reason })
}

/// The size of an open file in bytes. Refuses a file that doesn't consist of whole records; its
/// content explains the mistake better than its size.
fn measure(
    path: &Path,
    file: FileId,
    options: &VerifyOptions,
    disk: &dyn Disk,
) -> Result<u64, Error> {
    let bytes = disk.file_bytes(file)?;
    let record_bytes = options.layout.record_bytes() as u64;
    if bytes.is_multiple_of(record_bytes) {
        return Ok(bytes);
    }
    if options.format_is_assumed {
        let head_bytes = bytes.min(Content::HEAD_BYTES as u64) as usize;
        check_content(path, &read_head(file, head_bytes, disk)?[..head_bytes], bytes)?;
    }
    Err(partial_record(path.to_owned(), bytes, record_bytes))
}

/// Reads the first `bytes_needed` bytes of a file, and the rest of their last page.
fn read_head(file: FileId, bytes_needed: usize, disk: &dyn Disk) -> Result<Lease, Error> {
    let (reply, completions) = crossbeam_channel::bounded(1);
    let bytes = align_up(bytes_needed as u64) as usize;
    let lease = Lease::map(bytes)?;
    let direction = Direction::Read;
    disk.submit(Request { direction, file, offset: 0, bytes, bytes_needed, lease, tag: 0, reply });
    let completion = completions.recv().expect("every request is answered");
    completion.result?;
    Ok(completion.lease)
}

/// Refuses a file of `file_bytes` bytes that begins with `head`, if it doesn't look like records.
pub(super) fn check_content(path: &Path, head: &[u8], file_bytes: u64) -> Result<(), Error> {
    let head = &head[..head.len().min(Content::HEAD_BYTES)];
    match Content::of(head, head.len() as u64 == file_bytes) {
        None => Ok(()),
        Some(content) => Err(Error::Input { path: path.to_owned(), reason: content.to_string() }),
    }
}

/// The error for a file that ends within a record.
fn partial_record(path: PathBuf, bytes: u64, record_bytes: u64) -> Error {
    Error::Input {
        path,
        reason: format!(
            "partial record at the end: its size of {bytes} bytes is {} of {record_bytes} bytes \
             and {} more; check the format (-f, --record) or the file's origin",
            Count(bytes / record_bytes, "record"),
            Count(bytes % record_bytes, "byte")
        ),
    }
}

/// The open files of a sequence: files with sections that have not been judged. There is at most
/// one more than there are leases for sections.
pub(super) struct OpenSequence<'a> {
    disk: &'a dyn Disk,
    /// The files in order, each with the number of the first section after it.
    files: VecDeque<(FileId, u64)>,
}

impl<'a> OpenSequence<'a> {
    pub(super) fn new(disk: &'a dyn Disk) -> OpenSequence<'a> {
        OpenSequence { disk, files: VecDeque::new() }
    }

    /// Opens the next file.
    pub(super) fn open(
        &mut self,
        input: &SequenceFile,
        sequence: &Sequence,
    ) -> Result<FileId, Error> {
        let file = self.disk.open_input(&input.path)?;
        self.files.push_back((file, sequence.sections_end(input)));
        refuse_resized(input, self.disk.file_bytes(file)?)?;
        Ok(file)
    }

    /// Closes the files whose sections are all among the first `judged` ones. Fails if such a file
    /// has changed.
    pub(super) fn close_judged(&mut self, judged: u64) -> Result<(), Error> {
        while let Some(&(file, end)) = self.files.front()
            && end <= judged
        {
            self.files.pop_front();
            let unchanged = self.disk.check_unchanged(file);
            self.disk.close(file);
            unchanged?;
        }
        Ok(())
    }
}

impl Drop for OpenSequence<'_> {
    /// Reads in flight keep a file open.
    fn drop(&mut self) {
        self.files.iter().for_each(|(file, _)| self.disk.close(*file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_tile_the_files_and_are_found_by_number() {
        let mut files = vec![];
        let mut first_section = 0;
        for bytes in [1000, 0, 10, 300, 0] {
            files.push(SequenceFile { path: "file".into(), bytes, first_section });
            first_section += bytes.div_ceil(300u64);
        }
        let sequence = Sequence { files, section_bytes: 300 };
        let mut expected = 0;
        for input in &sequence.files {
            let mut end = 0;
            for (number, section) in sequence.sections(input) {
                assert_eq!((number, section.start), (expected, end));
                assert_eq!(sequence.section(number), section);
                end = section.end;
                expected += 1;
            }
            assert_eq!(end, input.bytes);
        }
        assert_eq!((expected, sequence.section_count()), (6, 6));
    }
}
