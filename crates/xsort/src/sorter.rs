//! Sorting what a program has in its hands.

use crate::setup::{Setup, resource_setters};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::STANDARD_OUTPUT;
use xsort_extsort::sorter::{SorterOptions, Sorting};
use xsort_extsort::{Error, scratch_directories};

/// Sorts records that are pushed to it, and gives them out in order: any number of them, in a hard
/// limit of memory.
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
/// A record has a key. Both are any bytes, and may be empty. Keys compare as bytes do; records with
/// equal keys come out in the order in which they were pushed. Numbers compare as their
/// `to_be_bytes`, if they have no sign; [`SortKey`](crate::SortKey) makes keys of numbers with
/// signs, of several fields, and of falling ones.
///
/// A record with its key may take about an eighth of the memory; a key counts twice, since some of
/// its bytes are two on their way. Longer ones are refused with
/// [`Error::LongRecord`], which says how much memory is enough.
///
/// Several threads push through [`Sorting::pusher`]. Other threads sort and spill while more is
/// pushed, and merge while records are taken; who is too fast waits.
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
/// That `next` returns `None` means that as many records as were pushed came out, of as many bytes,
/// and that their hashes before and after the sort are the same. Anything else is an error.
#[derive(Clone, Debug, Default)]
pub struct Sorter {
    scratch: Vec<PathBuf>,
    setup: Setup,
}

impl Sorter {
    /// A sort with the defaults.
    pub fn new() -> Sorter {
        Sorter::default()
    }

    resource_setters!();

    /// Directories for scratch: the system's temporary one, unless set. Nothing is written there as
    /// long as all records fit in memory.
    ///
    /// ```
    /// let sorter = xsort::Sorter::new().scratch(["/mnt/fast", "/mnt/other"]);
    /// ```
    #[must_use]
    pub fn scratch<P: Into<PathBuf>>(mut self, directories: impl IntoIterator<Item = P>) -> Sorter {
        self.scratch = directories.into_iter().map(Into::into).collect();
        self
    }

    /// Begins to sort. Nothing is started before a buffer is full.
    ///
    /// # Errors
    /// What [`Error`] lists; today there is no case.
    pub fn start(&self) -> Result<Sorting, Error> {
        let (job, observer) = self.setup.begin([""; 0], None)?;
        let options = SorterOptions {
            budget_bytes: job.budget_bytes,
            threads: job.threads,
            caches: job.caches,
            scratch: scratch_directories(&self.scratch, Path::new(STANDARD_OUTPUT)),
        };
        Ok(Sorting::start(options, job.disk, Arc::new(observer)))
    }
}
