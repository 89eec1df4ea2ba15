//! Rows on their way in: where they end, and the keys that are made of them.

use crate::bad_row::BadRow;
use crate::header;
use crate::index::Index;
use crate::key::{KeyColumn, Place};
use crate::rows::Rows;
use crate::split::{Dialect, Row};
use crate::value::push_value;
use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use xsort_extsort::keyed::{Cut, InputRest, Keying, Piece, end_key, push_record};
use xsort_extsort::variable::InputBytes;

/// What becomes of a value that isn't of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The sort fails.
    Refuse,
    /// Its row goes to this end.
    Put(Place),
}

/// How the rows of all inputs of a sort become keyed records.
#[derive(Debug)]
pub(crate) struct RowKeying {
    pub(crate) dialect: Dialect,
    /// The columns by their indices, with what they are called in errors.
    pub(crate) columns: Vec<(usize, KeyColumn, String)>,
    pub(crate) on_bad: OnBad,
    /// What a last row gets that lacks its line end.
    pub(crate) line_end: Box<str>,
    /// Longest row in bytes.
    pub(crate) row_bytes_max: usize,
    pub(crate) counts: Counts,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) rows: AtomicU64,
    /// Bytes of rows, with the line ends that were missing.
    pub(crate) bytes: AtomicU64,
}

impl Keying for RowKeying {
    type Index = Index;

    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        at: Piece,
        index: &mut Index,
    ) -> io::Result<Cut> {
        let Piece { record: row, offset } = at;
        match index.fill(&self.dialect, bytes, is_last, records_max) {
            Ok((bytes, records)) => Ok(Cut::Records { bytes, records }),
            Err(Row::OpenQuote(quote)) => {
                Err(BadRow::OpenQuote { row, offset: offset + quote as u64 }.into())
            }
            Err(_) if bytes.len() > self.row_bytes_max => {
                Err(BadRow::TooLong { row, offset, bytes_max: self.row_bytes_max }.into())
            }
            Err(_) => Ok(Cut::Part),
        }
    }

    fn key(&self, bytes: &[u8], index: &Index, at: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let fields_max = self.columns.iter().map(|(index, ..)| index + 1).max().unwrap_or(0);
        let mut buffer = Vec::new();
        let (mut rows, mut added) = (0, 0);
        let result = index.for_each_row(bytes, fields_max, |row, fields| {
            let number = at.record + rows;
            self.push_key(keyed, bytes, fields, (number, row.start), &mut buffer)
                .map_err(|bad| bad.behind(at.offset))?;
            end_key(keyed);
            let row = &bytes[row];
            let missing = if row.ends_with(b"\n") { "" } else { &*self.line_end };
            push_record(keyed, row, missing.as_bytes());
            rows += 1;
            added += missing.len();
            Ok::<(), BadRow>(())
        });
        result?;
        self.counts.rows.fetch_add(rows, Relaxed);
        self.counts.bytes.fetch_add((bytes.len() + added) as u64, Relaxed);
        Ok(())
    }
}

impl RowKeying {
    /// Goes to the first row of an input behind its header, which must have these names.
    pub(crate) fn to_first_row(
        &self,
        from: InputBytes,
        names: Option<&Vec<Vec<u8>>>,
    ) -> io::Result<InputRest> {
        let mut rows = Rows::new(from);
        rows.take_mark()?;
        if let Some(names) = names {
            header::check(&mut rows, &self.dialect, self.row_bytes_max, names)?;
        }
        Ok(rows.into_rest())
    }

    /// Appends the key of the row at `place`, which is its number and its first byte, of which
    /// `fields` are the first fields. `buffer` is memory for a field.
    fn push_key(
        &self,
        keyed: &mut Vec<u8>,
        bytes: &[u8],
        fields: &[Range<usize>],
        (row, begin): (u64, usize),
        buffer: &mut Vec<u8>,
    ) -> Result<(), BadRow> {
        let bad_place = match self.on_bad {
            OnBad::Put(place) => place,
            OnBad::Refuse => Place::Last,
        };
        for (index, key, name) in &self.columns {
            let field = fields.get(*index);
            let value = field.map(|field| self.dialect.value(&bytes[field.clone()]));
            let is_good = push_value(keyed, key, value.as_deref(), bad_place, buffer);
            if !is_good && self.on_bad == OnBad::Refuse {
                return Err(BadRow::Value {
                    row,
                    offset: field.map_or(begin, |field| field.start) as u64,
                    column: name.clone(),
                    value: value.map(Cow::into_owned).unwrap_or_default(),
                    kind: key.kind.name(),
                });
            }
        }
        Ok(())
    }
}
