//! Decides which row groups are copied without being decoded.
//!
//! ```text
//!  footers --> row groups that seem disjoint --> their keys: in order? --> the keys of all others
//! ```
//!
//! A row group is copied if its rows are in order, and each row of others belongs before or after
//! all of them. So the number of sorted rows before a copied row group says where it belongs. Of
//! rows with equal keys those of the earlier row group come first, as in a sort.
//!
//! Statistics only decide whether keys are read. If they are wrong, fewer row groups are copied.

use crate::copied::{CopiedGroup, Copies};
use crate::copy_hints::{copyable, enough_bytes, keeps_all_rows, seem_disjoint};
use crate::inputs::{Decoder, Group, Inputs};
use crate::key_ranges::{KeyRange, KeyScan};
use crate::overlaps::disjoint;
use crate::places::{Placed, Places};
use crate::sort_plan::{AnyInputs, SortPlan};
use parquet::basic::SortOrder;
use parquet::file::metadata::{
    ColumnChunkMask, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions,
    ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::statistics::Statistics;
use std::sync::Arc;
use xsort::Job;
use xsort_extsort::{Error, Observer};

/// One in `FOOTER_SHARE` bytes of what a row group takes on its way out is for footers with
/// statistics and page indexes.
const FOOTER_SHARE: u64 = 4;

/// Returns the row groups to copy to files of about `file_bytes` bytes.
///
/// # Errors
/// [`Error::Cancelled`]. What can't be read is sorted, and the sort says what is wrong.
pub(crate) fn find_copies(
    plan: &SortPlan,
    job: &Job,
    observer: &dyn Observer,
    file_bytes: Option<u64>,
) -> Result<Copies, Error> {
    let AnyInputs::Parquet(inputs, decoders) = &plan.inputs else { return Ok(Copies::default()) };
    // The order of derived columns isn't that of statistics.
    let has_derived = plan.sorted_schema.fields().len() > plan.schema.fields().len();
    if has_derived || !keeps_all_rows(&plan.options) {
        return Ok(Copies::default());
    }
    let search = Search { plan, inputs, decoders, groups: inputs.groups() };
    match search.run(job.threads(), observer, file_bytes) {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        found => Ok(found.unwrap_or_default()),
    }
}

/// A search for row groups to copy.
struct Search<'p> {
    plan: &'p SortPlan,
    inputs: &'p Inputs,
    decoders: &'p [Decoder],
    groups: Vec<Group>,
}

