//! Sorts records in memory.

use crate::cancel::Cancel;
use crate::machine::{caches, threads};
use crate::progress::{Callbacks, ProgressObserver};
use xsort_extsort::{Error, InMemoryOptions, order_in_memory, sort_in_memory, sort_in_place};
use xsort_records::Layout;

/// Sorts records of one size in memory with several threads: in place, to another buffer, or only
/// their numbers. The sort is stable.
///
/// ```
/// use xsort::{Layout, SortSlice};
///
/// let layout = Layout::new(4, vec!["0:4:u32le:desc".parse().unwrap()]).unwrap();
/// let mut records: Vec<u8> = [3_u32, 1, 2].into_iter().flat_map(u32::to_le_bytes).collect();
/// let mut order = [0; 3];
/// SortSlice::new(layout).order(&records, &mut order)?.in_place(&mut records)?;
/// assert_eq!(order, [0, 2, 1]);
/// assert_eq!(records, [3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]);
/// # Ok::<(), xsort::Error>(())
/// ```
///
/// In addition to the records, it takes 8 bytes of memory for each record, and a few MiB for each
/// thread.
#[derive(Clone, Debug)]
pub struct SortSlice {
    layout: Layout,
    threads: Option<usize>,
    cancel: Cancel,
}

impl SortSlice {
    /// Creates a sort for records of this layout.
    #[must_use]
    pub fn new(layout: Layout) -> SortSlice {
        SortSlice { layout, threads: None, cancel: Cancel::new() }
    }

    /// Sets the number of worker threads. Unless set, there is one for each processor.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> SortSlice {
        self.threads = Some(threads);
        self
    }

    /// Stops when the flag is set.
    #[must_use]
    pub fn cancel(mut self, flag: &Cancel) -> SortSlice {
        self.cancel = flag.clone();
        self
    }

    /// Sorts the records in place. Takes as much memory again as the records.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the flag was set in time. [`Error::Settings`] if `records` doesn't
    /// consist of whole records. [`Error::Disk`] if the system has no memory or no thread. After an
    /// error the records are unchanged.
    pub fn in_place(&self, records: &mut [u8]) -> Result<&SortSlice, Error> {
        sort_in_place(&self.options(), records, &self.observer()).map(|()| self)
    }

    /// Writes the records in order to `out`.
    ///
    /// # Errors
    /// The errors of [`in_place`](SortSlice::in_place), and [`Error::Settings`] if `out` has
    /// another length. After an error the content of `out` is unspecified.
    pub fn to(&self, records: &[u8], out: &mut [u8]) -> Result<&SortSlice, Error> {
        sort_in_memory(&self.options(), records, out, &self.observer()).map(|()| self)
    }

    /// Writes the numbers of the records, from 0, to `order` in the order of the records. `order`
    /// needs one element for each record.
    ///
    /// # Errors
    /// The errors of [`to`](SortSlice::to).
    pub fn order(&self, records: &[u8], order: &mut [u64]) -> Result<&SortSlice, Error> {
        order_in_memory(&self.options(), records, order, &self.observer()).map(|()| self)
    }

    fn observer(&self) -> ProgressObserver {
        ProgressObserver::new(Callbacks::default(), self.cancel.clone(), None)
    }

    fn options(&self) -> InMemoryOptions {
        let threads = threads(self.threads);
        InMemoryOptions { layout: self.layout.clone(), threads, caches: caches(None) }
    }
}
