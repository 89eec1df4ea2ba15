//! Filters for sorted lines on their way to the output.

use std::io::{self, Write};
use xsort_gnu::Locale;
use xsort_gnu::sort::{Order, Scratch, annotate};

/// Passes the first lines and drops the others.
pub(super) struct Top<W> {
    to: W,
    lines_left: u64,
    terminator: u8,
}

impl<W: Write> Top<W> {
    pub(super) fn new(to: W, lines: u64, terminator: u8) -> Self {
        Top { to, lines_left: lines, terminator }
    }
}

impl<W: Write> Write for Top<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut end = 0;
        while self.lines_left > 0 && end < bytes.len() {
            let line = memchr::memchr(self.terminator, &bytes[end..]);
            self.lines_left -= u64::from(line.is_some());
            end = line.map_or(bytes.len(), |at| end + at + 1);
        }
        self.to.write_all(&bytes[..end])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Prints below each line which of its bytes were compared (`--debug`).
pub(super) struct Marks<'a, W> {
    to: W,
    order: &'a Order,
    locale: &'a Locale,
    terminator: u8,
    scratch: Scratch,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
}

impl<'a, W: Write> Marks<'a, W> {
    pub(super) fn new(to: W, order: &'a Order, locale: &'a Locale, terminator: u8) -> Self {
        Marks { to, order, locale, terminator, scratch: Scratch::default(), begun: Vec::new() }
    }
}

impl<W: Write> Write for Marks<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut marked = Vec::new();
        for part in bytes.split_inclusive(|&byte| byte == self.terminator) {
            self.begun.extend_from_slice(part);
            if self.begun.pop_if(|last| *last == self.terminator).is_some() {
                annotate(self.order, self.locale, &self.begun, &mut self.scratch, &mut marked);
                self.begun.clear();
            }
        }
        self.to.write_all(&marked)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_ends_with_its_last_line_however_it_is_written() {
        for piece in 1..9 {
            let mut out = Vec::new();
            let mut top = Top::new(&mut out, 3, b'\n');
            b"a\n\nlong\nb\nc\n".chunks(piece).for_each(|bytes| top.write_all(bytes).unwrap());
            assert_eq!(out, b"a\n\nlong\n", "{piece}");
        }
    }

    #[test]
    fn lines_are_marked_however_they_are_written() {
        let locale = Locale::c();
        let order = Order::new(&xsort_gnu::sort::Command::default(), &locale, [0; 16]);
        for piece in 1..6 {
            let mut out = Vec::new();
            let mut marks = Marks::new(&mut out, &order, &locale, b'\n');
            b"ab\n\n".chunks(piece).for_each(|bytes| marks.write_all(bytes).unwrap());
            drop(marks);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                "ab\n__\n\n^ no match for key\n",
                "{piece}"
            );
        }
    }
}
