//! Rows that are in order in their first keys, or nearly in order, sorted as they come.

use crate::first_keys::{ByFirstFields, FirstNumber};
use crate::format::RowFormat;
use crate::options::TableOptions;
use std::io::Write;
use xsort_disk::Disk;
use xsort_extsort::keyed::{ByKey, RestoredOutput, sort_keyed};
use xsort_extsort::lines::{
    Incremental, LineKernels, LinesInput, Presorted, SortedOutput, Within, sort_incrementally,
};
use xsort_extsort::{Error, LinesOptions, LinesReport, Observer, sort_lines};

/// How rows leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowForm {
    /// As they are in the input.
    Plain,
    /// With their keys.
    Keyed,
}

/// A running sort of rows as they come.
pub(crate) struct RowsAsTheyCome<'a> {
    pub(crate) options: &'a TableOptions,
    pub(crate) engine: &'a LinesOptions,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) observer: &'a dyn Observer,
}

impl RowsAsTheyCome<'_> {
    /// Sorts keyed rows to `to`. Rows that come too late go to `late`, without their keys.
    pub(crate) fn sort(
        &self,
        inputs: Vec<LinesInput>,
        form: RowForm,
        to: &mut (dyn Write + Send),
        late: Option<&mut (dyn Write + Send)>,
    ) -> Result<LinesReport, Error> {
        let RowsAsTheyCome { options, engine, disk, observer } = *self;
        let first_fields;
        let first_number = match options.within {
            Some(Within::Time(_)) => Some(FirstNumber::new(options.keys.0.first())?),
            _ => None,
        };
        let number = |keyed: &[u8]| first_number.map_or(0.0, |first| first.of(keyed));
        let presorted = match options.within {
            None => {
                let keys = &options.sorted_by.0;
                let first_keys: &dyn LineKernels = if keys.len() == options.keys.0.len() {
                    &ByKey
                } else {
                    let is_json = options.format == RowFormat::Ndjson;
                    first_fields = ByFirstFields::new(keys, is_json)?;
                    &first_fields
                };
                Presorted::ByFirstKeys(first_keys)
            }
            Some(Within::Lines(rows)) => Presorted::WithinLines(rows),
            Some(Within::Time(time)) => {
                Presorted::WithinSpan { span: time.as_secs_f64(), number: &number }
            }
        };
        let sort = |options: &LinesOptions,
                    input: LinesInput,
                    to: &mut (dyn Write + Send),
                    observer: &dyn Observer| match form {
            RowForm::Keyed => sort_lines(options, &ByKey, vec![input], to, disk, observer),
            RowForm::Plain => {
                let to = SortedOutput::Stream(to);
                sort_keyed(options, &[], vec![input], to, disk, observer)
            }
        };
        let mut late = late.map(|late| RestoredOutput::new(late, u64::MAX));
        let late = late.as_mut().map(|late| late as &mut (dyn Write + Send));
        // Groups that are still open may get further rows.
        let are_groups_open = options.unique.is_some() && !engine.is_unique;
        let is_prompt = !(are_groups_open && matches!(options.within, Some(Within::Lines(_))));
        let sort =
            Incremental { presorted, order: &ByKey, sort: &sort, output: to, late, is_prompt };
        sort_incrementally(engine, inputs, sort, observer)
    }
}
