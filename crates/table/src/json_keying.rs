//! Turns rows of JSON into keyed records: finds their ends, and builds their keys.

use crate::bad_row::{BadRow, beginning};
use crate::header;
use crate::json::{JqMemory, JsonPath, Paths, push_json_key};
use crate::key::{KeyColumn, KeyKind, Keys};
use crate::key_layout::{KeyLayout, SampleKeys};
use crate::on_bad::OnBad;
use crate::row_rules::RowRules;
use crate::rows::Rows;
use crate::rows_read::Values;
use crate::split::Dialect;
use crate::value::{FieldWork, Pushed, push_json_value, refuse_long};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use xsort_extsort::Error;
use xsort_extsort::keyed::{Cut, KeyWriter, Keying, Piece, ToFirstRecord};

/// Cuts rows of JSON and builds their keys, for all inputs of a sort.
#[derive(Debug)]
pub(crate) struct JsonKeying {
    rules: Arc<RowRules>,
    paths: Paths,
    /// The rules of the keys and their names in errors, in the order of the paths.
    keys: Vec<(KeyColumn, String)>,
    layout: KeyLayout,
}

/// Memory that is reused for all rows.
struct Memory<'c> {
    found: Vec<Option<Range<usize>>>,
    /// The key of a column of a curve.
    column: Vec<u8>,
    value: ValueMemory<'c>,
}

/// Memory for the keys of values.
struct ValueMemory<'c> {
    jq: JqMemory,
    text: Vec<u8>,
    work: FieldWork<'c>,
    values: Values,
}

impl JsonKeying {
    /// Builds these keys; those of curves by their ranks in rows of a sample.
    ///
    /// # Errors
    /// [`Error::Settings`] if a key is no path.
    pub(crate) fn new(
        rules: Arc<RowRules>,
        keys: &Keys,
        sample: &[u8],
    ) -> Result<JsonKeying, Error> {
        let all = header::paths(keys)?;
        let paths = Paths::new(all.iter().map(|(path, _)| path));
        let named = |(path, key): (JsonPath, KeyColumn)| (key, path.to_string());
        let columns = all.into_iter().map(named).collect();
        let layout = SampleKeys::of(keys).layout(keys);
        let mut keying = JsonKeying { rules, paths, keys: columns, layout };
        keying.layout = keying.ranks(keys, sample);
        Ok(keying)
    }

    fn ranks(&self, keys: &Keys, sample: &[u8]) -> KeyLayout {
        let mut found = SampleKeys::of(keys);
        let mut memory = self.memory();
        for row in sample.split_inclusive(|&byte| byte == b'\n') {
            if self.find(row, 0, &mut memory.found).is_ok() {
                let Memory { found: ranges, value, .. } = &mut memory;
                found.add(|column, key| self.push_column(key, (row, 0), (column, ranges), value));
            }
        }
        found.layout(keys)
    }

