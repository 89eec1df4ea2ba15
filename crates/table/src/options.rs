//! What a sort of tables is asked for.

use crate::format::RowFormat;
use crate::key::Keys;
use crate::on_bad::OnBad;
use std::io::Write;
use std::path::Path;
use xsort_extsort::keyed::Keep;
use xsort_extsort::variable::OutputCodec;
use xsort_gnu::Collator;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// What rows are.
    pub format: RowFormat,
    /// Whether the first row of each input names the columns; rows of JSON have no columns.
    pub has_header: bool,
    /// What to sort by; nothing for a random order.
    pub keys: Keys,
    /// How text of the type `locale` is ordered; [`collator`](crate::collator) knows.
    pub collator: Collator,
    /// What becomes of values that aren't of their column's type.
    pub on_bad: OnBad,
    /// Of rows with equal keys only this one is written.
    pub unique: Option<Keep>,
    /// It is written with how many there were: in a first column, or in an object of JSON.
    pub counts: bool,
    /// Rows come in the random order of this number, whatever they are.
    pub shuffle: Option<u64>,
    /// Only so many rows are written.
    pub rows_max: Option<u64>,
    /// How the output is compressed, if at all.
    pub compression: Option<OutputCodec>,
}

impl TableOptions {
    /// Rows of this format by these keys, all of them, with a header where the format has one.
    pub fn new(format: RowFormat, keys: Keys) -> TableOptions {
        TableOptions {
            format,
            has_header: true,
            keys,
            collator: Collator::default(),
            on_bad: OnBad::Refuse,
            unique: None,
            counts: false,
            shuffle: None,
            rows_max: None,
            compression: None,
        }
    }
}

/// Where rows go.
pub enum TableOutput<'o> {
    /// A new file, which appears whole or not at all.
    File {
        /// Where it will be.
        path: &'o Path,
        /// Whether to wait until it is safe against a power cut.
        sync: bool,
    },
    /// Files that appear when all are written, one after the other.
    Parts {
        /// What they are named after, as [`PartNames`](crate::PartNames) has it.
        path: &'o Path,
        /// Bytes of each before they are compressed.
        part_bytes: u64,
        /// Whether to wait until all are safe against a power cut.
        sync: bool,
    },
    /// Anything that can be written to.
    Stream(&'o mut (dyn Write + Send)),
}
