//! The place of a key in a line.
//!
//! With a separator, a field is the bytes between two of them. Without one, a field begins with the
//! blanks before it: `" a b"` has the fields `" a"` and `" b"`. Positions past the line's end are
//! at its end, and a key that would end before it begins is empty at its beginning.
//!
//! In a record of several lines, the place is that in one of its lines, or in what an expression
//! finds.

use std::ops::Range;

use memchr::memchr;

use super::super::command::{KeyEnd, KeyField};
use super::super::expression::Expression;
use super::super::records::RecordPart;

/// The highest byte that is a blank in most locales.
const SPACE: u8 = b' ';

/// The rules that separate fields.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    separator: Option<u8>,
    blank: Box<[bool; 256]>,
    /// True if no blank is above the space. Then most bytes are skipped eight at a time.
    are_blanks_low: bool,
}

/// The part of a line that is a key.
#[derive(Clone, Debug)]
pub(super) struct Span {
    part: Part,
    start_field: usize,
    start_char: usize,
    pub(super) start_blanks: bool,
    end: Option<KeyEnd>,
    end_blanks: bool,
    /// True if every byte of every line belongs to the key.
    is_whole_line: bool,
}

/// What a key counts fields in.
#[derive(Clone, Debug)]
enum Part {
    /// The line, or the whole record.
    Whole,
    /// A line of a record, after some others.
    Line {
        before: usize,
        delimiter: u8,
    },
    /// All of a record after some lines.
    From {
        before: usize,
        delimiter: u8,
    },
    Match(Expression),
}

impl Part {
    /// Its place in `record`.
    fn of(&self, record: &[u8]) -> Range<usize> {
        match self {
            Part::Whole => 0..record.len(),
            Part::Match(expression) => expression.find(record),
            &Part::From { before, delimiter } => {
                begin_after(record, before, delimiter)..record.len()
            }
            &Part::Line { before, delimiter } => {
                let begin = begin_after(record, before, delimiter);
                let end = nth(record, begin, delimiter, 1).unwrap_or(record.len());
                begin..end
            }
        }
    }
}

/// Where the line of `record` begins that comes after `before` others.
fn begin_after(record: &[u8], before: usize, delimiter: u8) -> usize {
    match before {
        0 => 0,
        _ => nth(record, 0, delimiter, before).map_or(record.len(), |end| end + 1),
    }
}

impl Span {
    /// The place of `key`. `delimiter` is the byte between the lines of a record, if records are
    /// sorted.
    pub(super) fn new(key: &KeyField, delimiter: Option<u8>) -> Self {
        let part = match (&key.part, delimiter) {
            (RecordPart::Whole, _) | (_, None) => Part::Whole,
            (&RecordPart::Line(before), Some(delimiter)) => Part::Line { before, delimiter },
            (&RecordPart::From(before), Some(delimiter)) => Part::From { before, delimiter },
            (RecordPart::Match(expression), Some(_)) => Part::Match(expression.clone()),
        };
        let begins = key.start_field == 0 && key.start_char == 0 && !key.flags.start_blanks;
        Self {
            is_whole_line: begins && key.end.is_none() && matches!(part, Part::Whole),
            part,
            start_field: key.start_field,
            start_char: key.start_char,
            start_blanks: key.flags.start_blanks,
            end: key.end,
            end_blanks: key.flags.end_blanks,
        }
    }

    /// True if every byte of every line belongs to the key.
    pub(super) fn is_whole_line(&self) -> bool {
        self.is_whole_line
    }

    /// True if the key begins where the line does, or after the blanks there.
    pub(super) fn begins_line(&self) -> bool {
        let is_first = matches!(self.part, Part::Whole | Part::Line { before: 0, .. });
        is_first && self.start_field == 0 && self.start_char == 0
    }

    /// True if the key begins where a line of a record does, of which each record has `lines`, and
    /// not the first one. The bytes before the key then show where it begins.
    pub(super) fn begins_later_line(&self, lines: u64) -> bool {
        let is_later =
            matches!(self.part, Part::Line { before, .. } if (1..lines).contains(&(before as u64)));
        is_later && self.start_field == 0 && self.start_char == 0 && !self.start_blanks
    }

    /// True if the key may end before the line does.
    pub(super) fn has_end(&self) -> bool {
        self.end.is_some() || !matches!(self.part, Part::Whole)
    }

    /// True if a byte shows that the key begins before it: one that ends a field, or that isn't a
    /// blank. Otherwise the bytes before the key show it.
    pub(super) fn is_begun_by_a_byte(&self, fields: &Fields) -> bool {
        let is_behind_field = self.start_field > 0 && fields.separator.is_none();
        self.start_char == 0 && (self.start_blanks || is_behind_field)
    }

