//! Inputs whose header is read and whose keys are known.

use crate::field_keying::FieldKeying;
use crate::format::RowFormat;
use crate::header::{self, Header};
use crate::input_error::of_read;
use crate::json_keying::JsonKeying;
use crate::options::TableOptions;
use crate::row_rules::RowRules;
use crate::rows::{BYTE_ORDER_MARK, Rows};
use crate::split::Dialect;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use xsort_extsort::keyed::{
    InputRest, KeyedInput, Keying, KeyingMemory, KeyingThreads, ToFirstRecord, record_bytes_max,
};
use xsort_extsort::variable::{Content, InputBytes, LinesInput};
use xsort_extsort::{Error, LinesOptions, Observer};

/// Inputs whose keys are known.
pub(crate) struct Table {
    /// Their rows with keys.
    pub(crate) inputs: Vec<LinesInput>,
    /// What comes before all rows: a byte order mark and the header, if there are any.
    pub(crate) header: Vec<u8>,
    /// What was read is counted here.
    pub(crate) rules: Arc<RowRules>,
}

impl Table {
    /// Reads the header of the first input, and finds what to sort by.
    pub(crate) fn open(
        options: &TableOptions,
        engine: &LinesOptions,
        inputs: Vec<LinesInput>,
        observer: &dyn Observer,
    ) -> Result<Table, Error> {
        let mut inputs = inputs.into_iter();
        let Some(first) = inputs.next() else {
            return Err(Error::Settings("there is no input".into()));
        };
        let (path, mut rows) = (first.path.clone(), Rows::new(first.into_bytes()));
        let has_mark = rows.take_mark().map_err(|error| of_read(&path, error, observer))?;
        let mark = if has_mark { BYTE_ORDER_MARK } else { &[] };
        let first = (path, rows);
        let row_bytes_max = record_bytes_max(engine.budget_bytes);
        let rules = |line_end: &str| {
            Arc::new(RowRules {
                on_bad: options.on_bad,
                collator: options.collator.clone(),
                line_end: line_end.into(),
                row_bytes_max,
                shuffle: options.shuffle,
                rows: AtomicU64::new(0),
                bytes: AtomicU64::new(0),
            })
        };
        match options.format {
            RowFormat::Delimited(dialect) => {
                let (path, mut rows) = first;
                let header = read_header(options, &dialect, &mut rows, row_bytes_max)
                    .map_err(|error| of_read(&path, error, observer))?;
                let line_end = if header.bytes.ends_with(b"\r\n") { "\r\n" } else { "\n" };
                let rules = rules(line_end);
                let count = [&b"count"[..], &[dialect.delimiter]].concat();
                let is_counted = options.counts && !header.bytes.is_empty();
                let count = if is_counted { &count } else { &[][..] };
                let mut before = [mark, &header.comments, count, &header.bytes].concat();
                if before.len() > mark.len() && !before.ends_with(b"\n") {
                    before.extend(line_end.bytes());
                }
                let keyed = (Arc::clone(&rules), dialect);
                let inputs = fields(options, engine, header, keyed, (path, rows), inputs)?;
                Ok(Table { inputs, header: before, rules })
            }
            RowFormat::Ndjson => {
                let rules = rules("\n");
                let keys = header::paths(&options.keys)?;
                let keying = JsonKeying::new(Arc::clone(&rules), keys);
                let inputs = (1..).zip(inputs).map(|(number, input)| {
                    let to_first: ToFirstRecord =
                        Box::new(move |from| JsonKeying::to_first_row(from, number));
                    (input.path.clone(), input.into_bytes(), to_first)
                });
                let inputs = keyed(Arc::new(keying), engine, first, inputs);
                Ok(Table { inputs, header: mark.to_vec(), rules })
            }
        }
    }
}

/// The header of the first input; an empty one if there is none.
fn read_header(
    options: &TableOptions,
    dialect: &Dialect,
    rows: &mut Rows,
    row_bytes_max: usize,
) -> io::Result<Header> {
    match options.has_header {
        true => header::take(rows, dialect, row_bytes_max),
        false => Ok(Header::default()),
    }
}

/// Inputs of fields.
fn fields(
    options: &TableOptions,
    engine: &LinesOptions,
    header: Header,
    (rules, dialect): (Arc<RowRules>, Dialect),
    first: (PathBuf, Rows),
    others: impl Iterator<Item = LinesInput>,
) -> Result<Vec<LinesInput>, Error> {
    let has_header = options.has_header;
    let columns = match has_header && header.bytes.is_empty() {
        // Without a header there are no rows.
        true => Vec::new(),
        false => header::resolve(&options.keys, has_header.then_some(&header))?,
    };
    let keying = Arc::new(FieldKeying { rules, dialect, columns });
    let names = Arc::new(header.names);
    let others = (1..).zip(others).map(|(number, input)| {
        let names = has_header.then(|| Arc::clone(&names));
        let keying = Arc::clone(&keying);
        let to_first = move |from| keying.to_first_row(from, number, names.as_deref());
        (input.path.clone(), input.into_bytes(), Box::new(to_first) as ToFirstRecord)
    });
    Ok(keyed(Arc::clone(&keying), engine, first, others))
}

/// Inputs whose rows have their keys.
fn keyed<K: Keying>(
    keying: Arc<K>,
    engine: &LinesOptions,
    (path, rows): (PathBuf, Rows),
    others: impl Iterator<Item = (PathBuf, InputBytes, ToFirstRecord)>,
) -> Vec<LinesInput> {
    let threads = KeyingMemory::of_budget(engine.budget_bytes, engine.threads).threads;
    let threads = Arc::new(KeyingThreads::new(keying, threads));
    let InputRest { from, read, at } = rows.into_rest(0);
    let to_first: ToFirstRecord = Box::new(move |from| Ok(InputRest { from, read, at }));
    let keyed = |(path, from, to_first)| {
        let keyed = KeyedInput::new(from, to_first, Arc::clone(&threads));
        LinesInput { path, bytes: None, content: Content::Stream(Box::new(keyed)) }
    };
    std::iter::once((path, from, to_first)).chain(others).map(keyed).collect()
}
