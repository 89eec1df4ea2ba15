//! The keys of row groups: whether they are in order, and the least and the greatest.
//!
//! Only the columns of the keys are decoded, of a row group on each thread.

use crate::ascending::are_in_order;
use crate::errors::of_arrow;
use crate::inputs::{Decoder, Group, read_error};
use crate::places::Places;
use crate::reading::{FIRST_ROWS, memory, rows_wanted};
use crate::sort_plan::SortPlan;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef, SortOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use xsort_arrow::{BatchDigester, SortColumn};
use xsort_extsort::{Error, Observer};

/// Bytes that a batch of keys should have.
const BATCH_BYTES: usize = 1 << 20;
/// One in `ENDS_SHARE` bytes of what a row group takes on its way out is for a key of each.
const ENDS_SHARE: u64 = 32;
/// Memory of a thread for batches and their keys, in bytes.
const THREAD_BYTES: u64 = 8 << 20;

/// The keys of a row group, as bytes that compare as rows do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) is_sorted: bool,
    /// The least and the greatest key. The keys at both ends of one that is sorted.
    pub(crate) ends: [Box<[u8]>; 2],
}

/// Reads the keys of row groups.
pub(crate) struct KeyScan<'p> {
    decoders: &'p [Decoder],
    /// The columns of the keys, and their schema.
    columns: Vec<usize>,
    schema: SchemaRef,
    digester: BatchDigester,
    by: &'p [SortColumn],
    threads: usize,
    /// Most bytes of a key at an end of a row group.
    end_bytes_max: usize,
}

