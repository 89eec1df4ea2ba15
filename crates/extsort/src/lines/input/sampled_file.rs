//! A file of which lines are read here and there, before the inputs are.

use super::{Content, LinesInput, MapInput};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use xsort_kernels::lines::{line_end, whole_lines_bytes};

/// Bytes that are read at a place.
pub(super) const PLACE_BYTES: usize = 64 << 10;

/// A file that is sampled.
pub(super) struct SampledFile<'i> {
    pub(super) input: &'i LinesInput,
    pub(super) bytes: u64,
    /// The byte that ends a line of the file.
    pub(super) delimiter: u8,
    map: Option<&'i Arc<dyn Fn() -> MapInput + Send + Sync>>,
}

/// Whole lines, as they are in the file.
pub(super) struct RawLines {
    /// Where they begin in the file.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl<'i> SampledFile<'i> {
    /// The file of an input; `None` if it can't be read at any place.
    pub(super) fn of(input: &'i LinesInput, delimiter: u8) -> Option<SampledFile<'i>> {
        let (open, bytes, delimiter, map) = match &input.content {
            Content::File(open) => (open, input.bytes?, delimiter, None),
            Content::Mapped { open, file_bytes, again, .. } => {
                let again = again.as_ref()?;
                (open, *file_bytes, again.delimiter, Some(&again.sample))
            }
            Content::Url(_) | Content::Stream(_) => return None,
        };
        open.is_plain.then_some(SampledFile { input, bytes, delimiter, map })
    }

    /// The whole lines within `bytes_max` bytes at `offset`; `None` if there are none.
    pub(super) fn raw_lines(&self, offset: u64, bytes_max: usize) -> io::Result<Option<RawLines>> {
        let mut bytes = vec![0; bytes_max];
        let read = File::open(&self.input.path)?.read_at(&mut bytes, offset)?;
        bytes.truncate(read);
        let begin = match offset {
            // The first lines of a file may be a header.
            0 if self.map.is_none() => 0,
            _ => line_end(&bytes, self.delimiter) + 1,
        };
        let end = whole_lines_bytes(&bytes, self.delimiter);
        if begin >= end {
            return Ok(None);
        }
        bytes.truncate(end);
        bytes.drain(..begin);
        Ok(Some(RawLines { offset: offset + begin as u64, bytes }))
    }

    /// These lines, transformed as the input is. `None` if they can't be transformed on their own.
    pub(super) fn transformed(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let Some(map) = self.map else { return Some(raw.to_vec()) };
        let mut mapped = Vec::new();
        let lines = Box::new(Cursor::new(raw.to_vec()));
        let is_mapped = map()(lines).read_to_end(&mut mapped).is_ok();
        (is_mapped && !mapped.is_empty()).then_some(mapped)
    }

    /// The whole lines at `offset`, transformed as the input is. `None` if there are none.
    pub(super) fn lines_at(&self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let raw = self.raw_lines(offset, PLACE_BYTES)?;
        Ok(raw.and_then(|raw| self.transformed(&raw.bytes)))
    }

    /// Where each of these lines ends, behind its delimiter.
    pub(super) fn line_ends(&self, raw: &[u8]) -> Vec<usize> {
        memchr::memchr_iter(self.delimiter, raw).map(|at| at + 1).collect()
    }
}
