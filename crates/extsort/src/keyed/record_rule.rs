//! Which lines of a text make a record.
//!
//! A record begins where a text does, and at each line that the rule names. So a piece of a text
//! ends before the last such line in it. Only a rule that counts lines must have counted from the
//! beginning: the others see it in the line, or in the one before it.

use std::fmt;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::sync::Arc;
use xsort_kernels::lines::{count_lines, for_each_line};

/// Returns true for a line, without its delimiter, that begins a record.
pub type BeginsRecord = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Bytes of one read in the search for a record's end.
const SEARCH_BYTES: usize = 1 << 20;
/// Bytes of a line that decide whether it begins a record, in that search.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Most bytes that are searched for a record's end.
const SEARCH_BYTES_MAX: u64 = 4 << 30;

/// Which lines make a record.
#[derive(Clone)]
pub enum RecordRule {
    /// Each line is one.
    Line,
    /// This number of lines.
    Lines(NonZeroU64),
    /// A line for which this is true, and those after it for which it isn't. The lines before the
    /// first such line are a record, too.
    Begins(BeginsRecord),
    /// Lines up to a blank one, and the blank ones that follow it. A line is blank if it has at
    /// most a carriage return.
    EndsBlank,
}

impl fmt::Debug for RecordRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordRule::Line => f.write_str("Line"),
            RecordRule::Lines(lines) => write!(f, "Lines({lines})"),
            RecordRule::Begins(_) => f.write_str("Begins"),
            RecordRule::EndsBlank => f.write_str("EndsBlank"),
        }
    }
}

/// Whole records at the beginning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) bytes: usize,
    /// Their number if the rule counts lines, else the number of their lines.
    pub(super) records: u64,
}

/// The lines of a record that the text cuts short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) lines: u64,
    pub(super) wanted: u64,
}

impl RecordRule {
    /// Calls `record` with the beginning and end of each record of `text`, without its last
    /// delimiter. The text is whole records; the last may lack its delimiter.
    #[inline(always)]
    pub(super) fn for_each_record(
        &self,
        text: &[u8],
        delimiter: u8,
        mut record: impl FnMut(usize, usize),
    ) {
        if let RecordRule::Line = self {
            return for_each_line(text, delimiter, record);
        }
        let (mut walk, mut begin, mut last) = (Walk::new(self), 0, 0);
        for_each_line(text, delimiter, |from, end| {
            if walk.begins(&text[from..end]) {
                record(begin, last);
                begin = from;
            }
            last = end;
        });
        if !text.is_empty() {
            record(begin, last);
        }
    }

    /// The whole records, at least one and at most `records_max`, that `text` begins with. `None`
    /// if the first isn't whole yet. `is_last` is true if nothing follows the text.
    pub(super) fn whole(
        &self,
        text: &[u8],
        delimiter: u8,
        is_last: bool,
        records_max: usize,
    ) -> Result<Option<Whole>, Short> {
        match self {
            RecordRule::Line => Ok(whole_lines(1, text, delimiter, is_last, records_max)),
            RecordRule::Lines(wanted) => {
                let wanted = wanted.get();
                let whole = whole_lines(wanted, text, delimiter, is_last, records_max);
                let lines = || lines_of(text, delimiter);
                match whole {
                    None if is_last => Err(Short { lines: lines(), wanted }),
                    whole => Ok(whole),
                }
            }
            RecordRule::Begins(_) | RecordRule::EndsBlank => {
                Ok(self.before_beginning(text, delimiter, is_last, records_max))
            }
        }
    }

    /// The records before the last one that begins within the first `lines_max` lines; if only one
    /// begins there, the first record.
    fn before_beginning(
        &self,
        text: &[u8],
        delimiter: u8,
        is_last: bool,
        lines_max: usize,
    ) -> Option<Whole> {
        let of = |bytes| Whole { bytes, records: lines_of(&text[..bytes], delimiter) };
        let is_few = count_lines(text, delimiter) < lines_max;
        if is_last && is_few {
            return Some(of(text.len()));
        }
        let mut ends = memchr::memchr_iter(delimiter, text);
        let near = if is_few { None } else { ends.nth(lines_max - 1) };
        let near = near.map_or(text.len(), |end| end + 1);
        let begins = |&at: &usize| {
            let end = memchr::memchr(delimiter, &text[at..]).map(|bytes| at + bytes);
            let end = end.or_else(|| (is_last && at < text.len()).then_some(text.len()));
            end.is_some_and(|end| self.begins_at(text, delimiter, at, end))
        };
        let before = memchr::memrchr_iter(delimiter, &text[..near]).map(|end| end + 1);
        let after = memchr::memchr_iter(delimiter, &text[near..]).map(|end| near + end + 1);
        let cut = before.into_iter().find(begins).or_else(|| after.into_iter().find(begins));
        cut.or_else(|| is_last.then_some(text.len())).map(of)
    }

