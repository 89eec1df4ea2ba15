//! A window of the input: the last line that was checked, and the bytes read after it.

use std::io::{self, ErrorKind, Read};
use xsort_disk::refusals_as_errors;
use xsort_kernels::lines::last_line;

/// Most bytes per read, and the initial size of a window.
pub(super) const READ_BYTES: usize = 512 << 10;
/// The most by which the window grows at once. The added memory is touched, even if it stays
/// unused.
const STEP_BYTES_MAX: usize = 16 << 20;

pub(super) struct Window {
    pub(super) text: Vec<u8>,
    filled: usize,
    /// Bytes of the line that was checked.
    checked: usize,
    delimiter: u8,
}

/// Whole lines at the beginning of a window. The last one begins at `last`.
#[derive(Clone, Copy)]
pub(super) struct WholeLines {
    pub(super) bytes: usize,
    last: usize,
}

/// The result of a read.
pub(super) enum Brought {
    /// The read completed at least one line.
    Lines(WholeLines),
    /// The read ended within a line.
    Part,
    /// The input has ended.
    End,
}

impl Window {
    pub(super) fn new(delimiter: u8) -> Window {
        Window { text: vec![0; READ_BYTES], filled: 0, checked: 0, delimiter }
    }

    /// Reads once.
    pub(super) fn read(&mut self, bytes: &mut impl Read) -> io::Result<Brought> {
        if self.text.len() - self.filled < READ_BYTES / 2 {
            self.grow()?;
        }
        let begin = self.filled;
        let end = self.text.len().min(begin + READ_BYTES);
        self.filled += match read(bytes, &mut self.text[begin..end])? {
            0 if begin == self.checked => return Ok(Brought::End),
            0 => {
                // The last line lacks its delimiter.
                self.text[begin] = self.delimiter;
                1
            }
            bytes => bytes,
        };
        let end = memchr::memrchr(self.delimiter, &self.text[begin..self.filled]);
        let Some(end) = end else { return Ok(Brought::Part) };
        let bytes = begin + end + 1;
        let last = last_line(&self.text[..bytes], self.delimiter).start;
        Ok(Brought::Lines(WholeLines { bytes, last }))
    }

    /// True if the window has grown to hold a long line.
    pub(super) fn has_grown(&self) -> bool {
        self.text.len() > READ_BYTES
    }

    /// Drops checked lines, except the last one, in place.
    pub(super) fn pass(&mut self, lines: WholeLines) {
        self.text.copy_within(lines.last..self.filled, 0);
        self.go_behind(lines);
    }

    /// Drops checked lines, except the last one, by copying the rest to `other`, which has the same
    /// size. Returns the old memory with the lines.
    pub(super) fn pass_to(&mut self, mut other: Vec<u8>, lines: WholeLines) -> Vec<u8> {
        let rest = &self.text[lines.last..self.filled];
        other[..rest.len()].copy_from_slice(rest);
        self.go_behind(lines);
        std::mem::replace(&mut self.text, other)
    }

    fn go_behind(&mut self, lines: WholeLines) {
        self.filled -= lines.last;
        self.checked = lines.bytes - lines.last;
    }

    /// Grows the window a little, in place: the C library moves the pages of large memory to
    /// another address without copying them.
    fn grow(&mut self) -> io::Result<()> {
        let bytes = self.text.len();
        let step = (bytes / 8).clamp(READ_BYTES, STEP_BYTES_MAX);
        refusals_as_errors(|| self.text.try_reserve_exact(step)).map_err(|_| {
            let what = format!(
                "two neighbouring lines of more than {bytes} bytes together don't fit in memory: \
                 raise its limit (ulimit -v)"
            );
            io::Error::new(ErrorKind::OutOfMemory, what)
        })?;
        self.text.resize(bytes + step, 0);
        Ok(())
    }
}

fn read(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
