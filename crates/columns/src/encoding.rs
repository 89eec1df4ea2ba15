//! Encodes the columns of a row group on several threads.
//!
//! Each column has a queue of arrays. A thread takes any column that has arrays and isn't worked
//! on, so that a column of long texts keeps one thread busy and all others share the rest.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::{Condvar, Mutex};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::errors::{ParquetError, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

/// Threads that encode columns.
pub(crate) struct Encoding {
    shared: Arc<Shared>,
    /// Columns that have work. `None` once the threads should end.
    ready: Option<Sender<usize>>,
    chunks: Receiver<(usize, Result<Vec<ArrowColumnChunk>>)>,
    threads: Vec<JoinHandle<()>>,
    waiting_max: usize,
}

struct Shared {
    schema: SchemaRef,
    columns: Vec<Column>,
    /// Bytes of arrays that wait or are encoded.
    waiting: Mutex<usize>,
    changed: Condvar,
    closed: Sender<(usize, Result<Vec<ArrowColumnChunk>>)>,
}

#[derive(Default)]
struct Column {
    queue: Mutex<Queue>,
    /// Bytes that the encoders take.
    bytes: AtomicUsize,
    /// About how many bytes are written for what they have.
    written_bytes: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    is_busy: bool,
    encoders: Encoders,
}

/// The encoders of a column: one for each leaf, or the reason why there are none.
#[derive(Default)]
struct Encoders {
    leaves: Vec<ArrowColumnWriter>,
    failed: Option<ParquetError>,
}

enum Work {
    /// An array, and its bytes.
    Write(ArrayRef, usize),
    Close,
}

impl Encoding {
    /// Starts the threads. Arrays of at most `waiting_max` bytes wait.
    pub(crate) fn start(
        schema: SchemaRef,
        threads: usize,
        waiting_max: usize,
    ) -> std::io::Result<Encoding> {
        let columns = schema.fields().iter().map(|_| Column::default()).collect();
        let (closed, chunks) = unbounded();
        let (waiting, changed) = (Mutex::new(0), Condvar::new());
        let shared = Arc::new(Shared { schema, columns, waiting, changed, closed });
        let (ready, work) = unbounded::<usize>();
        let start = |_| {
            let (shared, work, again) = (Arc::clone(&shared), work.clone(), ready.clone());
            let thread = thread::Builder::new().name("xsort-encode".into());
            thread.spawn(move || {
                for column in work {
                    match column {
                        END => break,
                        column => shared.work(column, &again),
                    }
                }
            })
        };
        let threads = (0..threads.max(1)).map(start).collect::<std::io::Result<_>>()?;
        Ok(Encoding { shared, ready: Some(ready), chunks, threads, waiting_max })
    }

    /// Begins a row group, after the one before was [finished](Encoding::finish).
    pub(crate) fn begin(&self, encoders: Vec<ArrowColumnWriter>) {
        let mut encoders = encoders.into_iter();
        for (column, field) in self.shared.columns.iter().zip(self.shared.schema.fields()) {
            let leaves = encoders.by_ref().take(crate::leaves::count(field.data_type())).collect();
            column.queue.lock().encoders = Encoders { leaves, failed: None };
        }
    }

    /// Adds rows to the row group. Waits while many others do.
    pub(crate) fn push(&self, batch: &RecordBatch) {
        for (at, array) in batch.columns().iter().enumerate() {
            let bytes = array.to_data().get_slice_memory_size();
            let bytes = bytes.unwrap_or_else(|_| array.get_array_memory_size());
            self.shared.enter(bytes, self.waiting_max);
            self.send(at, Work::Write(Arc::clone(array), bytes));
        }
    }