impl Search<'_> {
    fn run(
        &self,
        threads: usize,
        observer: &dyn Observer,
        file_bytes: Option<u64>,
    ) -> Result<Copies, Error> {
        let groups = &self.groups;
        let copyable = copyable(self.plan, self.inputs, groups, file_bytes)?;
        if !self.is_worth_it(&copyable) {
            return Ok(Copies::default());
        }
        let mut is_candidate = seem_disjoint(self.plan, self.inputs, groups, &copyable)?;
        if !self.is_worth_it(&is_candidate) {
            return Ok(Copies::default());
        }
        observer.phase("check keys", groups.iter().map(|group| group.bytes).sum());
        let scan = KeyScan::new(self.plan, self.decoders, (groups.len(), threads))?;
        // Disorder ends the look at a row group, and that of too many the search.
        let mut ranges: Vec<Option<KeyRange>> = vec![None; groups.len()];
        self.read(&scan, &is_candidate, None, &mut ranges, observer)?;
        choose_disjoint(&mut is_candidate, &ranges);
        if !self.is_worth_it(&is_candidate) {
            return Ok(Copies::default());
        }
        let placed = (0..groups.len()).filter(|&at| is_candidate[at]).filter_map(|at| {
            let ends = ranges[at].as_ref()?.ends.clone();
            Some(Placed::new(at, ends, groups[at].bytes))
        });
        let places = Places::new(placed.collect(), enough_bytes(groups));
        let is_other: Vec<bool> = is_candidate.iter().map(|candidate| !candidate).collect();
        self.read(&scan, &is_other, Some(&places), &mut ranges, observer)?;
        let is_known = ranges.iter().all(Option::is_some) && !places.are_too_few();
        if !is_known || (self.plan.options.merges && !self.are_inputs_in_order(&ranges)) {
            return Ok(Copies::default());
        }
        self.in_order(&places)
    }

    fn is_worth_it(&self, is_copied: &[bool]) -> bool {
        let copied = self.groups.iter().zip(is_copied).filter(|(_, copied)| **copied);
        let bytes: u64 = copied.map(|(group, _)| group.bytes).sum();
        bytes >= enough_bytes(&self.groups)
    }

    /// Reads the keys of some of the row groups.
    fn read(
        &self,
        scan: &KeyScan<'_>,
        is_read: &[bool],
        places: Option<&Places>,
        ranges: &mut [Option<KeyRange>],
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let groups = (0..).zip(self.groups.iter().copied());
        let groups: Vec<(usize, Group)> = groups.filter(|&(at, _)| is_read[at]).collect();
        let found = scan.ranges(&groups, places, observer)?;
        groups.into_iter().zip(found).for_each(|((at, _), range)| ranges[at] = range);
        Ok(())
    }

    fn are_inputs_in_order(&self, ranges: &[Option<KeyRange>]) -> bool {
        let follows = |at: usize| match (&ranges[at - 1], &ranges[at]) {
            (Some(before), Some(range)) => before.ends[1] <= range.ends[0],
            _ => false,
        };
        let is_first = |at: usize| self.groups[at - 1].input != self.groups[at].input;
        ranges.iter().flatten().all(|range| range.is_sorted)
            && (1..ranges.len()).all(|at| is_first(at) || follows(at))
    }

    /// Returns the row groups that no row of others belongs into, in order.
    fn in_order(&self, places: &Places) -> Result<Copies, Error> {
        let mut is_copied = vec![false; self.groups.len()];
        places.groups().iter().for_each(|group| is_copied[group.at] = !group.is_overlapped());
        let footers = self.footers(&is_copied)?;
        for (group, is_copied) in self.groups.iter().zip(&mut is_copied) {
            let footer = footers[group.input].as_ref();
            *is_copied &= footer.is_some_and(|footer| has_bounds(footer.row_group(group.index)));
        }
        let (mut sorted_rows_before, mut all) = (0, Vec::new());
        for placed in places.groups() {
            let group = self.groups[placed.at];
            sorted_rows_before += placed.rows();
            match &footers[group.input] {
                Some(footer) if is_copied[placed.at] => all.push(CopiedGroup {
                    group,
                    sorted_rows_before,
                    file: self.inputs.all[group.input].file.clone(),
                    footer: Arc::clone(footer),
                }),
                _ => sorted_rows_before += group.rows as u64,
            }
        }
        Ok(Copies { all })
    }

    /// Returns the footers of inputs of which row groups are copied, with all that is copied of
    /// them. `None` for all inputs if they take too much memory.
    fn footers(&self, is_copied: &[bool]) -> Result<Vec<Option<Arc<ParquetMetaData>>>, Error> {
        let room = self.plan.memory.write_bytes / FOOTER_SHARE;
        let (mut footers, mut bytes) = (Vec::new(), 0);
        for (number, input) in self.inputs.all.iter().enumerate() {
            let copied = self.groups.iter().zip(is_copied);
            let copied = copied.filter(|(group, copied)| **copied && group.input == number);
            let copied: Vec<usize> = copied.map(|(group, _)| group.index).collect();
            if copied.is_empty() {
                footers.push(None);
                continue;
            }
            let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
            let reader = ParquetMetaDataReader::new()
                .with_metadata_options(Some(options))
                .with_page_index_policy(PageIndexPolicy::Optional)
                .with_page_index_mask(ColumnChunkMask::row_groups(copied));
            let footer = input.footer_with(reader)?;
            bytes += footer.memory_size() as u64;
            if bytes > room {
                return Ok(vec![None; self.inputs.all.len()]);
            }
            footers.push(Some(Arc::new(footer)));
        }
        Ok(footers)
    }
}

/// Returns whether all columns have a least and a largest value. Some readers take those of a whole
/// file from the row groups that have them.
fn has_bounds(group: &RowGroupMetaData) -> bool {
    group.columns().iter().all(|column| {
        let is_ordered = column.column_descr().sort_order() != SortOrder::UNDEFINED;
        let has_bounds = |found: &Statistics| {
            let are_null = found.null_count_opt() == Some(column.num_values() as u64);
            are_null || (found.min_bytes_opt().is_some() && found.max_bytes_opt().is_some())
        };
        !is_ordered || column.statistics().is_some_and(has_bounds)
    })
}

/// Leaves those candidates that are in order, and of these a largest number that don't overlap.
fn choose_disjoint(is_candidate: &mut [bool], ranges: &[Option<KeyRange>]) {
    let sorted = |at: &usize| is_candidate[*at] && ranges[*at].is_some();
    let at: Vec<usize> = (0..ranges.len()).filter(sorted).collect();
    let ends = |range: &usize| {
        let element = |end: usize| ranges[*range].as_ref().map(|keys| (&*keys.ends[end], *range));
        [element(0), element(1)]
    };
    let chosen = disjoint(&at.iter().map(ends).collect::<Vec<_>>());
    is_candidate.fill(false);
    at.into_iter().zip(chosen).for_each(|(at, is_chosen)| is_candidate[at] = is_chosen);
}
