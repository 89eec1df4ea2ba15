//! Rows of fields on their way in: where they end, and the keys that are made of them.

use crate::bad_row::BadRow;
use crate::header;
use crate::index::Index;
use crate::key::KeyColumn;
use crate::row_rules::{OnBad, RowRules};
use crate::rows::Rows;
use crate::split::{Dialect, Row};
use crate::value::push_value;
use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use xsort_extsort::keyed::{Cut, InputRest, Keying, Piece};
use xsort_extsort::variable::InputBytes;

/// How the rows of all inputs of a sort become keyed records.
#[derive(Debug)]
pub(crate) struct FieldKeying {
    pub(crate) rules: Arc<RowRules>,
    pub(crate) dialect: Dialect,
    /// The columns by their indices, with what they are called in errors.
    pub(crate) columns: Vec<(usize, KeyColumn, String)>,
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
            Err(Row::OpenQuote(quote)) => {
                let (row, offset) = (at.record, at.offset + quote as u64);
                Err(BadRow::OpenQuote { row, offset }.into())
            }
            Err(_) => self.rules.part(bytes, at),
        }
    }

    fn key(&self, bytes: &[u8], index: &Index, at: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let fields_max = self.columns.iter().map(|(index, ..)| index + 1).max().unwrap_or(0);
        let (mut rows, mut buffer) = (0, Vec::new());
        index.for_each_row(bytes, fields_max, |row, fields| {
            let begin = row.start;
            self.push_key(keyed, bytes, fields, (at.record + rows, begin), &mut buffer)
                .map_err(|bad| bad.behind(at.offset))?;
            self.rules.push_row(keyed, &bytes[row]);
            rows += 1;
            Ok::<(), BadRow>(())
        })?;
        self.rules.count(rows, bytes);
        Ok(())
    }
}

impl FieldKeying {
    /// Goes to the first row of an input behind its header, which must have these names.
    pub(crate) fn to_first_row(
        &self,
        from: InputBytes,
        names: Option<&Vec<Vec<u8>>>,
    ) -> io::Result<InputRest> {
        let mut rows = Rows::new(from);
        rows.take_mark()?;
        if let Some(names) = names {
            header::check(&mut rows, &self.dialect, self.rules.row_bytes_max, names)?;
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
        let on_bad = self.rules.on_bad;
        for (index, key, name) in &self.columns {
            let field = fields.get(*index);
            let value = field.map(|field| self.dialect.value(&bytes[field.clone()]));
            let is_good = push_value(keyed, key, value.as_deref(), on_bad.place(), buffer);
            if !is_good && on_bad == OnBad::Refuse {
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
