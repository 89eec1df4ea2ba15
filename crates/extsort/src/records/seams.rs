//! Pages of the output that several ranges share.
//!
//! Direct I/O writes whole pages, but ranges of the output begin and end at any byte. Each range
//! writes its whole pages on its own. The fragments at its two ends go to [`Seams`], which joins
//! them with the neighbours' fragments, and returns a page when it is full:
//!
//! ```text
//! range 4 ...aaaaaaaa|aaaaaaaa|aaa         |         |
//! range 5                     |   bbbbb|bbbbbbbb|bbbbbbbb|bb ...
//! pages   ...  own   |  own   | seam   |  own   |  own   | ...
//! ```

use crate::Error;
use crate::job::stage_times::StageTimer;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, BlockPool, Lease, align_down};

/// Shared pages that aren't full yet.
pub(crate) struct Seams {
    memory: Arc<BlockPool>,
    /// For each offset, the page and the number of its filled bytes.
    partial: Mutex<HashMap<u64, (Lease, usize)>>,
}

impl Seams {
    /// Shared pages with memory from a pool. Every range in flight can hold two pages, and every
    /// write in flight one.
    pub(crate) fn new(memory: Arc<BlockPool>) -> Seams {
        Seams { memory, partial: Mutex::default() }
    }

    /// Begins after an output that is written up to `end`. `tail` is the written part of its last
    /// page.
    pub(crate) fn begin(&self, end: u64, tail: &[u8]) {
        if tail.is_empty() {
            return;
        }
        let mut page = self.memory.try_take().expect("this is the first page");
        page.fill(0);
        page[..tail.len()].copy_from_slice(tail);
        self.partial.lock().insert(align_down(end), (page, tail.len()));
    }

    /// Adds a non-empty fragment of one page. The output has `output_bytes` bytes. Returns the page
    /// and its offset if the fragment completes it.
    pub(crate) fn add(
        &self,
        offset: u64,
        fragment: &[u8],
        output_bytes: u64,
        wait_timer: &StageTimer,
    ) -> Result<Option<(u64, Lease)>, Error> {
        let start = align_down(offset);
        let page_bytes = (output_bytes - start).min(ALIGNMENT as u64) as usize;
        // The memory for a new page is taken outside the lock: waiting for it must not keep a full
        // page from being written.
        let is_partial = self.partial.lock().contains_key(&start);
        let fresh = if is_partial {
            None
        } else {
            let page = wait_timer.time(|| self.memory.take());
            let mut page = page.ok_or(Error::Cancelled)?;
            page.fill(0);
            Some(page)
        };
        let mut partial = self.partial.lock();
        let (page, filled) = partial.entry(start).or_insert_with(|| {
            (fresh.expect("a page stays until it is full, and this fragment is missing"), 0)
        });
        page[(offset - start) as usize..][..fragment.len()].copy_from_slice(fragment);
        *filled += fragment.len();
        if *filled < page_bytes {
            return Ok(None);
        }
        Ok(partial.remove(&start).map(|(page, _)| (start, page)))
    }

    /// Wakes all threads that wait for memory, because the job has failed.
    pub(crate) fn close(&self) {
        self.memory.close();
    }
}
