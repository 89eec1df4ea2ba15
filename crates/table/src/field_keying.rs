//! Turns rows of fields into keyed records: finds their ends, and builds their keys.

use crate::bad_row::{BadRow, beginning};
use crate::header;
use crate::index::Index;
use crate::key::{KeyColumn, Keys};
use crate::key_layout::{KeyLayout, SampleKeys};
use crate::on_bad::OnBad;
use crate::row_rules::RowRules;
use crate::rows::Rows;
use crate::rows_read::Values;
use crate::split::{Dialect, Row};
use crate::value::{FieldWork, Pushed, push_value, refuse_long};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xsort_extsort::keyed::{Cut, InputRest, KeyWriter, Keying, Piece};
use xsort_extsort::lines::InputBytes;

/// Marks before the keys of comments, and of rows if there may be comments.
const COMMENT: u8 = 2;
const ROW: u8 = 3;

/// Cuts rows of fields and builds their keys, for all inputs of a sort.
#[derive(Debug)]
pub(crate) struct FieldKeying {
    pub(crate) rules: Arc<RowRules>,
    pub(crate) dialect: Dialect,
    /// The key columns: index, rules, and name in errors.
    pub(crate) columns: Vec<(usize, KeyColumn, String)>,
    /// How their values form keys.
    pub(crate) layout: KeyLayout,
    pub(crate) first_rows: FirstRows,
    /// The beginnings of lines above the header.
    pub(crate) top_prefixes: Vec<Vec<u8>>,
}

/// The number of fields in the inputs' first rows. Without a header, one of these rows must have
/// all key columns.
#[derive(Debug)]
pub(crate) struct FirstRows {
    /// Most fields of a first row so far; 0 until there is one.
    most_fields: AtomicUsize,
    /// The number of the input that is read last.
    last_input: u32,
}

impl FirstRows {
    pub(crate) fn new(most_fields: usize, last_input: u32) -> FirstRows {
        FirstRows { most_fields: AtomicUsize::new(most_fields), last_input }
    }

    /// Adds the first row of an input, of `fields` fields. Inputs come in order. After the last
    /// input, returns the most fields of all first rows, if there are any.
    fn take(&self, fields: Option<usize>, input: u32) -> Option<usize> {
        let fields = fields.unwrap_or(0);
        let most = self.most_fields.fetch_max(fields, Relaxed).max(fields);
        (input == self.last_input && most > 0).then_some(most)
    }
}

impl Keying for FieldKeying {
    type Index = Index;

    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        at: Piece,
        index: &mut Index,
    ) -> io::Result<Cut> {
        match index.fill(&self.dialect, bytes, is_last, records_max) {
            Ok((bytes, records)) => Ok(Cut::Records { bytes, records }),
            Err(row) => match row.error(at.record, at.offset) {
                Some(bad) => Err(bad.into()),
                None => Ok(Cut::Part { bytes_max: self.rules.room.record_bytes_max }),
            },
        }
    }

    fn too_long(&self, begun: &[u8], rest: &mut dyn Read, at: Piece) -> io::Error {
        self.rules.too_long(self.dialect, begun, rest, at)
    }

    fn key(&self, bytes: &[u8], index: &Index, at: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let fields_max = self.columns.iter().map(|(index, ..)| index + 1).max().unwrap_or(0);
        let mut rows = 0;
        let mut memory = Memory {
            work: FieldWork::new(&self.rules.collator),
            values: Values::new(self.columns.len()),
            column: Vec::new(),
        };
        let mut random = self.rules.random_keys(at);
        let has_zeros = memchr::memchr(0, bytes).is_some();
        index.for_each_row(bytes, fields_max, |row, fields| {
            let (begin, before) = (row.start, keyed.len());
            let place = (at.record + rows, begin);
            RowRules::make_room(keyed, &bytes[row.clone()]);
            if !self.push_comment_key(keyed, &bytes[row.clone()], at.input, place.0) {
                random.push_key(keyed);
                self.push_key(keyed, (bytes, fields), place, &mut memory)
                    .map_err(|bad| bad.behind(at.offset))?;
            }
            self.rules.push_row(keyed, &bytes[row.clone()], has_zeros);
            rows += 1;
            let refused = self.rules.refuse_long(keyed.len() - before, row.len(), place);
            refused.map_err(|bad| bad.behind(at.offset))
        })?;
        self.rules.read.add(rows, bytes, &self.rules.line_end, &memory.values);
        Ok(())
    }
}

/// Memory that is reused for all rows.
struct Memory<'c> {
    work: FieldWork<'c>,
    values: Values,
    /// The key of a column of a curve.
    column: Vec<u8>,
}

