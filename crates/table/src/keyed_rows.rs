//! Rows with their keys, for sorts that end elsewhere: in slices that are merged later.

use crate::input_error::of_input;
use crate::on_bad::OnBad;
use crate::open::Table;
use crate::options::TableOptions;
use crate::row_room::RowRoom;
use crate::row_rules::RowRules;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use xsort_extsort::variable::LinesInput;
use xsort_extsort::{Error, LinesOptions, Observer};

/// Inputs whose rows have their keys.
pub struct KeyedRows {
    /// Rows behind their keys, in the order of [`ByKey`](xsort_extsort::keyed::ByKey).
    pub inputs: Vec<LinesInput>,
    /// What comes before all rows: a byte order mark, comments and the header, as far as they are
    /// there.
    pub header: Vec<u8>,
    /// The settings of a sort of these rows.
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

/// Reads the header of the first input, and finds what to sort by. The other inputs are refused,
/// once they are read, if they have another header. `options` want all rows, and nothing of the
/// output. `has_columns`: the first input is the header of a job, of whose rows these are some: so
/// the columns are known to be there.
///
/// # Errors
/// [`Error::Settings`] if there is no input or no such column; a disk's error that names the input
/// if that is no table.
pub fn keyed_rows(
    options: &TableOptions,
    engine: &LinesOptions,
    inputs: Vec<LinesInput>,
    has_columns: bool,
    observer: &dyn Observer,
) -> Result<KeyedRows, Error> {
    let Table { inputs, header, rules } =
        Table::open(options, engine, inputs, has_columns, observer)?;
    let engine = RowRoom::of(options).engine_options(engine);
    let bad_rows = BadRowCounter { rules: (options.on_bad != OnBad::Refuse).then_some(rules) };
    Ok(KeyedRows { inputs, header, engine, bad_rows })
}

/// An error of a sort of keyed rows, as that of a sort of tables.
pub fn of_rows(error: Error, observer: &dyn Observer) -> Error {
    of_input(error, observer)
}
