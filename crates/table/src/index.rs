//! Finds where the fields and rows of a text end: builds masks of 64 bytes each in one pass.
//!
//! Doubled quotes cancel out, so a byte is in quotes if the number of quotes before it is odd: a
//! prefix of exclusive ors over the mask of quotes (G. Langdale and D. Lemire, "Parsing gigabytes
//! of JSON per second", VLDB Journal 2019). This holds while quotes open only where a field begins
//! and close only where one ends. Rows with other quotes, and comments, are left to
//! [`Dialect::row`].

use crate::split::{Dialect, Fields, Row};
use std::ops::Range;
use xsort_kernels::lines::{MASK_BYTES, mask};

/// Most fields of an irregular row that are listed in memory.
const FIELDS_MAX: usize = 64 << 10;

/// Whole rows of a text.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// For each 64 bytes: a mask of the line ends that end rows.
    row_ends: Vec<u64>,
    /// For each 64 bytes: a mask of the delimiters between fields.
    delimiters: Vec<u64>,
    /// Bytes of the text that belong to rows.
    bytes: usize,
    rows: u64,
}

impl Index {
    /// Finds the whole rows at the beginning of `text`, at most `rows_max`. Returns their length in
    /// bytes and their number. `is_last` is true if nothing follows `text`, which isn't empty. If
    /// there is no whole row, the error tells how the text begins.
    pub(crate) fn fill(
        &mut self,
        dialect: &Dialect,
        text: &[u8],
        is_last: bool,
        rows_max: usize,
    ) -> Result<(usize, u64), Row> {
        let blocks = text.len().div_ceil(MASK_BYTES);
        self.row_ends.clear();
        self.delimiters.clear();
        self.row_ends.resize(blocks, 0);
        self.delimiters.resize(blocks, 0);
        (self.bytes, self.rows) = (0, 0);
        loop {
            let is_irregular = match dialect.escape {
                None => self.fill_regular(dialect, text, rows_max),
                Some(_) => true,
            };
            if self.bytes == text.len() || self.rows == rows_max as u64 {
                break;
            }
            // The next row isn't regular, or has no line end.
            let row = match is_irregular || is_last {
                true => self.fill_one(dialect, text, is_last),
                false => Row::Part,
            };
            match row {
                Row::Whole(_) if self.bytes < text.len() && self.rows < rows_max as u64 => {}
                Row::Whole(_) => break,
                unfinished if self.rows == 0 => return Err(unfinished),
                _ => break,
            }
        }
        Ok((self.bytes, self.rows))
    }

    /// Finds rows from `self.bytes` on, as long as quotes open only where fields begin. Returns
    /// true if it met an irregular row.
    fn fill_regular(&mut self, dialect: &Dialect, text: &[u8], rows_max: usize) -> bool {
        let from = self.bytes;
        // State after the bytes before this block, as masks of 64 bits or one: they end in quotes;
        // a field or a row begins after them; their last byte closes a quote, is a CR after such a
        // quote, or is any CR outside quotes.
        let (mut inside, mut is_closed, mut is_cr, mut is_outer_cr) = (0, 0, 0, 0);
        let mut is_begin = 1 << (from % MASK_BYTES);
        let mut is_row_begin = is_begin;
        let mut valid = u64::MAX << (from % MASK_BYTES);
        for number in from / MASK_BYTES..self.row_ends.len() {
            let block = block_at(text, number);
            let own = text.len() - number * MASK_BYTES;
            if own < MASK_BYTES {
                valid &= (1 << own) - 1;
            }
            let mut row_ends = mask(&block, b'\n') & valid;
            let mut delimiters = mask(&block, dialect.delimiter) & valid;
            let crs = mask(&block, b'\r') & valid;
            let (mut outer_crs, mut irregular) = (crs, 0);
            if let Some(quote) = dialect.quote {
                let quotes = mask(&block, quote) & valid;
                let in_quotes = prefix_xor(quotes) ^ inside;
                let (opening, closing) = (quotes & in_quotes, quotes & !in_quotes);
                row_ends &= !in_quotes;
                delimiters &= !in_quotes;
                outer_crs &= !in_quotes;
                let ends = row_ends | delimiters;
                let begins = ends << 1 | is_begin;
                let after_quote = closing << 1 | is_closed;
                irregular = opening & !begins & !after_quote;
                // A closing quote is followed by a delimiter, a line end, or a second quote.
                let after_quote = after_quote & !opening & !ends;
                let cr = after_quote & crs;
                let after_cr = cr << 1 | is_cr;
                irregular |= (after_quote & !cr | after_cr & !row_ends) & valid;
                inside = ((in_quotes as i64) >> 63) as u64;
                is_begin = ends >> 63;
                is_closed = closing >> 63;
                is_cr = cr >> 63;
            }
            // A CR is followed by LF, or by another CR before it.
            irregular |= (outer_crs << 1 | is_outer_cr) & !crs & !row_ends & valid;
            is_outer_cr = outer_crs >> 63;
            if let Some(comment) = dialect.comment {
                irregular |= mask(&block, comment) & (row_ends << 1 | is_row_begin);
                is_row_begin = row_ends >> 63;
            }
            if irregular != 0 {
                let before = (1 << irregular.trailing_zeros()) - 1;
                self.put(number, row_ends & before, delimiters & before, rows_max);
                return true;
            }
            self.put(number, row_ends, delimiters, rows_max);
            if self.rows >= rows_max as u64 {
                return false;
            }
            valid = u64::MAX;
        }
        false
    }

