//! Inputs whose header is read and whose keys are known.

use crate::bad_row::BadRow;
use crate::encoding::BYTE_ORDER_MARK;
use crate::field_keying::{FieldKeying, FirstRows};
use crate::format::RowFormat;
use crate::header::{self, Header};
use crate::input_error::of_read;
use crate::json_keying::JsonKeying;
use crate::key::Keys;
use crate::key_layout::KeyLayout;
use crate::options::TableOptions;
use crate::row_room::RowRoom;
use crate::row_rules::RowRules;
use crate::rows::Rows;
use crate::rows_read::RowsRead;
use crate::sample::sample_rows;
use crate::split::Dialect;
use crate::top_lines::Opening;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::DisplayPath;
use xsort_extsort::keyed::{
    InputRest, Keying, KeyingMemory, KeyingThreads, Piece, ToFirstRecord, to_keyed_again,
};
use xsort_extsort::lines::{Content, InputBytes, LinesInput};
use xsort_extsort::{Error, LinesOptions, Observer};

/// Inputs whose keys are known.
pub(crate) struct Table {
    /// The inputs, as rows with keys.
    pub(crate) inputs: Vec<LinesInput>,
    /// The bytes before all rows: a byte order mark and the header, if present.
    pub(crate) header: Vec<u8>,
    /// The header as it is in the first input: without the column of `--count`.
    pub(crate) plain_header: Vec<u8>,
    /// Counts the rows that were read.
    pub(crate) rules: Arc<RowRules>,
}

impl Table {
    /// Reads the header of the first input, and resolves the key columns. `has_columns` is true if
    /// the columns are known to exist, even without a header.
    pub(crate) fn open(
        opening: &Opening,
        inputs: Vec<LinesInput>,
        has_columns: bool,
        observer: &dyn Observer,
    ) -> Result<Table, Error> {
        let Opening { options, engine, top, .. } = opening;
        let (sample, inputs) = sampled(options, inputs)?;
        let mut inputs = inputs.into_iter();
        let Some(first) = inputs.next() else {
            return Err(Error::Settings("there is no input".into()));
        };
        let of_first = |path: &Path, error| of_read(path, error, observer);
        let (mut first, has_mark) = First::with_bytes(first, &mut inputs)
            .map_err(|(path, error)| of_first(&path, error))?;
        let mark = if has_mark { BYTE_ORDER_MARK } else { &[] };
        first.head.extend(mark);
        let row_room = RowRoom::of(options);
        let room = row_room.records(engine);
        let row_bytes_max = room.record_bytes_max;
        let rules = move |line_end: &str| {
            Arc::new(RowRules {
                on_bad: options.on_bad,
                collator: options.collator.clone(),
                line_end: line_end.into(),
                room,
                row_room,
                shuffle: options.shuffle,
                read: RowsRead::new(options.keys.columns().count()),
            })
        };
        match options.format {
            RowFormat::Delimited(dialect) => {
                let header = read_header(options, &dialect, &mut first, row_bytes_max)
                    .map_err(|error| of_first(&first.path, error))?;
                first.head.extend([&header.comments[..], &header.bytes].concat());
                let line_end = if header.bytes.ends_with(b"\r\n") { "\r\n" } else { "\n" };
                let rules = rules(line_end);
                let count = [&b"count"[..], &[dialect.delimiter]].concat();
                let is_counted = options.counts && !header.bytes.is_empty();
                let count = if is_counted { &count } else { &[][..] };
                let above = [mark, top].concat();
                let before = |count: &[u8]| before_rows(&above, count, &header, line_end);
                let (plain_header, before) = (before(&[]), before(count));
                let keyed = (Arc::clone(&rules), dialect);
                let keys = (inputs.len() == 0).then_some(&options.keys);
                let most_fields = match has_columns || options.has_header {
                    true => usize::MAX,
                    false => first
                        .fields(keys, &dialect, row_bytes_max)
                        .map_err(|error| of_first(&first.path, error))??,
                };
                let header = (header, most_fields, sample);
                let inputs = fields(options, engine, header, keyed, first, inputs)?;
                Ok(Table { inputs, header: before, plain_header, rules })
            }
            RowFormat::Ndjson => {
                let rules = rules("\n");
                let keying = JsonKeying::new(Arc::clone(&rules), &options.keys, &sample)?;
                let memory = keying_memory(options, engine, 1 + inputs.len());
                let inputs = (1..).zip(inputs);
                let inputs = inputs.map(|(number, input)| (input, JsonKeying::to_first(number)));
                let keying = (Arc::new(keying), &rules);
                let inputs = keyed(keying, memory, first, inputs);
                Ok(Table { inputs, plain_header: mark.to_vec(), header: mark.to_vec(), rules })
            }
        }
    }
}