impl<'p> KeyScan<'p> {
    /// Prepares to read the keys of `groups` row groups by `decoders` on up to `threads` threads,
    /// in the memory of a sort that hasn't begun.
    pub(crate) fn new(
        plan: &'p SortPlan,
        decoders: &'p [Decoder],
        (groups, threads): (usize, usize),
    ) -> Result<KeyScan<'p>, Error> {
        let memory = &plan.memory;
        let thread_bytes = memory.page_bytes / memory.read.lanes.max(1) as u64 + THREAD_BYTES;
        let most = (memory.page_bytes + memory.sort_bytes) / thread_bytes;
        let threads = (most as usize).clamp(1, threads);
        let (columns, digester) = plan.digester()?.of_keys().map_err(of_arrow)?;
        let schema = plan.schema.project(&columns);
        let schema = schema.map_err(|error| of_arrow(error.into()))?;
        let schema = Arc::new(schema);
        // Both ends of all row groups are kept, and some of them twice.
        let end_bytes_max = (memory.write_bytes / ENDS_SHARE) as usize / groups.max(1);
        let by = &plan.by;
        Ok(KeyScan { decoders, columns, schema, digester, by, threads, end_bytes_max })
    }

    /// Returns the keys of row groups, which are given with their numbers. Those whose ends are too
    /// long have none. Without `places` those that are out of order have none, either, and are read
    /// only as far as they are in order. With `places` their rows are counted there, until that
    /// isn't worth it any more.
    ///
    /// # Errors
    /// If a column can't be read; [`Error::Cancelled`].
    pub(crate) fn ranges(
        &self,
        groups: &[(usize, Group)],
        places: Option<&Places>,
        observer: &dyn Observer,
    ) -> Result<Vec<Option<KeyRange>>, Error> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let run = || -> Result<Vec<(usize, Option<KeyRange>)>, Error> {
            let mut found = Vec::new();
            while !is_over.load(Relaxed) {
                let at = next.fetch_add(1, Relaxed);
                let Some(&(number, group)) = groups.get(at) else { break };
                let range = self.range((number, group), places, observer);
                if range.is_err() || places.is_some_and(Places::are_too_few) {
                    is_over.store(true, Relaxed);
                }
                found.push((at, range?));
                observer.advance(group.bytes);
            }
            Ok(found)
        };
        let mut ranges = vec![None; groups.len()];
        thread::scope(|scope| {
            let start = |_| {
                let thread = thread::Builder::new().name("xsort-keys".into());
                thread.spawn_scoped(scope, run).map_err(crate::errors::of_thread)
            };
            let threads: Vec<_> = (0..self.threads).map(start).collect::<Result<_, Error>>()?;
            for thread in threads {
                for (at, range) in thread.join().map_err(|_| Error::Panicked)?? {
                    ranges[at] = range;
                }
            }
            Ok(ranges)
        })
    }

    fn range(
        &self,
        (number, group): (usize, Group),
        places: Option<&Places>,
        observer: &dyn Observer,
    ) -> Result<Option<KeyRange>, Error> {
        let file = &self.decoders[group.input].file;
        let mut range: Option<KeyRange> = None;
        let (mut done, mut batch_rows) = (0, FIRST_ROWS);
        while done < group.rows {
            let mut batches = self.open(group, batch_rows, done)?;
            loop {
                let Some(batch) = batches.next() else {
                    return Err(file.error("a key has fewer rows than its row group".into()));
                };
                if observer.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                let batch = batch.map_err(|error| read_error(file, error.into(), "a key"))?;
                done += batch.num_rows();
                let found = self.of_batch(&batch, places.map(|places| (places, number)))?;
                range = Some(match range {
                    None => found,
                    Some(range) => range.followed_by(found),
                });
                let is_long =
                    |range: &KeyRange| range.ends.iter().any(|end| end.len() > self.end_bytes_max);
                if range.as_ref().is_some_and(is_long) {
                    return Ok(None);
                }
                let is_over = match places {
                    None => range.as_ref().is_some_and(|range| !range.is_sorted),
                    Some(places) => places.are_too_few(),
                };
                if is_over {
                    return Ok(None);
                }
                let wanted = rows_wanted(batch.num_rows(), memory(&batch), BATCH_BYTES);
                let is_first = done == batch.num_rows() && wanted > batch_rows;
                if is_first || wanted * 2 < batch_rows {
                    batch_rows = wanted;
                    break;
                }
                if done >= group.rows {
                    break;
                }
            }
        }
        Ok(range)
    }

    fn open(
        &self,
        group: Group,
        batch_rows: usize,
        offset: usize,
    ) -> Result<ParquetRecordBatchReader, Error> {
        let decoder = &self.decoders[group.input];
        let columns = self.columns.iter().copied();
        let builder = decoder.reader(decoder.file.open()?, group.index, columns, batch_rows);
        let builder = if offset > 0 { builder.with_offset(offset) } else { builder };
        builder.build().map_err(|error| read_error(&decoder.file, error, "a key"))
    }

    /// Returns the keys of a batch. Counts its rows in `places`, as those of a row group.
    fn of_batch(
        &self,
        batch: &RecordBatch,
        places: Option<(&Places, usize)>,
    ) -> Result<KeyRange, Error> {
        let failed = |error: ArrowError| of_arrow(error.into());
        let columns = batch.columns().to_vec();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(failed)?;
        let values = self.by.iter().map(|key| self.values(key, &batch));
        let values = values.collect::<Option<Vec<_>>>();
        let keys = |from: usize, rows: usize| {
            self.digester.keys(&batch.slice(from, rows)).map_err(of_arrow)
        };
        let rows = batch.num_rows();
        if values.and_then(|values| are_in_order(&values)) == Some(true) {
            let ends: [Box<[u8]>; 2] =
                [keys(0, 1)?.value(0).into(), keys(rows - 1, 1)?.value(0).into()];
            let are_placed = places.is_none_or(|(places, number)| {
                places.add_all((&*ends[0], number), (&*ends[1], number), rows as u64)
            });
            if are_placed {
                return Ok(KeyRange { is_sorted: true, ends });
            }
        }
        let keys = keys(0, rows)?;
        let all = || (0..rows).map(|row| keys.value(row));
        if let Some((places, number)) = places {
            all().for_each(|key| places.add((key, number)));
        }
        let is_sorted = all().is_sorted();
        let ends = [all().min(), all().max()].map(|end| end.unwrap_or_default().into());
        Ok(KeyRange { is_sorted, ends })
    }

    /// Returns the values of a key that is a column. One that is a field of structs has none.
    fn values(&self, key: &SortColumn, batch: &RecordBatch) -> Option<(ArrayRef, SortOptions)> {
        let [column] = key.path()[..] else { return None };
        let at = self.columns.binary_search(&column).ok()?;
        Some((Arc::clone(batch.column(at)), key.options()))
    }
}

impl KeyRange {
    /// Returns the keys of these rows, followed by others.
    fn followed_by(self, next: KeyRange) -> KeyRange {
        let ([least, greatest], [next_least, next_greatest]) = (self.ends, next.ends);
        let is_sorted = self.is_sorted && next.is_sorted && greatest <= next_least;
        KeyRange { is_sorted, ends: [least.min(next_least), greatest.max(next_greatest)] }
    }
}
