//! The half that returns batches.

use crate::Error;
use crate::ordered::Ordered;
use crate::progress::MemoryProgress;
use crate::report::BatchReport;
use crate::resident::{Order, Places, gather};
use crate::rows::RowBytes;
use crate::settings::Settings;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use xsort::{Cancel, Sorted};

/// Batches of sorted rows. When the iterator ends, exactly the pushed rows have been returned.
/// Dropping it earlier leaves nothing in memory or on scratch.
pub struct SortedBatches {
    schema: SchemaRef,
    source: Source,
    /// Batches that were built and not taken yet.
    made: VecDeque<RecordBatch>,
    batch_rows: usize,
    chunk: usize,
    waiting_max: usize,
    cancel: Cancel,
    progress: MemoryProgress,
    /// Number of rows that were pushed.
    pushed: u64,
    report: BatchReport,
    began: Option<Instant>,
    is_over: bool,
}

enum Source {
    /// In memory.
    Order { order: Box<Order>, pool: Ordered<Places, Vec<RecordBatch>> },
    /// From the engine.
    Engine { sorted: Box<Sorted>, pool: Ordered<RowBytes, Vec<RecordBatch>> },
}

impl SortedBatches {
    pub(crate) fn of_order(
        settings: Settings,
        order: Order,
        rows: u64,
        began: Option<Instant>,
    ) -> Result<SortedBatches, Error> {
        let (batches, schema) = (Arc::clone(&order.batches), settings.schema.clone());
        let make = move |places: Places| Ok(gather(&batches, &places, &schema)?);
        let source =
            Source::Order { order: Box::new(order), pool: Ordered::new(settings.threads, make)? };
        Ok(SortedBatches::new(settings, source, rows, began))
    }

    pub(crate) fn of_engine(
        settings: Settings,
        sorted: Sorted,
        rows: u64,
        began: Option<Instant>,
    ) -> Result<SortedBatches, Error> {
        let schema = settings.schema.clone();
        let make = move |rows: RowBytes| Ok(rows.decode(&schema)?);
        let pool = Ordered::new(settings.threads, make)?;
        let source = Source::Engine { sorted: Box::new(sorted), pool };
        Ok(SortedBatches::new(settings, source, rows, began))
    }

    fn new(
        settings: Settings,
        source: Source,
        pushed: u64,
        began: Option<Instant>,
    ) -> SortedBatches {
        SortedBatches {
            schema: settings.schema,
            source,
            made: VecDeque::new(),
            batch_rows: settings.batch_rows,
            chunk: settings.shares.chunk,
            waiting_max: settings.threads + 1,
            cancel: settings.cancel,
            progress: settings.progress,
            pushed,
            report: BatchReport::default(),
            began,
            is_over: false,
        }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of pushed rows, which is the number of rows to be returned.
    pub fn rows(&self) -> u64 {
        self.pushed
    }

    /// Returns the report of the sort; `None` before the last batch was returned.
    pub fn report(&self) -> Option<&BatchReport> {
        self.is_over.then_some(&self.report)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(xsort::Error::Cancelled.into());
            }
            if let Some(batch) = self.made.pop_front() {
                self.report.rows += batch.num_rows() as u64;
                self.report.batches += 1;
                if let Source::Order { .. } = self.source {
                    self.progress.done_rows(self.report.rows, self.pushed);
                }
                return Ok(Some(batch));
            }
            self.send()?;
            let made = match &mut self.source {
                Source::Order { pool, .. } => pool.wait(),
                Source::Engine { pool, .. } => pool.wait(),
            };
            match made {
                Some(batches) => self.made.extend(batches?),
                None => return self.end().map(|()| None),
            }
        }
    }

    /// Sends work to the threads to keep them busy.
    fn send(&mut self) -> Result<(), Error> {
        match &mut self.source {
            Source::Order { order, pool } => {
                while pool.waiting() < self.waiting_max {
                    let Some(places) = order.next(self.batch_rows)? else { break };
                    pool.send(places);
                }
            }
            Source::Engine { sorted, pool } => {
                while pool.waiting() < self.waiting_max {
                    let rows = take(sorted, self.batch_rows, self.chunk)?;
                    if rows.rows() == 0 {
                        break;
                    }
                    pool.send(rows);
                }
            }
        }
        Ok(())
    }

    /// Checks that the number of returned rows equals that of pushed rows.
    fn end(&mut self) -> Result<(), Error> {
        if self.report.rows != self.pushed {
            let (pushed, taken) = (self.pushed, self.report.rows);
            let what = format!("{pushed} rows were pushed, and {taken} came out");
            return Err(xsort::Error::Lost { what }.into());
        }
        if let Source::Engine { sorted, .. } = &self.source
            && let Some(report) = sorted.report()
        {
            self.report.runs = report.runs;
            self.report.spilled_bytes = report.spilled_bytes;
            self.report.scratch_bytes = report.scratch_bytes;
            self.report.checksum = Some(report.checksum);
        }
        self.report.seconds = self.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
        self.is_over = true;
        Ok(())
    }
}

/// Returns the engine's next rows, at most `rows_max` rows or about `bytes_max` bytes. Empty after
/// the last row.
fn take(sorted: &mut Sorted, rows_max: usize, bytes_max: usize) -> Result<RowBytes, Error> {
    let mut rows = RowBytes::default();
    while rows.rows() < rows_max && rows.bytes() < bytes_max {
        let Some((_, row)) = sorted.next()? else { break };
        rows.push(row);
    }
    Ok(rows)
}

impl Iterator for SortedBatches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Result<RecordBatch, Error>> {
        if self.is_over { None } else { self.next_batch().transpose() }
    }
}

impl fmt::Debug for SortedBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SortedBatches")
            .field("pushed", &self.pushed)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
