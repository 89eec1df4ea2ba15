//! A line with a row of marks for each key.

use std::ops::Range;

use super::super::order::{Order, Scratch};
use crate::locale::Locale;

/// Appends `line` as `--debug` prints it, and below it the marks of its keys, with all line ends.
pub fn annotate(
    order: &Order,
    locale: &Locale,
    line: &[u8],
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) {
    out.extend(line.iter().map(|&byte| if byte == b'\t' { b'>' } else { byte }));
    out.push(b'\n');
    for part in order.marked(line, scratch) {
        mark(locale, line, part, out);
    }
}

fn mark(locale: &Locale, line: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    let (before, width) = (columns(locale, &line[..part.start]), columns(locale, &line[part]));
    out.resize(out.len() + before, b' ');
    if width == 0 {
        out.extend_from_slice(b"^ no match for key");
    } else {
        out.resize(out.len() + width, b'_');
    }
    out.push(b'\n');
}

/// Columns that `text` takes on a terminal. Tabs take one each, other control characters none.
fn columns(locale: &Locale, text: &[u8]) -> usize {
    let of_byte =
        |byte: u8| usize::from(byte == b'\t' || !locale.classes.control[usize::from(byte)]);
    if !locale.is_utf8 {
        return text.iter().copied().map(of_byte).sum();
    }
    let of_char = |c: char| match locale.handle.columns(c) {
        Some(columns) => columns,
        None => usize::from(c == '\t' || !c.is_control()),
    };
    let mut columns = 0;
    let mut chunks = text.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        // A byte that belongs to no character takes a column. A character cut off at the end takes
        // one in all.
        let cut =
            std::str::from_utf8(chunk.invalid()).err().filter(|error| error.error_len().is_none());
        let is_cut = cut.is_some() && chunks.peek().is_none();
        columns += chunk.valid().chars().map(of_char).sum::<usize>();
        columns += if is_cut { 1 } else { chunk.invalid().len() };
    }
    columns
}
