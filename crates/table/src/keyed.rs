//! An input on its way in: rows become lines of the engine, each with its key before it.
//!
//! ```text
//!  bytes --> window --> row --> key columns --> key | row --> lines
//! ```

use crate::bad_row::BadRow;
use crate::encode::{CODE, KEY_END, ROW_END, push_escaped};
use crate::header;
use crate::key::{KeyColumn, Place};
use crate::rows::{BUFFER_BYTES, Rows};
use crate::split::Dialect;
use crate::value::push_value;
use std::borrow::Cow;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What becomes of a value that isn't of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The sort fails.
    Refuse,
    /// Its row goes to this end.
    Put(Place),
}

/// How the rows of all inputs of a sort become lines.
#[derive(Debug)]
pub(crate) struct Keying {
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

/// The lines of one input.
pub(crate) struct KeyedRows {
    rows: Rows,
    keying: Arc<Keying>,
    /// The header that the input must have.
    header: Option<Arc<Vec<Vec<u8>>>>,
    fields: Vec<Range<usize>>,
    field: Vec<u8>,
    lines: Vec<u8>,
    /// How much of `lines` was taken.
    taken: usize,
}

impl KeyedRows {
    /// The rows of an input that still has its header, if there is one.
    pub(crate) fn new(
        rows: Rows,
        keying: Arc<Keying>,
        header: Option<Arc<Vec<Vec<u8>>>>,
    ) -> KeyedRows {
        let (fields, field, lines) = (Vec::new(), Vec::new(), Vec::new());
        KeyedRows { rows, keying, header, fields, field, lines, taken: 0 }
    }

    /// Makes lines until there are enough of them, or no more rows.
    fn fill(&mut self) -> io::Result<()> {
        let keying = Arc::clone(&self.keying);
        let (dialect, row_bytes_max) = (&keying.dialect, keying.row_bytes_max);
        if let Some(expected) = self.header.take() {
            header::check(&mut self.rows, dialect, row_bytes_max, &expected)?;
        }
        self.lines.clear();
        self.taken = 0;
        let fields_max = keying.columns.iter().map(|(index, ..)| index + 1).max().unwrap_or(0);
        let (mut rows, mut bytes) = (0, 0);
        while self.lines.len() < BUFFER_BYTES {
            let place = (self.rows.row, self.rows.offset);
            let row = self.rows.next(dialect, row_bytes_max, fields_max, &mut self.fields)?;
            let Some(row) = row else { break };
            keying.push_key(&mut self.lines, row, &self.fields, place, &mut self.field)?;
            push_escaped(&mut self.lines, row);
            bytes += row.len() as u64;
            if !row.ends_with(b"\n") {
                self.lines.extend_from_slice(keying.line_end.as_bytes());
                bytes += keying.line_end.len() as u64;
            }
            self.lines.push(ROW_END);
            rows += 1;
        }
        keying.counts.rows.fetch_add(rows, Relaxed);
        keying.counts.bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }
}

impl Keying {
    /// Appends the key of a row whose number and first byte are `place`. `buffer` is memory for a
    /// field.
    fn push_key(
        &self,
        lines: &mut Vec<u8>,
        row: &[u8],
        fields: &[Range<usize>],
        place: (u64, u64),
        buffer: &mut Vec<u8>,
    ) -> Result<(), BadRow> {
        let bad_place = match self.on_bad {
            OnBad::Put(place) => place,
            OnBad::Refuse => Place::Last,
        };
        for (index, key, name) in &self.columns {
            let field = fields.get(*index);
            let value = field.map(|field| self.dialect.value(&row[field.clone()]));
            let is_good = push_value(lines, key, value.as_deref(), bad_place, buffer);
            if !is_good && self.on_bad == OnBad::Refuse {
                return Err(BadRow::Value {
                    row: place.0,
                    offset: place.1 + field.map_or(0, |field| field.start as u64),
                    column: name.clone(),
                    value: value.map(Cow::into_owned).unwrap_or_default(),
                    kind: key.kind.name(),
                });
            }
        }
        lines.extend([CODE, KEY_END]);
        Ok(())
    }
}

impl Read for KeyedRows {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.lines.len() {
            self.fill()?;
        }
        let rest = &self.lines[self.taken..];
        let bytes = rest.len().min(out.len());
        out[..bytes].copy_from_slice(&rest[..bytes]);
        self.taken += bytes;
        Ok(bytes)
    }
}