    /// Returns the memory that the row group takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.shared.columns.iter().map(|column| column.bytes.load(Relaxed)).sum()
    }

    /// Returns about how many bytes the row group takes in the file.
    pub(crate) fn written_bytes(&self) -> usize {
        self.shared.columns.iter().map(|column| column.written_bytes.load(Relaxed)).sum()
    }

    /// Ends the row group, and returns its columns in order.
    ///
    /// # Errors
    /// If a column can't be encoded.
    pub(crate) fn finish(&self) -> Result<Vec<ArrowColumnChunk>> {
        let count = self.shared.columns.len();
        (0..count).for_each(|column| self.send(column, Work::Close));
        let mut closed: Vec<(usize, Result<Vec<ArrowColumnChunk>>)> =
            self.chunks.iter().take(count).collect();
        closed.sort_unstable_by_key(|&(column, _)| column);
        let mut chunks = Vec::with_capacity(count);
        for (_, column) in closed {
            chunks.extend(column?);
        }
        Ok(chunks)
    }

    fn send(&self, column: usize, work: Work) {
        let mut queue = self.shared.columns[column].queue.lock();
        queue.work.push_back(work);
        if !queue.is_busy {
            queue.is_busy = true;
            if let Some(ready) = &self.ready {
                // The threads end only when this is dropped.
                let _ = ready.send(column);
            }
        }
    }
}

/// What ends a thread, in place of a column.
const END: usize = usize::MAX;

impl Drop for Encoding {
    fn drop(&mut self) {
        if let Some(ready) = self.ready.take() {
            for _ in &self.threads {
                let _ = ready.send(END);
            }
        }
        for thread in self.threads.drain(..) {
            // A panic was reported as a result.
            drop(thread.join());
        }
    }
}

impl Shared {
    fn enter(&self, bytes: usize, max: usize) {
        let mut waiting = self.waiting.lock();
        while *waiting > 0 && *waiting + bytes > max {
            self.changed.wait(&mut waiting);
        }
        *waiting += bytes;
    }

    fn leave(&self, bytes: usize) {
        *self.waiting.lock() -= bytes;
        self.changed.notify_all();
    }

    /// Does one piece of a column's work.
    fn work(&self, at: usize, again: &Sender<usize>) {
        let column = &self.columns[at];
        let mut queue = column.queue.lock();
        let mut encoders = std::mem::take(&mut queue.encoders);
        let work = queue.work.pop_front();
        drop(queue);
        match work {
            Some(Work::Write(array, bytes)) => {
                self.write(at, &mut encoders, &array);
                let leaves = encoders.leaves.iter().map(ArrowColumnWriter::memory_size);
                column.bytes.store(leaves.sum(), Relaxed);
                let leaves = encoders.leaves.iter();
                let written = leaves.map(ArrowColumnWriter::get_estimated_total_bytes);
                column.written_bytes.store(written.sum(), Relaxed);
                drop(array);
                self.leave(bytes);
            }
            Some(Work::Close) => {
                let closed = close(std::mem::take(&mut encoders));
                column.bytes.store(0, Relaxed);
                column.written_bytes.store(0, Relaxed);
                drop(self.closed.send((at, closed)));
            }
            None => {}
        }
        let mut queue = column.queue.lock();
        // A row group begins only after all columns of the one before are closed.
        if queue.encoders.leaves.is_empty() && queue.encoders.failed.is_none() {
            queue.encoders = encoders;
        }
        if queue.work.is_empty() {
            queue.is_busy = false;
        } else {
            let _ = again.send(at);
        }
    }

    fn write(&self, at: usize, encoders: &mut Encoders, array: &ArrayRef) {
        if encoders.failed.is_some() {
            return;
        }
        let field = self.schema.field(at);
        let leaves = &mut encoders.leaves;
        // Unwind safety: after a panic the encoders aren't used.
        let result = catch_unwind(AssertUnwindSafe(|| {
            let parts = compute_leaves(field, array)?;
            leaves.iter_mut().zip(&parts).try_for_each(|(leaf, part)| leaf.write(part))
        }));
        encoders.failed = match result {
            Ok(result) => result.err(),
            Err(_) => Some(ParquetError::General("a thread failed".into())),
        };
        if let Some(error) = encoders.failed.take() {
            let what = format!("column '{}': {}", field.name(), crate::inputs::words(&error));
            encoders.failed = Some(ParquetError::General(what));
            encoders.leaves.clear();
        }
    }
}

fn close(encoders: Encoders) -> Result<Vec<ArrowColumnChunk>> {
    match encoders.failed {
        Some(error) => Err(error),
        None => encoders.leaves.into_iter().map(ArrowColumnWriter::close).collect(),
    }
}