    /// Adds the masks of 64 bytes.
    fn put(&mut self, number: usize, row_ends: u64, delimiters: u64, rows_max: usize) {
        self.row_ends[number] |= row_ends;
        self.delimiters[number] |= delimiters;
        let left = rows_max as u64 - self.rows;
        let rows = u64::from(row_ends.count_ones());
        let mut counted = row_ends;
        if rows > left {
            // Stop at the limit of rows.
            for _ in 0..left - 1 {
                counted &= counted - 1;
            }
            self.bytes = number * MASK_BYTES + counted.trailing_zeros() as usize + 1;
            self.rows += left;
        } else if rows > 0 {
            self.bytes = number * MASK_BYTES + MASK_BYTES - counted.leading_zeros() as usize;
            self.rows += rows;
        }
    }

    /// Finds the end of the row at `self.bytes`, whatever its quotes.
    fn fill_one(&mut self, dialect: &Dialect, text: &[u8], is_last: bool) -> Row {
        let from = self.bytes;
        let mut fields = Vec::new();
        let row = dialect.row(&text[from..], is_last, FIELDS_MAX, &mut fields);
        if let Row::Whole(bytes) = row {
            self.clear(from, from + bytes);
            let mut ends = FieldEnds { masks: &mut self.delimiters, from, last: None, count: 0 };
            match fields.len() < FIELDS_MAX {
                true => fields.into_iter().for_each(|field| ends.take(field)),
                // Listing its fields would take more memory than the row.
                false => {
                    dialect.row(&text[from..], is_last, usize::MAX, &mut ends);
                }
            }
            if text[from + bytes - 1] == b'\n' {
                set(&mut self.row_ends, from + bytes - 1);
            }
            self.bytes += bytes;
            self.rows += 1;
        }
        row
    }

    /// Clears the bits that a pass has set within an irregular row.
    fn clear(&mut self, from: usize, to: usize) {
        for number in from / MASK_BYTES..to.div_ceil(MASK_BYTES) {
            let first = from.saturating_sub(number * MASK_BYTES);
            let keep = if first == 0 { 0 } else { (1 << first) - 1 };
            self.row_ends[number] &= keep;
            self.delimiters[number] &= keep;
        }
    }

    /// Calls `row` with the range of each row, its line end included, and its first `fields_max`
    /// fields, with their quotes and without the line end. `text` must be the text that was
    /// indexed.
    pub(crate) fn for_each_row<E>(
        &self,
        text: &[u8],
        fields_max: usize,
        mut row: impl FnMut(Range<usize>, &[Range<usize>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut fields = Vec::with_capacity(fields_max.min(64));
        let mut row_ends = Bits::new(&self.row_ends);
        let mut begin = 0;
        while begin < self.bytes {
            let line_end = row_ends.next().filter(|&end| end < self.bytes);
            let end = line_end.map_or(self.bytes, |end| end + 1);
            let field_end = line_end.unwrap_or(self.bytes);
            fields.clear();
            let mut field = begin;
            let mut delimiters = Bits::from(&self.delimiters, begin);
            while fields.len() < fields_max {
                match delimiters.next().filter(|&at| at < field_end) {
                    Some(at) => {
                        fields.push(field..at);
                        field = at + 1;
                    }
                    None => {
                        let has_cr = field_end > field && text[field_end - 1] == b'\r';
                        fields.push(field..field_end - usize::from(has_cr));
                        break;
                    }
                }
            }
            row(begin..end, &fields)?;
            begin = end;
        }
        Ok(())
    }
}

/// Marks the delimiters after a row's fields. The last field has none.
struct FieldEnds<'m> {
    masks: &'m mut [u64],
    /// Offset of the row.
    from: usize,
    /// End of the last field that was taken.
    last: Option<usize>,
    count: usize,
}

impl Fields for FieldEnds<'_> {
    fn clear(&mut self) {
        (self.last, self.count) = (None, 0);
    }

    fn count(&self) -> usize {
        self.count
    }

    fn take(&mut self, field: Range<usize>) {
        if let Some(last) = self.last.replace(self.from + field.end) {
            set(self.masks, last);
        }
        self.count += 1;
    }
}

