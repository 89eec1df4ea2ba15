//! Counts equal lines and writes one of each, as `uniq -c` does.
//!
//! The lines come sorted and with all duplicates, since a run on scratch has no place for counts.
//! So counting costs a full sort and one comparison per line. Two lines of bounded length are in
//! memory: the first of the current group, and the beginning of the next one if a write ends within
//! it.

use std::io::{self, ErrorKind, Write};
use xsort_kernels::lines::{LineComparer, LineKernels};

/// Most bytes of a line. Two such lines are part of the program's memory beyond the budget.
const LINE_BYTES_MAX: usize = 8 << 20;
/// Counted lines are written once the buffer has this many bytes.
const WRITE_BYTES: usize = 64 << 10;

/// Writes the first of adjacent lines with the same key, after their count.
pub struct CountedOutput<'a, W> {
    to: W,
    comparer: Box<dyn LineComparer + 'a>,
    delimiter: u8,
    /// The first line of the group, without delimiter.
    first: Vec<u8>,
    lines: u64,
    /// The beginning of a line whose end is still to come.
    begun: Vec<u8>,
    counted: Vec<u8>,
}

impl<'a, W: Write> CountedOutput<'a, W> {
    /// An output to `to`, for lines in the given order.
    pub fn new(to: W, order: &'a dyn LineKernels, delimiter: u8) -> Self {
        CountedOutput {
            to,
            comparer: order.comparer(),
            delimiter,
            first: Vec::new(),
            lines: 0,
            begun: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// Counts the next line in its group, or begins a new group.
    fn count(&mut self, line: &[u8]) -> io::Result<()> {
        if self.lines > 0 && self.comparer.same(&self.first, line) {
            self.lines += 1;
            return Ok(());
        }
        self.end_group()?;
        append(&mut self.first, line)?;
        self.lines = 1;
        Ok(())
    }

    /// Writes the group, if there is one.
    fn end_group(&mut self) -> io::Result<()> {
        if self.lines > 0 {
            write!(self.counted, "{:7} ", self.lines)?;
            self.counted.extend_from_slice(&self.first);
            self.counted.push(self.delimiter);
        }
        self.first.clear();
        self.lines = 0;
        if self.counted.len() >= WRITE_BYTES { self.write_counted() } else { Ok(()) }
    }

    fn write_counted(&mut self) -> io::Result<()> {
        self.to.write_all(&self.counted)?;
        self.counted.clear();
        Ok(())
    }
}

/// Appends to a line in memory, up to the limit.
fn append(line: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    if line.len() + bytes.len() > LINE_BYTES_MAX {
        let what = "--count takes lines of up to 8 MiB: leave it out, and count with uniq -c";
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    line.extend_from_slice(bytes);
    Ok(())
}

impl<W: Write> Write for CountedOutput<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(self.delimiter, rest) {
            if self.begun.is_empty() {
                self.count(&rest[..end])?;
            } else {
                let mut line = std::mem::take(&mut self.begun);
                append(&mut line, &rest[..end])?;
                self.count(&line)?;
                line.clear();
                self.begun = line;
            }
            rest = &rest[end + 1..];
        }
        append(&mut self.begun, rest)?;
        Ok(bytes.len())
    }

    /// Ends the last group. Call it after writing all lines.
    fn flush(&mut self) -> io::Result<()> {
        self.end_group()?;
        self.write_counted()?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_kernels::lines::ByBytes;

    fn counted(text: &[u8], step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut output = CountedOutput::new(&mut out, &ByBytes, b'\n');
        text.chunks(step).for_each(|part| output.write_all(part).unwrap());
        output.flush().unwrap();
        out
    }

    #[test]
    fn groups_are_counted_wherever_writes_end() {
        let text = b"\n\na\na\na\nab\nb\nb\n";
        let expected = b"      2 \n      3 a\n      1 ab\n      2 b\n";
        for step in 1..=text.len() {
            assert_eq!(counted(text, step), expected, "{step}");
        }
        assert_eq!(counted(b"", 1), b"");
        let many = b"x\n".repeat(12_345_678);
        assert_eq!(counted(&many, 1 << 20), b"12345678 x\n");
    }

    #[test]
    fn a_line_that_does_not_fit_is_refused() {
        let long = [b"a\n".to_vec(), vec![b'b'; LINE_BYTES_MAX + 1], b"\n".to_vec()].concat();
        for step in [1 << 20, long.len()] {
            let mut output = CountedOutput::new(io::sink(), &ByBytes, b'\n');
            let result = long.chunks(step).try_for_each(|part| output.write_all(part));
            assert!(result.unwrap_err().to_string().contains("uniq -c"));
        }
        assert_eq!(counted(&long[3..], 1 << 20).len(), LINE_BYTES_MAX + 9);
    }
}