    /// True if the line from `at` to `end`, which isn't the first one, begins a record. For rules
    /// that don't count lines.
    fn begins_at(&self, text: &[u8], delimiter: u8, at: usize, end: usize) -> bool {
        match self {
            RecordRule::Line | RecordRule::Lines(_) => true,
            RecordRule::Begins(begins) => begins(&text[at..end]),
            RecordRule::EndsBlank => {
                !is_blank(&text[at..end]) && ends_blank(&text[..at - 1], delimiter)
            }
        }
    }

    /// The bytes that a record lacks at its end, if it isn't the last one's delimiter: a blank line
    /// of its own, so that the record stays apart from the one that follows it in the output.
    pub(super) fn missing(&self, record: &[u8], delimiter: u8) -> &'static [u8] {
        let is_whole = !matches!(self, RecordRule::EndsBlank) || ends_blank(record, delimiter);
        match (is_whole, delimiter) {
            (true, _) => b"",
            (false, b'\n') if record.ends_with(b"\r") => b"\n\r",
            (false, b'\n') => b"\n",
            (false, _) => b"\0",
        }
    }

    /// The length of the record that `begun` begins with, which isn't whole there, and true if its
    /// end was found. `rest` reads what follows.
    pub(super) fn record_bytes(
        &self,
        begun: &[u8],
        rest: &mut dyn Read,
        delimiter: u8,
    ) -> io::Result<(u64, bool)> {
        let mut search = Search { walk: Walk::new(self), bytes: 0, line_bytes: 0, line: vec![] };
        if let Some(bytes) = search.take(begun, delimiter) {
            return Ok((bytes, true));
        }
        let mut buffer = vec![0; SEARCH_BYTES];
        while search.bytes + search.line_bytes < SEARCH_BYTES_MAX {
            match rest.read(&mut buffer) {
                Ok(0) => return Ok((search.at_end(), true)),
                Ok(read) => {
                    if let Some(bytes) = search.take(&buffer[..read], delimiter) {
                        return Ok((bytes, true));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok((search.bytes + search.line_bytes, false))
    }
}

/// A search for the end of a record.
struct Search<'r> {
    walk: Walk<'r>,
    /// Bytes of its whole lines so far.
    bytes: u64,
    /// Bytes of the line that isn't whole yet, and its first ones.
    line_bytes: u64,
    line: Vec<u8>,
}

impl Search<'_> {
    /// Takes the next bytes. Returns the record's length if it ends in them.
    fn take(&mut self, mut text: &[u8], delimiter: u8) -> Option<u64> {
        while !text.is_empty() {
            let end = memchr::memchr(delimiter, text);
            let part = &text[..end.unwrap_or(text.len())];
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            self.line_bytes += part.len() as u64;
            let end = end?;
            if self.walk.begins(&self.line) {
                return Some(self.bytes);
            }
            self.bytes += self.line_bytes + 1;
            self.line_bytes = 0;
            self.line.clear();
            if self.walk.is_over() {
                return Some(self.bytes);
            }
            text = &text[end + 1..];
        }
        None
    }

    /// The record's length if nothing follows.
    fn at_end(mut self) -> u64 {
        let is_next = self.line_bytes > 0 && self.walk.begins(&self.line);
        if is_next { self.bytes } else { self.bytes + self.line_bytes }
    }
}

/// Tells line by line where records begin.
struct Walk<'r> {
    rule: &'r RecordRule,
    /// Lines of the record so far.
    lines: u64,
    is_after_blank: bool,
}

impl Walk<'_> {
    fn new(rule: &RecordRule) -> Walk<'_> {
        Walk { rule, lines: 0, is_after_blank: false }
    }

    /// True if the next line begins a record, and isn't the first line.
    #[inline(always)]
    fn begins(&mut self, line: &[u8]) -> bool {
        let begins = match self.rule {
            RecordRule::Line => self.lines == 1,
            RecordRule::Lines(lines) => self.lines == lines.get(),
            RecordRule::Begins(begins) => self.lines > 0 && begins(line),
            RecordRule::EndsBlank => {
                let is_blank = is_blank(line);
                let is_after = std::mem::replace(&mut self.is_after_blank, is_blank);
                is_after && !is_blank
            }
        };
        self.lines = if begins { 1 } else { self.lines + 1 };
        begins
    }

    /// True if the record is whole, whatever comes next.
    fn is_over(&self) -> bool {
        matches!(self.rule, RecordRule::Lines(lines) if self.lines == lines.get())
    }
}

fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"" | b"\r")
}

/// True if the last line of `text`, which lacks its delimiter, is blank.
fn ends_blank(text: &[u8], delimiter: u8) -> bool {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    text.last().is_none_or(|&last| last == delimiter)
}

/// The number of lines; the last one may lack its delimiter.
fn lines_of(text: &[u8], delimiter: u8) -> u64 {
    let has_more = text.last().is_some_and(|&last| last != delimiter);
    count_lines(text, delimiter) as u64 + u64::from(has_more)
}

