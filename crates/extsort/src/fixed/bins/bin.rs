//! Bins: all records in a range of keys, on scratch and in memory.

use super::piece::Piece;
use super::slices::BinSlice;
use crate::fixed::job::SortJob;
use serde::{Deserialize, Serialize};

/// All records in a range of keys.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bin {
    /// Its number among all bins of the scatter that made it.
    pub(crate) number: usize,
    /// Records in it.
    pub(crate) records: u64,
    /// Whether all of them have the same key.
    pub(crate) is_one_key: bool,
    /// Its pieces on scratch, in the order of the input.
    pub(crate) pieces: Vec<Piece>,
    /// Its records in chunks that stayed in memory, which all come after. They are not in the
    /// journal: memory is gone with the process.
    #[serde(skip)]
    pub(crate) slices: Vec<BinSlice>,
}

impl Bin {
    /// Keeps its pieces, which an earlier process has written to scratch.
    ///
    /// # Errors
    /// What is wrong, if it isn't made of such pieces.
    pub(crate) fn claim<K>(&self, job: &SortJob<'_, K>) -> Result<(), String> {
        let records: u64 = self.pieces.iter().map(|piece| u64::from(piece.records)).sum();
        if records != self.records {
            return Err(format!("bin {} has {records} of {} records", self.number, self.records));
        }
        self.pieces.iter().try_for_each(|piece| piece.claim(job, self.number..self.number + 1))
    }
}