/// Returns rows of the inputs if a curve needs them, and the inputs.
fn sampled(
    options: &TableOptions,
    mut inputs: Vec<LinesInput>,
) -> Result<(Vec<u8>, Vec<LinesInput>), Error> {
    if options.keys.curve().is_none() {
        return Ok((Vec::new(), inputs));
    }
    let samples = sample_rows(&mut inputs, options.format, options.has_header)?;
    Ok((samples.into_iter().flat_map(|sample| sample.rows).collect(), inputs))
}

/// What comes before all rows: what is `above`, comments, and the header after `count`.
fn before_rows(above: &[u8], count: &[u8], header: &Header, line_end: &str) -> Vec<u8> {
    let mut before = [above, &header.comments, count, &header.bytes].concat();
    if before.len() > above.len() && !before.ends_with(b"\n") {
        before.extend(line_end.bytes());
    }
    before
}

/// The header of the first input, after the lines above it; empty if there is none.
fn read_header(
    options: &TableOptions,
    dialect: &Dialect,
    first: &mut First,
    row_bytes_max: usize,
) -> io::Result<Header> {
    let top = first.rows.take_top(&options.top_prefixes)?;
    first.head.extend(top);
    match options.has_header {
        true => header::take(&mut first.rows, dialect, row_bytes_max),
        false => Ok(Header::default()),
    }
}

/// Returns inputs of fields with their keys. `most_fields` is the number of fields in the first
/// input's first row, or `usize::MAX` if the columns are known to exist.
fn fields(
    options: &TableOptions,
    engine: &LinesOptions,
    (header, most_fields, sample): (Header, usize, Vec<u8>),
    (rules, dialect): (Arc<RowRules>, Dialect),
    first: First,
    others: impl ExactSizeIterator<Item = LinesInput>,
) -> Result<Vec<LinesInput>, Error> {
    let has_header = options.has_header;
    let columns = match has_header && header.bytes.is_empty() {
        // Without a header there are no rows.
        true => Vec::new(),
        false => header::resolve(&options.keys, has_header.then_some(&header))?,
    };
    let first_rows = FirstRows::new(most_fields, others.len() as u32);
    let (keys, rules) = (&options.keys, Arc::clone(&rules));
    let layout = KeyLayout::new(keys, |_| Vec::new());
    let top_prefixes = options.top_prefixes.clone();
    let mut keying = FieldKeying { rules, dialect, columns, layout, first_rows, top_prefixes };
    if !keying.columns.is_empty() {
        keying.take_ranks(keys, &sample);
    }
    let keying = Arc::new(keying);
    let names = Arc::new(header.names);
    let memory = keying_memory(options, engine, 1 + others.len());
    let others = (1..).zip(others).map(|(number, input)| {
        let names = has_header.then(|| Arc::clone(&names));
        let keying = Arc::clone(&keying);
        let to_first: ToFirstRecord =
            Arc::new(move |from| keying.to_first_row(from, number, names.as_deref()));
        (input, to_first)
    });
    Ok(keyed((Arc::clone(&keying), &keying.rules), memory, first, others))
}

/// The memory in which keys are built, for `inputs` inputs.
fn keying_memory(options: &TableOptions, engine: &LinesOptions, inputs: usize) -> KeyingMemory {
    let LinesOptions { budget_bytes, threads, .. } = *engine;
    match options.merges {
        _ if options.is_incremental() => KeyingMemory::prompt(),
        true => KeyingMemory::of_merge(budget_bytes, threads, inputs),
        false => KeyingMemory::of_budget(budget_bytes, threads),
    }
}

