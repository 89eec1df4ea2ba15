//! The first half: all rows are read and sorted.

use crate::errors::{Room, of_arrow};
use crate::first_rows::FirstRows;
use crate::keyed_source::keyed_source;
use crate::order_check::OrderCheck;
use crate::sort_plan::SortPlan;
use arrow_array::RecordBatch;
use std::path::PathBuf;
use std::sync::Arc;
use xsort::{Job, Memory, Resources};
use xsort_arrow::{BatchSorter, BatchSorting, SortedBatches};
use xsort_extsort::{Error, Observer};

/// Bytes that the heap of `--top` takes for a key, beside the key.
const HEAP_KEY_BYTES: u64 = 64;

/// Reads all rows, and sorts them. Also returns their number, and the bytes that were read.
pub(crate) fn read_sorted(
    plan: &SortPlan,
    job: &Job,
    observer: &dyn Observer,
    scratch: Vec<PathBuf>,
) -> Result<(SortedBatches, u64, u64), Error> {
    observer.phase("form runs", plan.sorted_bytes());
    let mut reading = keyed_source(plan)?;
    let mut rows = RowsIn::start(plan, job, scratch)?;
    let (mut input, mut read, mut read_bytes) = (0, 0, 0);
    while let Some(batch) = reading.next()? {
        if observer.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if batch.input != input {
            rows.begin_input(plan)?;
            input = batch.input;
        }
        read += batch.rows.num_rows() as u64;
        rows.push(batch.rows, plan, input)?;
        read_bytes += batch.bytes;
        observer.advance(batch.bytes);
    }
    drop(reading);
    plan.check_unchanged()?;
    let RowsIn { sorting, room, .. } = rows;
    Ok((sorting.finish().map_err(|error| room.of_sort(error))?, read, read_bytes))
}

/// Rows on their way to the sort.
struct RowsIn {
    sorting: BatchSorting,
    /// Checks the order of the current input.
    order: Option<OrderCheck>,
    first: Option<FirstRows>,
    room: Room,
}

impl RowsIn {
    fn start(plan: &SortPlan, job: &Job, scratch: Vec<PathBuf>) -> Result<RowsIn, Error> {
        let options = &plan.options;
        let sort_bytes = plan.memory.sort_bytes;
        let resources = Resources {
            memory: Some(Memory::Bytes(sort_bytes)),
            threads: Some(job.threads()),
            cancel: job.cancel().clone(),
            ..Resources::default()
        };
        let sorter = BatchSorter::new(Arc::clone(&plan.sorted_schema)).by_columns(plan.by.clone());
        let sorter = sorter.resources(resources).disk_of(job);
        // A heap that takes much of the memory would save nothing.
        let fits = |&rows: &u64| rows > 0 && rows * HEAP_KEY_BYTES <= sort_bytes / 16;
        let top = options.rows_max.filter(fits);
        let first = match (top, options.unique) {
            (Some(rows), None) => Some(FirstRows::new(plan.digester()?, rows as usize)),
            _ => None,
        };
        Ok(RowsIn {
            sorting: sorter.scratch(scratch).start().map_err(of_arrow)?,
            order: options.merges.then(|| plan.order_check(false)).transpose()?,
            first,
            room: Room { sort: sort_bytes, beside: job.total_bytes().saturating_sub(sort_bytes) },
        })
    }

    /// Begins the next input.
    fn begin_input(&mut self, plan: &SortPlan) -> Result<(), Error> {
        self.order = plan.options.merges.then(|| plan.order_check(false)).transpose()?;
        Ok(())
    }

    fn push(&mut self, batch: RecordBatch, plan: &SortPlan, input: usize) -> Result<(), Error> {
        let path = plan.path(input);
        if let Some(order) = &mut self.order
            && let Some(row) = order.push(&batch)?
        {
            let path = path.to_owned();
            let reason = format!(
                "row {row} belongs before the row before it, so the file is not in order: sort it \
                 first, or sort all inputs together (--merge=any)"
            );
            return Err(Error::Unordered { path, reason });
        }
        let batch = match &mut self.first {
            Some(first) => first.filter(&batch)?,
            None => batch,
        };
        let pushed = self.sorting.push(batch);
        pushed.map_err(|error| self.room.of_push(error, path))
    }
}