/// Iterates over the bits that are set.
struct Bits<'m> {
    masks: &'m [u64],
    number: usize,
    rest: u64,
}

impl<'m> Bits<'m> {
    fn new(masks: &'m [u64]) -> Self {
        Bits { masks, number: 0, rest: masks.first().copied().unwrap_or(0) }
    }

    /// Starts at bit `from`, which must exist.
    #[inline(always)]
    fn from(masks: &'m [u64], from: usize) -> Self {
        let number = from / MASK_BYTES;
        Bits { masks, number, rest: masks[number] & u64::MAX << (from % MASK_BYTES) }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.number += 1;
            self.rest = *self.masks.get(self.number)?;
        }
        let at = self.number * MASK_BYTES + self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(at)
    }
}

fn set(masks: &mut [u64], at: usize) {
    masks[at / MASK_BYTES] |= 1 << (at % MASK_BYTES);
}

/// Returns 64 bytes of a text, with zeros after its end.
#[inline(always)]
fn block_at(text: &[u8], number: usize) -> [u8; MASK_BYTES] {
    let rest = &text[number * MASK_BYTES..];
    match rest.first_chunk() {
        Some(block) => *block,
        None => {
            let mut block = [0; MASK_BYTES];
            block[..rest.len()].copy_from_slice(rest);
            block
        }
    }
}

/// Bit i is the exclusive or of the bits up to i.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Rows with their fields.
    type Rows = Vec<(Range<usize>, Vec<Range<usize>>)>;

    /// The rows and fields of a text, found one by one.
    fn one_by_one(
        dialect: &Dialect,
        text: &[u8],
        is_last: bool,
        rows_max: usize,
        fields_max: usize,
    ) -> (Rows, Row) {
        let (mut rows, mut at, mut fields) = (Vec::new(), 0, Vec::new());
        while at < text.len() && rows.len() < rows_max {
            match dialect.row(&text[at..], is_last, fields_max, &mut fields) {
                Row::Whole(bytes) => {
                    let fields = fields.iter().map(|field| field.start + at..field.end + at);
                    rows.push((at..at + bytes, fields.collect()));
                    at += bytes;
                }
                unfinished => return (rows, unfinished),
            }
        }
        (rows, Row::Part)
    }

    fn check(dialect: Dialect, text: &[u8], rows_max: usize, index: &mut Index) {
        if text.is_empty() {
            return;
        }
        for is_last in [false, true] {
            for fields_max in [0, 1, 3, usize::MAX] {
                let (rows, unfinished) = one_by_one(&dialect, text, is_last, rows_max, fields_max);
                let filled = index.fill(&dialect, text, is_last, rows_max);
                if rows.is_empty() {
                    assert_eq!(filled, Err(unfinished), "{text:?}");
                    continue;
                }
                let bytes = rows.last().map_or(0, |(row, _)| row.end);
                assert_eq!(filled, Ok((bytes, rows.len() as u64)), "{text:?}");
                let mut found = Vec::new();
                let push = |row: Range<usize>, fields: &[Range<usize>]| {
                    found.push((row, fields.to_vec()));
                    Ok::<(), ()>(())
                };
                index.for_each_row(text, fields_max, push).unwrap();
                assert_eq!(found, rows, "{:?}", String::from_utf8_lossy(text));
            }
        }
    }

    /// More fields than are listed.
    #[test]
    fn irregular_rows_may_have_any_number_of_fields() {
        for fields in [FIELDS_MAX - 1, FIELDS_MAX, FIELDS_MAX + 3] {
            let text = format!("a\"{}\nb,c\n", ",".repeat(fields - 1));
            check(Dialect::CSV, text.as_bytes(), 9, &mut Index::default());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn rows_are_those_that_are_found_one_by_one(
            pieces in proptest::collection::vec(
                prop::sample::select(vec![
                    "\"", "\"\"", ",", "\n", "\r\n", "a", "\\", ",\"", "\",", "\n\"", "\"\n",
                    " ", "\r", ", \"", "\" ,", "\"\r\n", "\"\r",
                    "a longer piece without any quotes at all", ",\"quoted, and\nwith a line\",",
                ]),
                0..60,
            ),
            rows_max in prop_oneof![1usize..8, Just(1000)],
        ) {
            let text = pieces.concat();
            let mut index = Index::default();
            check(Dialect::CSV, text.as_bytes(), rows_max, &mut index);
            let escape = Dialect { escape: Some(b'\\'), ..Dialect::CSV };
            check(escape, text.as_bytes(), rows_max, &mut index);
            check(Dialect { quote: None, ..Dialect::CSV }, text.as_bytes(), rows_max, &mut index);
            let comment = Dialect { comment: Some(b'a'), ..Dialect::CSV };
            check(comment, text.as_bytes(), rows_max, &mut index);
        }
    }
}
