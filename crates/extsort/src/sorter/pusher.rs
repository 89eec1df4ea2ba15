//! A thread's own buffer of keyed records.

use super::feed::Feed;
use crate::Error;
use crate::keyed::{KeyedPieces, keyed_bytes_max, push_keyed};
use std::fmt;
use std::sync::Arc;

/// Pushes records to a sort, from any thread. It gathers them in its own buffer, and sends that to
/// the engine when it is full, on [`flush`](Pusher::flush), and when it is dropped.
///
/// Records with equal keys from one pusher keep the order in which they were pushed. Those of
/// different pushers are ordered by when their buffers were sent: a flushed record comes before a
/// record pushed after the flush.
///
/// An error says that the sort has failed, except [`Error::LongRecord`], after which more records
/// may be pushed. Dropping a pusher can't report an error;
/// [`Sorting::finish`](super::Sorting::finish) reports it then.
pub struct Pusher {
    feed: Arc<Feed>,
    buffer: Vec<u8>,
    /// Capacity of the buffer in bytes.
    buffer_bytes: usize,
    /// Number of records in the buffer, and the bytes of their keys and contents.
    records: u64,
    bytes: u64,
}

impl Pusher {
    pub(super) fn new(feed: Arc<Feed>) -> Pusher {
        let buffer_bytes = feed.enter();
        Pusher { feed, buffer: Vec::new(), buffer_bytes, records: 0, bytes: 0 }
    }

    /// Pushes a record, which is sorted by the bytes of its key. Waits while the engine is busy.
    ///
    /// # Errors
    ///
    /// [`Error::LongRecord`] for a record that exceeds the budget; the error of the sort if it has
    /// failed; [`Error::Cancelled`] if it was stopped.
    #[inline]
    pub fn push(&mut self, key: impl AsRef<[u8]>, record: impl AsRef<[u8]>) -> Result<(), Error> {
        let (key, record) = (key.as_ref(), record.as_ref());
        let most = keyed_bytes_max(key.len(), record.len());
        if most > self.buffer.capacity() - self.buffer.len() {
            if most > self.buffer_bytes {
                return self.push_long(key, record, most);
            }
            self.flush()?;
            self.buffer = self.feed.buffer(self.buffer_bytes);
        }
        push_keyed(&mut self.buffer, key, record);
        self.records += 1;
        self.bytes += (key.len() + record.len()) as u64;
        Ok(())
    }

    /// Pushes records with their keys, one after the other.
    ///
    /// # Errors
    ///
    /// The errors of [`push`](Pusher::push), for the first record that fails. The records before it
    /// are pushed.
    pub fn push_batch<K: AsRef<[u8]>, R: AsRef<[u8]>>(
        &mut self,
        records: impl IntoIterator<Item = (K, R)>,
    ) -> Result<(), Error> {
        records.into_iter().try_for_each(|(key, record)| self.push(key, record))
    }

    /// Sends the buffered records to the engine.
    ///
    /// # Errors
    ///
    /// The error of the sort if it has failed; [`Error::Cancelled`] if it was stopped.
    pub fn flush(&mut self) -> Result<(), Error> {
        let last = self.take();
        if last.is_empty() {
            return Ok(());
        }
        self.feed.turn().send(last).map_err(|ended| self.feed.outcome.error(ended))
    }

    /// Counts the buffered records, and takes the buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.feed.count(std::mem::take(&mut self.records), std::mem::take(&mut self.bytes));
        std::mem::take(&mut self.buffer)
    }

    /// Pushes a record that is longer than the buffer, in pieces. No other pusher's records come
    /// between them.
    #[cold]
    fn push_long(&mut self, key: &[u8], record: &[u8], most: usize) -> Result<(), Error> {
        if most > self.feed.shares.keyed_bytes_max {
            return Err(self.feed.refuse(key.len() + record.len(), most));
        }
        self.flush()?;
        self.feed.count(1, (key.len() + record.len()) as u64);
        let mut pieces = KeyedPieces::new(key, record);
        let mut turn = self.feed.turn();
        let mut is_more = true;
        while is_more {
            let mut piece = self.feed.buffer(self.buffer_bytes);
            is_more = pieces.push_piece(&mut piece, self.buffer_bytes);
            turn.send(piece).map_err(|ended| self.feed.outcome.error(ended))?;
        }
        Ok(())
    }
}

impl Drop for Pusher {
    fn drop(&mut self) {
        let last = self.take();
        // The outcome keeps the error.
        drop(self.feed.turn().send(last));
        self.feed.leave(self.buffer_bytes);
    }
}

impl fmt::Debug for Pusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pusher").field("records", &self.records).finish_non_exhaustive()
    }
}
