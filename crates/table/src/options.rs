//! The options of a sort of tables, and its outputs.

use crate::format::RowFormat;
use crate::key::{BestRow, Keys};
use crate::on_bad::OnBad;
use crate::split::Dialect;
use std::io::Write;
use std::path::Path;
use xsort_extsort::Error;
use xsort_extsort::keyed::Keep;
use xsort_extsort::lines::{IndexOptions, OutputCodec, Within};
use xsort_gnu::Collator;

/// The options of a sort of tables.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The format of rows.
    pub format: RowFormat,
    /// True if the first row of each input names the columns. JSON rows have no columns.
    pub has_header: bool,
    /// Lines above the rows that begin with one of these texts are no rows. Those of all inputs
    /// come first, each once, and before the header. JSON has none.
    pub top_prefixes: Vec<Vec<u8>>,
    /// The keys to sort by; empty for a random order.
    pub keys: Keys,
    /// The order of text of the type `locale`; see [`collator`](crate::collator).
    pub collator: Collator,
    /// What to do with values that are not of their column's type.
    pub on_bad: OnBad,
    /// Which one of the rows with equal keys is written; `None` to write all.
    pub unique: Option<Keep>,
    /// The number of the first `keys` that make rows equal; all of them unless set. The others only
    /// say which of equal rows is the first.
    pub unique_keys: Option<usize>,
    /// Writes the number of rows with equal keys with each row: in a new first column, or in a JSON
    /// object around the row.
    pub counts: bool,
    /// Puts the rows in a random order, which this seed determines.
    pub shuffle: Option<u64>,
    /// Writes at most this number of rows.
    pub rows_max: Option<u64>,
    /// The compression of the output, if any.
    pub compression: Option<OutputCodec>,
    /// The index that is written beside a file, if any.
    pub index: Option<IndexOptions>,
    /// True if each input is in the order of the keys already: they are merged, and their order is
    /// checked.
    pub merges: bool,
    /// The keys in whose order the inputs, read one after the other, are already; empty if that
    /// isn't known. They are the first of `keys`. Rows are then sorted as they come.
    pub sorted_by: Keys,
    /// How late a row may come, if the inputs are nearly in order. Rows are then sorted as they
    /// come.
    pub within: Option<Within>,
}

impl TableOptions {
    /// Options for all rows in this format, sorted by these keys, with a header if the format has
    /// one.
    pub fn new(format: RowFormat, keys: Keys) -> TableOptions {
        TableOptions {
            format,
            has_header: true,
            top_prefixes: Vec::new(),
            keys,
            collator: Collator::default(),
            on_bad: OnBad::Refuse,
            unique: None,
            unique_keys: None,
            counts: false,
            shuffle: None,
            rows_max: None,
            compression: None,
            index: None,
            merges: false,
            sorted_by: Keys(Vec::new()),
            within: None,
        }
    }
}

impl TableOptions {
    /// Of rows with equal keys writes the best one only; of several that are best the first of the
    /// input.
    #[must_use]
    pub fn keeping(mut self, best: BestRow) -> TableOptions {
        self.unique_keys = Some(self.keys.0.len());
        self.keys.0.push(best.0);
        self.unique = Some(Keep::First);
        self
    }

    /// True if rows are sorted as they come.
    #[must_use]
    pub fn is_incremental(&self) -> bool {
        self.within.is_some() || !self.sorted_by.0.is_empty()
    }

    /// Rows of a file before its first row: its header, if it has one.
    pub(crate) fn header_rows(&self) -> u64 {
        u64::from(self.has_header && self.format != RowFormat::Ndjson)
    }

    /// Refuses options that contradict each other.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] with what to do.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: &str| Err(Error::Settings(what.into()));
        let has_comments =
            matches!(self.format, RowFormat::Delimited(Dialect { comment: Some(_), .. }));
        if self.unique_keys.is_some() && (has_comments || self.merges || self.shuffle.is_some()) {
            return refuse(
                "the best of rows with equal keys is kept in a sort only, and without comments: \
                 leave one of both out",
            );
        }
        if self.top_prefixes.is_empty() && self.keys.have_list_in_header() {
            return refuse(
                "order(header) needs the lines above the rows: say how they begin (header-prefix)",
            );
        }
        let is_ranked = self.unique.is_some() || self.merges || self.is_incremental();
        if let (Some(curve), true) = (self.keys.curve(), is_ranked) {
            return Err(Error::Settings(curve.only_for_sorts()));
        }
        if !self.is_incremental() {
            return Ok(());
        }
        if self.within.is_some() && !self.sorted_by.0.is_empty() {
            return refuse(
                "sorted-by and within both say how far rows are in order: leave one out",
            );
        }
        if !self.keys.0.starts_with(&self.sorted_by.0) {
            return refuse(
                "sorted-by names the first keys of the sort: give the same keys first, with their \
                 types, to sort by",
            );
        }
        if self.merges || self.shuffle.is_some() {
            return refuse(
                "rows that are sorted as they come (sorted-by, within) are neither merged nor \
                 shuffled: leave one of both out",
            );
        }
        Ok(())
    }
}

/// The destination of the rows.
pub enum TableOutput<'o> {
    /// A new file, which appears complete or not at all.
    File {
        /// The path of the file.
        path: &'o Path,
        /// True to wait until the file is safe against a power cut.
        sync: bool,
    },
    /// Several files, which appear one after the other once all are written.
    Parts {
        /// The path from which their names are derived; see [`PartNames`](crate::PartNames).
        path: &'o Path,
        /// The size of each file in bytes, before compression.
        part_bytes: u64,
        /// True to wait until all files are safe against a power cut.
        sync: bool,
    },
    /// Any writer.
    Stream(&'o mut (dyn Write + Send)),
}

impl<'o> TableOutput<'o> {
    /// Returns the same destination for a second try; `None` for a writer, which can't take back
    /// what it got.
    pub fn again(&self) -> Option<TableOutput<'o>> {
        match *self {
            TableOutput::File { path, sync } => Some(TableOutput::File { path, sync }),
            TableOutput::Parts { path, part_bytes, sync } => {
                Some(TableOutput::Parts { path, part_bytes, sync })
            }
            TableOutput::Stream(_) => None,
        }
    }
}
