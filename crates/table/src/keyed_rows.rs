//! Rows with their keys, for sorts whose output goes elsewhere: slices that are merged later.

use crate::input_error::of_input;
use crate::on_bad::OnBad;
use crate::open::Table;
use crate::options::TableOptions;
use crate::row_room::RowRoom;
use crate::row_rules::RowRules;
use crate::top_lines::Opening;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_extsort::lines::LinesInput;
use xsort_extsort::{Error, LinesOptions, Observer};

/// Inputs as rows with their keys.
pub struct KeyedRows {
    /// The keyed rows, in the order of [`ByKey`](xsort_extsort::keyed::ByKey).
    pub inputs: Vec<LinesInput>,
    /// The bytes before all rows: a byte order mark, comments and the header, if present.
    pub header: Vec<u8>,
    /// The engine's settings for a sort of these rows.
    pub engine: LinesOptions,
    /// Counts those that were read.
    pub bad_rows: BadRowCounter,
}

/// Counts rows with a value that isn't of its column's type, while they are read.
pub struct BadRowCounter {
    /// `None` where such a row is an error.
    rules: Option<Arc<RowRules>>,
}

impl BadRowCounter {
    /// How many there were so far; `None` where the first one is an error.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.rules.as_ref().map(|rules| rules.read.bad_rows.load(Relaxed))
    }
}

/// Reads the header of the first input, and resolves the key columns. Another input with a
/// different header is refused when it is read. `options` must ask for all rows, and its settings
/// of the output are not used. `has_columns` is true if the first input is the header of a job
/// whose rows these are a part of, so the columns are known to exist.
///
/// # Errors
///
/// [`Error::Settings`] if there is no input or no such column; a disk's error that names the input
/// if that isn't a table.
pub fn keyed_rows(
    options: &TableOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    has_columns: bool,
    observer: &dyn Observer,
) -> Result<KeyedRows, Error> {
    if let Some(curve) = options.keys.curve() {
        return Err(Error::Settings(curve.only_for_sorts()));
    }
    let (opening, inputs) = Opening::new(options, engine, inputs, observer)?;
    let Table { inputs, header, rules, .. } = Table::open(&opening, inputs, has_columns, observer)?;
    let engine = RowRoom::of(&opening.options).engine_options(&opening.engine);
    let bad_rows = BadRowCounter { rules: (options.on_bad != OnBad::Refuse).then_some(rules) };
    Ok(KeyedRows { inputs, header, engine, bad_rows })
}

/// Converts an error of a sort of keyed rows into one of a sort of tables.
pub fn of_rows(error: Error, observer: &dyn Observer) -> Error {
    of_input(error, observer)
}