/// The whole records of `wanted` lines at the beginning of `text`.
fn whole_lines(
    wanted: u64,
    text: &[u8],
    delimiter: u8,
    is_last: bool,
    records_max: usize,
) -> Option<Whole> {
    let (mut lines, mut whole) = (0, Whole { bytes: 0, records: 0 });
    for end in memchr::memchr_iter(delimiter, text) {
        lines += 1;
        if lines == wanted {
            lines = 0;
            whole = Whole { bytes: end + 1, records: whole.records + 1 };
            if whole.records == records_max as u64 {
                return Some(whole);
            }
        }
    }
    if is_last && lines + 1 == wanted && text.last().is_some_and(|&last| last != delimiter) {
        whole = Whole { bytes: text.len(), records: whole.records + 1 };
    }
    (whole.records > 0).then_some(whole)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A rule, and whether a line begins a record, by the lines before it in the input. It is
    /// another text than the rule's own.
    fn begins(rule: u8, lines: &[&[u8]]) -> bool {
        let (&line, before) = lines.split_last().unwrap();
        let blank = |line: &[u8]| line.is_empty() || line == b"\r";
        match (rule, before.last()) {
            (_, None) => true,
            (0, _) => before.len() % 3 == 0,
            (1, _) => line.first() == Some(&b'a'),
            (_, Some(last)) => blank(last) && !blank(line),
        }
    }

    pub(crate) fn rule(number: u8) -> RecordRule {
        match number {
            0 => RecordRule::Lines(NonZeroU64::new(3).unwrap()),
            1 => RecordRule::Begins(Arc::new(|line| line.first() == Some(&b'a'))),
            _ => RecordRule::EndsBlank,
        }
    }

    /// The records of a text, without the delimiter of the last one if it has none.
    pub(crate) fn records(number: u8, text: &[u8]) -> Vec<Vec<u8>> {
        let (mut lines, mut records): (Vec<&[u8]>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
        for whole in text.split_inclusive(|&byte| byte == b'\n') {
            lines.push(whole.strip_suffix(b"\n").unwrap_or(whole));
            match begins(number, &lines) {
                true => records.push(whole.to_vec()),
                false => records.last_mut().unwrap().extend_from_slice(whole),
            }
        }
        records
    }

    pub(crate) fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            3 => Just(b'\n'), 1 => Just(b'a'), 1 => Just(b'\r'), 1 => any::<u8>()
        ];
        vec(byte, 0..60)
    }

    proptest! {
        /// However a text is read, the pieces are the same records.
        #[test]
        fn pieces_are_whole_records(
            number in 0u8..3,
            text in text(),
            step in 1usize..30,
            records_max in 1usize..6,
        ) {
            let (rule, expected) = (rule(number), records(number, &text));
            let (mut from, mut to, mut found) = (0, 0, Vec::new());
            let mut short = None;
            while from < text.len() && short.is_none() {
                let is_last = to == text.len();
                match rule.whole(&text[from..to], b'\n', is_last, records_max) {
                    Ok(Some(whole)) => {
                        let piece = &text[from..from + whole.bytes];
                        rule.for_each_record(piece, b'\n', |begin, end| {
                            let whole = piece.get(begin..end + 1).unwrap_or(&piece[begin..]);
                            found.push(whole.to_vec());
                        });
                        from += whole.bytes;
                    }
                    Ok(None) => {
                        prop_assert!(!is_last);
                        to = text.len().min(to + step);
                    }
                    Err(error) => short = Some(error),
                }
            }
            if let Some(Short { lines, wanted }) = short {
                let last = expected.last().unwrap();
                prop_assert_eq!((number, wanted), (0, 3));
                prop_assert_eq!(lines, lines_of(last, b'\n'));
                prop_assert!(lines < 3);
                prop_assert_eq!(&found[..], &expected[..expected.len() - 1]);
            } else {
                prop_assert_eq!(found, expected);
            }
        }

        /// The search for a long record's end finds the record's length.
        #[test]
        fn a_long_record_has_its_length(number in 0u8..3, text in text(), begun in 0usize..60) {
            let (rule, expected) = (rule(number), records(number, &text));
            let first = expected.first().map_or(0, Vec::len);
            let begun = begun.min(first.saturating_sub(1));
            let (head, mut rest) = text.split_at(begun);
            let found = rule.record_bytes(head, &mut rest, b'\n').unwrap();
            prop_assert_eq!(found, (first as u64, true));
        }
    }

    #[test]
    fn a_record_before_a_blank_line_gets_one() {
        let rule = RecordRule::EndsBlank;
        for (record, missing) in [
            (&b"a"[..], &b"\n"[..]),
            (b"a\nb", b"\n"),
            (b"a\r\nb\r", b"\n\r"),
            (b"a\n", b""),
            (b"a\r\n\r", b""),
            (b"", b""),
            (b"\r", b""),
        ] {
            assert_eq!(rule.missing(record, b'\n'), missing, "{record:?}");
        }
        assert_eq!(RecordRule::Line.missing(b"a", b'\n'), b"");
    }
}
