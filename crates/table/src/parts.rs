//! Rows in several files of a size, each with the header.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use xsort_disk::Disk;
use xsort_extsort::Error;
use xsort_extsort::lines::{
    CompressedOutput, CompressionThreads, FileOutput, FinishedOutput, OutputCodec,
};

/// Names of files that are parts of one output: the parts of `orders.csv.gz` are
/// `orders-00001.csv.gz` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartNames {
    /// The path's bytes before and after the number.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl PartNames {
    /// The names of the parts of an output.
    #[must_use]
    pub fn of(output: &Path) -> PartNames {
        let path = output.as_os_str().as_bytes();
        let compressed = OutputCodec::of_name(output).is_some();
        let name = output.file_name().map_or(0, |name| path.len() - name.len());
        let dots = path.iter().enumerate().skip(name + 1).filter(|(_, byte)| **byte == b'.');
        let dots: Vec<usize> = dots.map(|(at, _)| at).collect();
        let kept = dots.len().min(1 + usize::from(compressed));
        let (before, after) =
            path.split_at(dots.get(dots.len() - kept).copied().unwrap_or(path.len()));
        PartNames { before: before.to_vec(), after: after.to_vec() }
    }

    /// The path of a part, numbered from 1.
    #[must_use]
    pub fn path(&self, number: u64) -> PathBuf {
        let number = format!("-{number:05}").into_bytes();
        OsString::from_vec([&self.before[..], &number, &self.after].concat()).into()
    }

    /// The beginning of all parts' paths.
    #[must_use]
    pub fn prefix(&self) -> PathBuf {
        OsString::from_vec([&self.before[..], b"-"].concat()).into()
    }

    /// True if a path is that of a part.
    #[must_use]
    pub fn is_part(&self, path: &Path) -> bool {
        let number = path.as_os_str().as_bytes().strip_prefix(&self.before[..]);
        let number = number.and_then(|rest| rest.strip_suffix(&self.after[..]));
        let digits = number.and_then(|number| number.strip_prefix(b"-")).unwrap_or_default();
        digits.len() >= 5 && digits.iter().all(u8::is_ascii_digit)
    }
}

/// Writes whole rows to one file after the other.
pub(crate) struct PartsOutput<'d> {
    disk: &'d dyn Disk,
    names: PartNames,
    /// Bytes of a part, the header included, before compression.
    part_bytes: u64,
    header: Vec<u8>,
    compression: Option<(OutputCodec, CompressionThreads)>,
    current: Option<Part<'d>>,
    current_bytes: u64,
    finished: Vec<FinishedOutput<'d>>,
}

enum Part<'d> {
    Plain(FileOutput<'d>),
    Compressed(CompressedOutput<'static, FileOutput<'d>>),
}

impl<'d> PartsOutput<'d> {
    /// Creates parts of `part_bytes` bytes, or of one row that is longer. Each begins with
    /// `header`.
    pub(crate) fn new(
        disk: &'d dyn Disk,
        names: PartNames,
        part_bytes: u64,
        header: Vec<u8>,
        compression: Option<(OutputCodec, CompressionThreads)>,
    ) -> Self {
        let (current, current_bytes, finished) = (None, 0, Vec::new());
        PartsOutput {
            disk,
            names,
            part_bytes,
            header,
            compression,
            current,
            current_bytes,
            finished,
        }
    }

    /// The path of the current part.
    pub(crate) fn path(&self) -> PathBuf {
        self.names.path(self.finished.len() as u64 + 1)
    }

    fn begin(&mut self) -> Result<&mut Part<'d>, Error> {
        let file = FileOutput::create(self.disk, &self.path(), self.part_bytes)?;
        let mut part = match self.compression {
            Some((codec, CompressionThreads { threads, .. })) => {
                Part::Compressed(CompressedOutput::new(file, codec, threads, Vec::new()))
            }
            None => Part::Plain(file),
        };
        part.write_all(&self.header).map_err(Error::Output)?;
        self.current_bytes = self.header.len() as u64;
        Ok(self.current.insert(part))
    }

    /// Ends the current part.
    fn end(&mut self) -> Result<(), Error> {
        let file = match self.current.take() {
            None => return Ok(()),
            Some(Part::Plain(file)) => file,
            Some(Part::Compressed(mut compressed)) => {
                compressed.flush().map_err(Error::Output)?;
                compressed.into_inner()
            }
        };
        self.finished.push(file.finish()?);
        Ok(())
    }

    /// Publishes all parts, one after the other, at least one. With `sync`, each is durable first.
    pub(crate) fn publish(mut self, sync: bool) -> Result<(), Error> {
        if self.current.is_none() && self.finished.is_empty() {
            self.begin()?;
        }
        self.end()?;
        for (number, part) in (1..).zip(self.finished) {
            part.publish(sync).map_err(|error| error.of_output(&self.names.path(number)))?;
        }
        Ok(())
    }
}

impl Write for Part<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Part::Plain(file) => file.write(bytes),
            Part::Compressed(compressed) => compressed.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for PartsOutput<'_> {
    /// Writes whole rows to one part.
    fn write(&mut self, rows: &[u8]) -> io::Result<usize> {
        let other = |error: Error| match error {
            Error::Output(source) => source,
            other => io::Error::other(other.to_string()),
        };
        let is_full = self.current_bytes > self.header.len() as u64
            && self.current_bytes + rows.len() as u64 > self.part_bytes;
        if is_full {
            self.end().map_err(other)?;
        }
        let part = match &mut self.current {
            Some(part) => part,
            None => self.begin().map_err(other)?,
        };
        part.write_all(rows)?;
        self.current_bytes += rows.len() as u64;
        Ok(rows.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_before_the_extensions() {
        for (output, part) in [
            ("orders.csv", "orders-00001.csv"),
            ("a.b/my.orders.csv.gz", "a.b/my.orders-00001.csv.gz"),
            ("dir.d/orders", "dir.d/orders-00001"),
            (".csv", ".csv-00001"),
            ("x.gz", "x-00001.gz"),
        ] {
            let names = PartNames::of(output.as_ref());
            assert_eq!(names.path(1), Path::new(part));
            assert!(part.starts_with(names.prefix().to_str().unwrap()));
            assert!(names.is_part(part.as_ref()) && names.is_part(&names.path(1_234_567)));
            assert!(!names.is_part(output.as_ref()) && !names.is_part("orders-1.csv".as_ref()));
        }
    }
}