impl FieldKeying {
    /// Takes the ranks on curves from rows of a sample.
    pub(crate) fn take_ranks(&mut self, keys: &Keys, sample: &[u8]) {
        let (mut found, mut fields, mut at) = (SampleKeys::of(keys), Vec::new(), 0);
        let mut work = FieldWork::new(&self.rules.collator);
        let mut values = Values::new(self.columns.len());
        while at < sample.len() {
            let row = self.dialect.row(&sample[at..], true, usize::MAX, &mut fields);
            let Row::Whole(bytes) = row else { break };
            let row = &sample[at..at + bytes];
            found.add(|column, key| {
                self.push_column(key, (row, &fields), (0, 0), column, (&mut work, &mut values))
            });
            at += bytes;
        }
        self.layout = found.layout(keys);
    }

    /// Moves an input to the first row after its header, which must have these names. Comments
    /// before the header count as rows.
    pub(crate) fn to_first_row<'d>(
        &self,
        from: InputBytes<'d>,
        input: u32,
        names: Option<&Vec<Vec<u8>>>,
    ) -> io::Result<InputRest<'d>> {
        let mut rows = Rows::new(from);
        rows.take_mark()?;
        rows.take_top(&self.top_prefixes)?;
        let row_bytes_max = self.rules.room.record_bytes_max;
        let Some(names) = names else {
            let fields = rows.first_fields(&self.dialect, row_bytes_max)?;
            self.refuse_missing(self.first_rows.take(fields, input))?;
            return Ok(rows.into_rest(input));
        };
        let header::Header { mut comments, comment_count, .. } =
            header::take_same(&mut rows, &self.dialect, row_bytes_max, names)?;
        let mut rest = rows.into_rest(input);
        rest.at.record -= comment_count;
        rest.at.offset -= comments.len() as u64;
        comments.append(&mut rest.read);
        Ok(InputRest { read: comments, ..rest })
    }

    /// Refuses a column that no first row has. `fields` is the length of the longest one.
    fn refuse_missing(&self, fields: Option<usize>) -> Result<(), BadRow> {
        let Some(fields) = fields else { return Ok(()) };
        let numbers = self.columns.iter().map(|(index, ..)| index + 1);
        match numbers.into_iter().find(|&number| number > fields) {
            Some(number) => Err(BadRow::NoColumnAnywhere { number, fields }),
            None => Ok(()),
        }
    }

    /// If the dialect has comments, appends the field that sorts them before all rows, in the order
    /// of the inputs. Returns true if the row is a comment.
    fn push_comment_key(&self, keyed: &mut Vec<u8>, row: &[u8], input: u32, number: u64) -> bool {
        let mut writer = KeyWriter { out: keyed, is_descending: false };
        let is_comment = self.dialect.is_comment(row);
        match (is_comment, self.dialect.comment) {
            (true, _) => {
                writer.mark(COMMENT);
                writer.fixed(&input.to_be_bytes());
                writer.fixed(&number.to_be_bytes());
            }
            (false, Some(_)) => writer.mark(ROW),
            (false, None) => {}
        }
        is_comment
    }

    /// Appends the key of a row. `place` is its number and its first byte, and `row` are the bytes
    /// that it is in, and its first fields.
    fn push_key(
        &self,
        keyed: &mut Vec<u8>,
        row: (&[u8], &[Range<usize>]),
        place: (u64, usize),
        memory: &mut Memory<'_>,
    ) -> Result<(), BadRow> {
        let Memory { work, values, column } = memory;
        values.begin_row();
        self.layout.push(keyed, column, |column, keyed| {
            self.push_column(keyed, row, place, column, (work, values))
        })
    }

    /// Appends the key of a column's value.
    fn push_column(
        &self,
        keyed: &mut Vec<u8>,
        (bytes, fields): (&[u8], &[Range<usize>]),
        (row, begin): (u64, usize),
        column: usize,
        (work, values): (&mut FieldWork<'_>, &mut Values),
    ) -> Result<(), BadRow> {
        let on_bad = self.rules.on_bad;
        let (index, key, name) = &self.columns[column];
        let field = fields.get(*index);
        let value = field.map(|field| self.dialect.value(&bytes[field.clone()]));
        refuse_long(&key.kind, value.as_deref().unwrap_or_default(), row, name)?;
        let pushed = push_value(keyed, key, value.as_deref(), on_bad, work);
        values.count(column, pushed);
        let offset = field.map_or(begin, |field| field.start) as u64;
        if pushed == Pushed::Nothing && key.is_required {
            return Err(BadRow::Missing { row, offset, column: name.clone() });
        }
        if pushed == Pushed::Bad && on_bad == OnBad::Refuse {
            return Err(BadRow::Value {
                row,
                offset,
                column: name.clone(),
                value: value.map(|value| beginning(&value)).unwrap_or_default(),
                kind: key.kind.name(),
            });
        }
        Ok(())
    }
}
