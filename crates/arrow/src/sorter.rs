//! The settings of a sort, before its first batch.

use crate::by::SortColumn;
use crate::keys::KeyMaker;
use crate::memory::Shares;
use crate::progress::MemoryProgress;
use crate::settings::Settings;
use crate::sorting::BatchSorting;
use crate::{Error, resident};
use arrow_schema::SchemaRef;
use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::available_parallelism;
use xsort::machine::MemoryLimits;
use xsort::{Callbacks, Cancel, Job, Memory, Progress, Resources, Sorter};

/// Default maximum number of rows in a returned batch.
const BATCH_ROWS: usize = 64 << 10;

/// Sorts record batches that are pushed to it, and returns their rows in order, in batches of the
/// same schema. It sorts any number of batches within a hard limit of memory.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch, RecordBatchReader, StringArray, cast::AsArray};
/// # use xsort_arrow::{BatchSorter, Error};
/// # fn main() -> Result<(), Error> {
/// let batch = RecordBatch::try_from_iter([
///     ("ts", Arc::new(Int64Array::from(vec![7, 3, 7])) as _),
///     ("what", Arc::new(StringArray::from(vec!["stop", "start", "end"])) as _),
/// ])?;
/// let mut sorting = BatchSorter::new(batch.schema()).by(["ts:desc"])?.memory(64 << 20).start()?;
/// sorting.push(batch)?;
/// for sorted in sorting.finish()? {
///     let sorted = sorted?;
///     let what: Vec<_> = sorted.column(1).as_string::<i32>().iter().flatten().collect();
///     assert_eq!(what, ["stop", "end", "start"]);
/// }
/// # Ok(())
/// # }
/// ```
///
/// Rows with equal keys come out in the order in which they were pushed. Nulls come last in either
/// direction, unless `:nulls-first` is given. Text and binary values compare by their bytes;
/// numbers, dates and times by their value. Floating-point zeros are equal, and so are all NaNs,
/// which come after infinity. Values of dictionaries and runs compare as the values that they
/// represent, lists and structs by their values in turn, intervals by months, days and the rest.
///
/// If all batches fit in memory, rows are gathered from them once. Otherwise they pass through a
/// [`Sorter`], in which they take few bytes. A row may take about a tenth of the memory.
#[derive(Clone)]
pub struct BatchSorter {
    schema: SchemaRef,
    by: Vec<SortColumn>,
    batch_rows: usize,
    sorter: Sorter,
    resources: Resources,
    callbacks: Callbacks,
}

impl BatchSorter {
    /// Creates a sort of batches with this schema.
    pub fn new(schema: SchemaRef) -> BatchSorter {
        BatchSorter {
            schema,
            by: Vec::new(),
            batch_rows: BATCH_ROWS,
            sorter: Sorter::new(),
            resources: Resources::default(),
            callbacks: Callbacks::default(),
        }
    }

    /// Sorts by these columns: `NAME[:desc][:nulls-first]`, or `#1` for the first column and so on.
    /// `user.id` is the field `id` of the structs in the column `user`.
    /// Later columns decide between rows whose earlier columns are equal.
    ///
    /// # Errors
    /// [`Error::Column`] if there is no such column, or several, or its type has no order.
    pub fn by<T: AsRef<str>>(mut self, by: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        for text in by {
            self.by.push(SortColumn::parse(text.as_ref(), &self.schema)?);
        }
        Ok(self)
    }

    /// Sorts by these columns, which follow those of earlier calls.
    #[must_use]
    pub fn by_columns(mut self, by: impl IntoIterator<Item = SortColumn>) -> Self {
        self.by.extend(by);
        self
    }

    /// Sets the disk for scratch, which other parts of a job use, too. Unless set, the sort has one
    /// of its own.
    #[must_use]
    pub fn disk_of(mut self, job: &Job) -> Self {
        self.sorter = self.sorter.disk_of(job);
        self
    }

    /// Sets the maximum number of rows in a returned batch; 65,536 by default. Batches of long rows
    /// have fewer.
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Sets all resources that the sort may use.
    #[must_use]
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// Sets the functions that the sort calls.
    #[must_use]
    pub fn callbacks(mut self, callbacks: Callbacks) -> Self {
        self.callbacks = callbacks;
        self
    }

    /// Sets the maximum memory for everything that grows with the data, as in [`Sorter::memory`].
    /// Batches belong to the caller before they are pushed and after they were returned.
    #[must_use]
    pub fn memory(mut self, memory: impl Into<Memory>) -> Self {
        self.resources.memory = Some(memory.into());
        self
    }

    /// Sets the number of worker threads; by default one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.resources.threads = Some(threads);
        self
    }

    /// Sets the directories for scratch; by default the system's temporary directory.
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Self {
        self.sorter = self.sorter.scratch(directories);
        self
    }

    /// Limits the bytes per second moved to and from drives.
    #[must_use]
    pub fn bandwidth_limit(mut self, bytes_per_second: NonZeroU64) -> Self {
        self.resources.bandwidth = Some(bytes_per_second);
        self
    }

    /// Calls `tell` with the progress, from any thread. In memory: after every batch, in the phases
    /// "read", "sort" and "gather". Otherwise: after every block that was spilled or merged.
    #[must_use]
    pub fn on_progress(mut self, tell: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.callbacks.on_progress = Some(Arc::new(tell));
        self
    }

    /// Calls `tell` with each line that a user should see, from any thread.
    #[must_use]
    pub fn on_notice(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.callbacks.on_notice = Some(Arc::new(tell));
        self
    }

    /// Stops when the flag is set.
    #[must_use]
    pub fn cancel(mut self, flag: &Cancel) -> Self {
        self.resources.cancel = flag.clone();
        self
    }

    /// Starts the sort.
    ///
    /// # Errors
    /// [`Error::Column`] if there is no column to sort by.
    pub fn start(self) -> Result<BatchSorting, Error> {
        if self.by.is_empty() {
            return Err(Error::Column("name at least one column to sort by".into()));
        }
        let Resources { memory, threads, cancel, .. } = self.resources.clone();
        let budget = MemoryLimits::read().budget(memory).bytes;
        let threads = threads
            .map_or_else(|| available_parallelism().map_or(1, usize::from), |asked| asked.max(1));
        let keys = KeyMaker::new(&self.by, &self.schema)?;
        let is_gathered =
            self.schema.fields().iter().all(|field| resident::is_gathered(field.data_type()));
        let shares = Shares::new(budget, threads, is_gathered);
        Ok(BatchSorting::new(Settings {
            schema: self.schema,
            keys: Arc::new(keys),
            batch_rows: self.batch_rows,
            threads,
            shares,
            progress: MemoryProgress::new(self.callbacks.on_progress.clone()),
            sorter: self.sorter.resources(self.resources).callbacks(self.callbacks),
            cancel,
        }))
    }
}

impl fmt::Debug for BatchSorter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchSorter")
            .field("schema", &self.schema)
            .field("by", &self.by)
            .field("batch_rows", &self.batch_rows)
            .field("sorter", &self.sorter)
            .field("resources", &self.resources)
            .finish_non_exhaustive()
    }
}