/// Returns the inputs as rows with their keys.
fn keyed<K: Keying>(
    (keying, rules): (Arc<K>, &Arc<RowRules>),
    memory: KeyingMemory,
    first: First,
    others: impl Iterator<Item = (LinesInput, ToFirstRecord)>,
) -> Vec<LinesInput> {
    let threads = Arc::new(KeyingThreads::new(keying, memory));
    let keyed = |(number, (input, to_first)): (u32, (LinesInput, ToFirstRecord))| {
        let rules = Arc::clone(rules);
        let forget = Arc::new(move || rules.read.forget());
        let again = to_keyed_again(to_first, Arc::clone(&threads), (b'\n', number), forget);
        input.mapped(None, (again.whole)()).mapped_again_by(again)
    };
    let inputs = std::iter::once(first.into_input()).chain(others);
    (0..).zip(inputs).map(keyed).collect()
}

/// The first input, whose header is read before everything else.
struct First {
    path: PathBuf,
    rows: Rows<'static>,
    /// The bytes that were taken from it.
    head: Vec<u8>,
    /// The input itself, if it can be read again from its beginning.
    file: Option<LinesInput>,
}

impl First {
    /// Opens the first input that isn't empty, or the last one if all are empty. Also returns true
    /// if it begins with a byte order mark.
    ///
    /// # Errors
    ///
    /// The path of an input that can't be read, or is in UTF-16 or UTF-32, and the reason.
    fn with_bytes(
        input: LinesInput,
        others: &mut impl Iterator<Item = LinesInput>,
    ) -> Result<(First, bool), (PathBuf, io::Error)> {
        let mut first = First::new(input);
        loop {
            let has_mark = match first.rows.take_mark() {
                Ok(has_mark) => has_mark,
                Err(error) => return Err((first.path, error)),
            };
            if has_mark || !first.rows.is_over() {
                return Ok((first, has_mark));
            }
            match others.next() {
                Some(next) => first = First::new(next),
                None => return Ok((first, false)),
            }
        }
    }

    fn new(input: LinesInput) -> First {
        let path = input.path.clone();
        let (rows, file) = match input.first_read() {
            Some(bytes) => (Rows::new(bytes), Some(input)),
            None => (Rows::new(input.into_bytes()), None),
        };
        First { path, rows, head: Vec::new(), file }
    }

    /// Number of fields in the first row; 0 if there is no row. Fails if the input can't be read.
    /// The inner result is an error if the row lacks a column that one of `keys` gives by number.
    fn fields(
        &mut self,
        keys: Option<&Keys>,
        dialect: &Dialect,
        row_bytes_max: usize,
    ) -> io::Result<Result<usize, Error>> {
        let Some(fields) = self.rows.first_fields(dialect, row_bytes_max)? else {
            return Ok(Ok(0));
        };
        Ok(match keys.and_then(|keys| header::missing_number(keys, fields)) {
            None => Ok(fields),
            Some(number) => {
                let bad = BadRow::NoColumn { number, fields };
                Err(Error::Settings(format!("{}: {bad}", DisplayPath(&self.path))))
            }
        })
    }

    /// Returns the input, with the function that moves it to its first row.
    fn into_input(self) -> (LinesInput, ToFirstRecord) {
        let First { path, rows, head, file } = self;
        let InputRest { from, read, at } = rows.into_rest(0);
        match file {
            Some(input) => (input, Arc::new(move |from| behind(from, &head, at))),
            None => {
                let content = Content::Stream(from);
                let to_first: ToFirstRecord =
                    Arc::new(move |from| Ok(InputRest { from, read: read.clone(), at }));
                (LinesInput { path, bytes: None, content }, to_first)
            }
        }
    }
}

/// Moves past the bytes that a file began with when its header was read.
fn behind<'d>(mut from: InputBytes<'d>, head: &[u8], at: Piece) -> io::Result<InputRest<'d>> {
    let mut found = Vec::with_capacity(head.len());
    from.by_ref().take(head.len() as u64).read_to_end(&mut found)?;
    if found != head {
        return Err(io::Error::other(
            "its header was changed while it was read: try again once nobody writes to it",
        ));
    }
    Ok(InputRest { from, read: Vec::new(), at })
}