    /// The key's part of `line`.
    #[inline]
    pub(super) fn of<'a>(&self, line: &'a [u8], fields: &Fields) -> &'a [u8] {
        if self.is_whole_line {
            return line;
        }
        let (start, end) = self.bounds(line, fields);
        &line[start..end.max(start)]
    }

    /// The offsets at which the key begins and ends in `line`. The key is empty if the end comes
    /// first.
    #[inline]
    pub(super) fn bounds(&self, line: &[u8], fields: &Fields) -> (usize, usize) {
        if let Part::Whole = self.part {
            return self.bounds_in(line, fields);
        }
        let part = self.part.of(line);
        let (start, end) = self.bounds_in(&line[part.clone()], fields);
        (part.start + start, part.start + end)
    }

    #[inline]
    fn bounds_in(&self, line: &[u8], fields: &Fields) -> (usize, usize) {
        let field = fields.skip(line, 0, self.start_field);
        let mut start = field;
        if self.start_blanks {
            start = fields.skip_blanks(line, start);
        }
        start = start.saturating_add(self.start_char).min(line.len());
        let Some(end) = self.end else { return (start, line.len()) };
        let last = match end.field.checked_sub(self.start_field) {
            Some(more) => fields.skip(line, field, more),
            None => fields.skip(line, 0, end.field),
        };
        (start, self.end_in(line, last, end.char, fields))
    }

    /// The end of a key whose last field begins at `field`.
    #[inline]
    fn end_in(&self, line: &[u8], field: usize, char: usize, fields: &Fields) -> usize {
        if char == 0 {
            return fields.end(line, field);
        }
        let from = if self.end_blanks { fields.skip_blanks(line, field) } else { field };
        from.saturating_add(char).min(line.len())
    }
}

impl Fields {
    /// Fields between separators, or by blanks.
    pub(super) fn new(separator: Option<u8>, blank: &[bool; 256]) -> Fields {
        let are_blanks_low = !blank[usize::from(SPACE) + 1..].contains(&true);
        Fields { separator, blank: Box::new(*blank), are_blanks_low }
    }

    /// The beginning of the field that is `count` fields after the one at `at`.
    #[inline]
    fn skip(&self, line: &[u8], mut at: usize, count: usize) -> usize {
        if let (Some(separator), 1..) = (self.separator, count) {
            return nth(line, at, separator, count).map_or(line.len(), |place| place + 1);
        }
        for _ in 0..count {
            at = self.end(line, at);
            if at == line.len() {
                break;
            }
        }
        at
    }

    /// The end of the field that begins at `at`.
    #[inline]
    fn end(&self, line: &[u8], at: usize) -> usize {
        if let Some(separator) = self.separator {
            return nth(line, at, separator, 1).unwrap_or(line.len());
        }
        self.skip_others(line, self.skip_blanks(line, at))
    }

    /// The position of the first blank from `at` on.
    #[inline]
    fn skip_others(&self, line: &[u8], mut at: usize) -> usize {
        while self.are_blanks_low
            && let Some(bytes) = line.get(at..).and_then(<[u8]>::first_chunk::<8>)
        {
            let mut low = low_bytes(u64::from_le_bytes(*bytes));
            while low != 0 {
                let place = at + low.trailing_zeros() as usize / 8;
                if self.blank[usize::from(line[place])] {
                    return place;
                }
                low &= low - 1;
            }
            at += 8;
        }
        while at < line.len() && !self.blank[usize::from(line[at])] {
            at += 1;
        }
        at
    }

    /// The position of the first non-blank from `at` on.
    #[inline]
    pub(super) fn skip_blanks(&self, line: &[u8], mut at: usize) -> usize {
        while at < line.len() && self.blank[usize::from(line[at])] {
            at += 1;
        }
        at
    }
}

/// The upper bit of each byte that is at most a space.
#[inline]
fn low_bytes(bytes: u64) -> u64 {
    const ALL: u64 = 0x0101_0101_0101_0101;
    let above = (bytes & (ALL * 0x7F)) + ALL * u64::from(0x7F - SPACE);
    !(above | bytes) & (ALL << 7)
}

/// Fields are short, so this many words are searched before the processor's fastest search, which
/// takes longer to start.
const WORDS: usize = 8;

/// The position of the `count`th byte equal to `wanted` in `line`, from `at` on.
#[inline]
fn nth(line: &[u8], mut at: usize, wanted: u8, mut count: usize) -> Option<usize> {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    for _ in 0..WORDS {
        let Some(bytes) = line.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        // The upper bit of each byte that is zero after an exclusive or with the wanted one.
        let rest = u64::from_le_bytes(*bytes) ^ u64::from_ne_bytes([wanted; 8]);
        let mut found = !(((rest & LOW) + LOW) | rest | LOW);
        while found != 0 {
            count -= 1;
            if count == 0 {
                return Some(at + found.trailing_zeros() as usize / 8);
            }
            found &= found - 1;
        }
        at += 8;
    }
    while let Some(length) = memchr(wanted, &line[at..]) {
        count -= 1;
        if count == 0 {
            return Some(at + length);
        }
        at += length + 1;
    }
    None
}
