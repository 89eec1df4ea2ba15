//! Sorts records that a program pushes.

use crate::job::Job;
use crate::setup::Setup;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, STANDARD_OUTPUT};
use xsort_extsort::sorter::{SorterOptions, Sorting};
use xsort_extsort::{Error, scratch_directories};

/// Sorts records that a program pushes, and returns them in order. Takes any number of records,
/// with a hard limit on memory.
///
/// ```
/// # fn main() -> Result<(), xsort::Error> {
/// let mut sorting = xsort::Sorter::new().memory(64 << 20).start()?;
/// for (time, what) in [(7_u64, "stop"), (3, "start"), (7, "end")] {
///     sorting.push(time.to_be_bytes(), what)?;
/// }
/// let mut sorted = sorting.finish()?;
/// while let Some((time, what)) = sorted.next()? {
///     println!("{time:?} {}", String::from_utf8_lossy(what));
/// }
/// # Ok(())
/// # }
/// ```
///
/// A record has a key. Both may be any bytes, and may be empty. Keys are compared by bytes. Records
/// with equal keys come out in the order in which they were pushed. Unsigned numbers compare like
/// their `to_be_bytes`. [`SortKey`](crate::SortKey) builds keys of signed numbers, of several
/// fields, and of descending fields.
///
/// A record with its key may take about an eighth of the memory. The key counts twice, since some
/// of its bytes take two bytes in the sort. Longer records are refused with [`Error::LongRecord`],
/// which says how much memory is enough.
///
/// Several threads can push through [`Sorting::pusher`]. Other threads sort and spill while records
/// are pushed, and merge while records are taken. Each side waits if the other is slower.
///
/// ```
/// # fn main() -> Result<(), xsort::Error> {
/// let sorting = xsort::Sorter::new().memory(64 << 20).start()?;
/// std::thread::scope(|scope| {
///     for part in [0..500_u32, 500..1000] {
///         let mut pusher = sorting.pusher();
///         let records = part.map(|number| ((number * 7 % 1000).to_be_bytes(), "record"));
///         scope.spawn(move || pusher.push_batch(records));
///     }
/// });
/// let mut keys = Vec::new();
/// let report = sorting.finish()?.write_to(&mut keys, |key, _, out| out.write_all(key))?;
/// assert_eq!(report.records, 1000);
/// assert!(keys.chunks(4).is_sorted());
/// # Ok(())
/// # }
/// ```
///
/// When `next` returns `None`, the number of records, their bytes and their hashes are the same
/// after the sort as before it. Any difference is an error.
#[derive(Clone, Debug, Default)]
pub struct Sorter {
    scratch: Vec<PathBuf>,
    disk: Option<SharedDisk>,
    setup: Setup,
}

/// The disk of a job that has begun.
#[derive(Clone)]
struct SharedDisk(Arc<dyn Disk>);

impl fmt::Debug for SharedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedDisk").finish_non_exhaustive()
    }
}

impl Sorter {
    /// Creates a sort with the defaults.
    pub fn new() -> Sorter {
        Sorter::default()
    }

    crate::resource_setters!();

    /// Sets the directories for scratch. Unless set, scratch is in the system's temporary
    /// directory. Nothing is written there while all records fit in memory.
    ///
    /// ```
    /// let sorter = xsort::Sorter::new().scratch(["/mnt/fast", "/mnt/other"]);
    /// ```
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Sorter {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Has scratch on the disk of a job that has begun, whose bandwidth limit and I/O engine then
    /// hold for the sort, too. Unless set, the sort has a disk of its own.
    #[must_use]
    pub fn disk_of(mut self, job: &Job) -> Sorter {
        self.disk = Some(SharedDisk(Arc::clone(&job.disk)));
        self
    }

    /// Begins a sort. Nothing is started before a buffer is full.
    ///
    /// # Errors
    /// Any [`Error`]; currently there is none.
    pub fn start(&self) -> Result<Sorting, Error> {
        let (job, observer) = self.setup.begin([""; 0], None)?;
        let options = SorterOptions {
            budget_bytes: job.budget_bytes(),
            threads: job.threads(),
            caches: job.caches(),
            scratch: scratch_directories(&self.scratch, Path::new(STANDARD_OUTPUT)),
        };
        let disk = self.disk.as_ref().map_or(job.disk, |SharedDisk(disk)| Arc::clone(disk));
        Ok(Sorting::start(options, disk, Arc::new(observer)))
    }
}