    fn memory(&self) -> Memory<'_> {
        Memory {
            found: Vec::new(),
            column: Vec::new(),
            value: ValueMemory {
                jq: JqMemory::default(),
                text: Vec::new(),
                work: FieldWork::new(&self.rules.collator),
                values: Values::new(self.keys.len()),
            },
        }
    }

    /// Returns what moves an input, given its number, to its first row, after a byte order mark.
    pub(crate) fn to_first(input: u32) -> ToFirstRecord {
        Arc::new(move |from| {
            let mut rows = Rows::new(from);
            rows.take_mark()?;
            Ok(rows.into_rest(input))
        })
    }

    /// Finds the values of a row's keys.
    fn find(
        &self,
        row: &[u8],
        number: u64,
        found: &mut Vec<Option<Range<usize>>>,
    ) -> Result<(), BadRow> {
        match row.trim_ascii() {
            // A blank row has no values.
            [] => {
                found.clear();
                found.resize(self.keys.len(), None);
                Ok(())
            }
            _ => self.paths.find(row, found).map_err(|invalid| BadRow::of_json(invalid, number)),
        }
    }

    /// Appends the key of a row. `number` is the row's number. Offsets in errors count from the
    /// beginning of the row.
    fn push_key(
        &self,
        keyed: &mut Vec<u8>,
        row: &[u8],
        number: u64,
        memory: &mut Memory<'_>,
    ) -> Result<(), BadRow> {
        let Memory { found, column, value } = memory;
        self.find(row, number, found)?;
        value.values.begin_row();
        self.layout.push(keyed, column, |column, keyed| {
            self.push_column(keyed, (row, number), (column, found), value)
        })
    }

    /// Appends the key of a value: that of a column, whose place in the row was found.
    fn push_column(
        &self,
        keyed: &mut Vec<u8>,
        (row, number): (&[u8], u64),
        (column, found): (usize, &[Option<Range<usize>>]),
        memory: &mut ValueMemory<'_>,
    ) -> Result<(), BadRow> {
        let ValueMemory { jq, text, work, values } = memory;
        let (on_bad, (key, name), range) = (self.rules.on_bad, &self.keys[column], &found[column]);
        let value = range.clone().map(|range| &row[range]);
        refuse_long(&key.kind, value.unwrap_or_default(), number, name)?;
        let pushed = match &key.kind {
            KeyKind::Json => {
                let is_descending = key.is_descending;
                let mut writer = KeyWriter { out: keyed, is_descending };
                push_json_key(&mut writer, value, key.nulls, jq);
                Pushed::Value
            }
            _ => push_json_value(keyed, key, value, on_bad, text, work),
        };
        values.count(column, pushed);
        let offset = range.as_ref().map_or(0, |range| range.start) as u64;
        let is_missing = pushed == Pushed::Nothing || matches!(value, None | Some(b"null"));
        if is_missing && key.is_required {
            return Err(BadRow::Missing { row: number, offset, column: name.clone() });
        }
        if pushed == Pushed::Bad && on_bad == OnBad::Refuse {
            return Err(BadRow::Value {
                row: number,
                offset,
                column: name.clone(),
                value: beginning(value.unwrap_or_default()),
                kind: key.kind.name(),
            });
        }
        Ok(())
    }
}

impl Keying for JsonKeying {
    type Index = ();

    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        _: Piece,
        (): &mut (),
    ) -> io::Result<Cut> {
        let mut ends = memchr::memchr_iter(b'\n', bytes).take(records_max);
        let (mut whole, mut records) = (0, 0);
        for end in &mut ends {
            (whole, records) = (end + 1, records + 1);
        }
        let is_rest_a_row = is_last && whole < bytes.len() && records < records_max as u64;
        match (records, is_rest_a_row) {
            (_, true) => Ok(Cut::Records { bytes: bytes.len(), records: records + 1 }),
            (0, false) => Ok(Cut::Part { bytes_max: self.rules.room.record_bytes_max }),
            (_, false) => Ok(Cut::Records { bytes: whole, records }),
        }
    }

    fn too_long(&self, begun: &[u8], rest: &mut dyn Read, at: Piece) -> io::Error {
        self.rules.too_long(Dialect::TSV, begun, rest, at)
    }

    fn key(&self, bytes: &[u8], (): &(), at: Piece, keyed: &mut Vec<u8>) -> io::Result<()> {
        let mut memory = self.memory();
        let mut random = self.rules.random_keys(at);
        let has_zeros = memchr::memchr(0, bytes).is_some();
        let (mut rows, mut begin) = (0, 0);
        let ends = memchr::memchr_iter(b'\n', bytes).map(|end| end + 1);
        let rest = Some(bytes.len()).filter(|_| !bytes.is_empty() && !bytes.ends_with(b"\n"));
        for end in ends.chain(rest) {
            let (row, before) = (&bytes[begin..end], keyed.len());
            RowRules::make_room(keyed, row);
            random.push_key(keyed);
            self.push_key(keyed, row, at.record + rows, &mut memory)
                .map_err(|bad| bad.behind(at.offset + begin as u64))?;
            self.rules.push_row(keyed, row, has_zeros);
            let place = (at.record + rows, begin);
            let refused = self.rules.refuse_long(keyed.len() - before, row.len(), place);
            refused.map_err(|bad| bad.behind(at.offset))?;
            rows += 1;
            begin = end;
        }
        self.rules.read.add(rows, bytes, &self.rules.line_end, &memory.value.values);
        Ok(())
    }
}
