//! Bins: all records in a range of keys, on scratch and in memory.

use super::piece::Piece;
use super::slices::BinSlice;
use crate::records::job::SortJob;
use serde::{Deserialize, Serialize};

/// All records in a range of keys.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bin {
    /// The bin's number in its scatter.
    pub(crate) number: usize,
    /// Number of records in the bin.
    pub(crate) records: u64,
    /// True if all records have the same key.
    pub(crate) is_one_key: bool,
    /// The bin's pieces on scratch, in the order of the input.
    pub(crate) pieces: Vec<Piece>,
    /// The bin's records in resident chunks, which follow the pieces in the input. They are not in
    /// the journal, because memory is lost with the process.
    #[serde(skip)]
    pub(crate) slices: Vec<BinSlice>,
}

impl Bin {
    /// Keeps the bin's pieces, which an earlier process has written to scratch.
    ///
    /// # Errors
    /// A message, if the pieces don't match the bin.
    pub(crate) fn claim(&self, job: &SortJob<'_>) -> Result<(), String> {
        let records: u64 = self.pieces.iter().map(|piece| u64::from(piece.records)).sum();
        if records != self.records {
            return Err(format!("bin {} has {records} of {} records", self.number, self.records));
        }
        self.pieces.iter().try_for_each(|piece| piece.claim(job, self.number..self.number + 1))
    }
}
