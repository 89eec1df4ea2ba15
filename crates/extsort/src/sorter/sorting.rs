//! The half of a pushed sort that takes records in.

use super::blocks::{Blocks, blocks};
use super::engine::Engine;
use super::feed::Feed;
use super::options::{BLOCKS_OUT, Shares, SorterOptions, engine_options};
use super::outcome::Outcome;
use super::pusher::Pusher;
use super::sorted::Sorted;
use super::watch::Watch;
use crate::{Error, Observer};
use std::fmt;
use std::sync::Arc;
use xsort_disk::Disk;

/// A sort that records are pushed to. Dropping it before [`finish`](Sorting::finish) stops the
/// sort, and frees its memory and scratch.
pub struct Sorting {
    feed: Arc<Feed>,
    own: Pusher,
    /// `None` once it is finished.
    blocks: Option<Blocks>,
}

impl Sorting {
    /// Begins a sort. Its engine starts when more records are pushed than a buffer holds.
    #[must_use]
    pub fn start(
        options: SorterOptions,
        disk: Arc<dyn Disk>,
        observer: Arc<dyn Observer + Send + Sync>,
    ) -> Sorting {
        let shares = Shares::new(&options);
        let watch = Arc::new(Watch { observer, outcome: Arc::new(Outcome::default()) });
        let (output, blocks) = blocks(shares.buffer_bytes, BLOCKS_OUT, Arc::clone(&watch));
        let engine = Engine { options: engine_options(&options), disk, watch, output };
        let feed = Arc::new(Feed::new(options, shares, engine));
        Sorting { own: Pusher::new(Arc::clone(&feed)), feed, blocks: Some(blocks) }
    }

    /// Pushes a record, which is sorted by the bytes of its key. Waits while the engine is busy.
    ///
    /// # Errors
    ///
    /// The errors of [`Pusher::push`].
    #[inline]
    pub fn push(&mut self, key: impl AsRef<[u8]>, record: impl AsRef<[u8]>) -> Result<(), Error> {
        self.own.push(key, record)
    }

    /// Pushes records with their keys, one after the other.
    ///
    /// # Errors
    ///
    /// The errors of [`Pusher::push_batch`].
    pub fn push_batch<K: AsRef<[u8]>, R: AsRef<[u8]>>(
        &mut self,
        records: impl IntoIterator<Item = (K, R)>,
    ) -> Result<(), Error> {
        self.own.push_batch(records)
    }

    /// Returns a pusher for another thread. Its buffer is a part of the budget: 256 KiB to 4 KiB,
    /// less with more pushers.
    #[must_use]
    pub fn pusher(&self) -> Pusher {
        Pusher::new(Arc::clone(&self.feed))
    }

    /// Ends the input. All pushers must have been dropped: join their threads first.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] if there is still a pusher; the error of the sort if it has failed;
    /// [`Error::Cancelled`] if it was stopped.
    pub fn finish(mut self) -> Result<Sorted, Error> {
        match self.feed.pushers() - 1 {
            0 => {}
            pushers => {
                let reason = format!(
                    "{pushers} more may push to a sort that is to finish: \
                     drop pushers, and join their threads, before that"
                );
                return Err(Error::Settings(reason));
            }
        }
        let last = self.own.take();
        self.feed.close(last).map_err(|ended| self.feed.outcome.error(ended))?;
        let blocks = self.blocks.take().expect("it is finished once");
        Ok(Sorted::new(Arc::clone(&self.feed), blocks))
    }
}

impl Drop for Sorting {
    fn drop(&mut self) {
        if self.blocks.is_some() {
            self.feed.abandon();
        }
    }
}

impl fmt::Debug for Sorting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sorting").field("own", &self.own).finish_non_exhaustive()
    }
}
