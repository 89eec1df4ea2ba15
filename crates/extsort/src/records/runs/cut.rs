//! Cuts, which divide a merge into segments that threads merge independently.
//!
//! The records of a merge have a total order: (key, run, place in the run). A cut is a point in
//! that order, at the beginning of a block: records before the block's first record are on one
//! side, that record and all later ones on the other. In every other run, a binary search in the
//! single block that straddles the cut finds its position. So segments have exact bounds and exact
//! positions in the output. A key that fills the whole input is cut like any other, because run and
//! place distinguish records with equal keys.
//!
//! ```text
//! run 0  [  a..............|...b ][ c ....
//! run 1      [ b ..........|........ ][ d...
//! run 2  [ a ..][ b .......|.][ c
//!                         cut
//! ```
//!
//! A segment lies between two cuts. A block that a cut divides belongs to the segments on both
//! sides, and stays until both are merged.
//!
//! The forecast alone determines which blocks a cut divides, so a segment can be handed out before
//! it is cut. The thread that merges it finds the cut at its end, and sends it to the thread with
//! the next segment. It receives the cut at its beginning from the thread with the preceding
//! segment. So all cuts are found in parallel.

/// A point in the order of a merge.
#[derive(Debug)]
pub(crate) struct Cut {
    /// For each run, the number of records before the cut in the block that the cut divides. This
    /// is the run's last block before the cut in the forecast.
    pub(crate) offsets: Vec<u32>,
    /// Number of records of all runs before the cut.
    pub(crate) records: u64,
}

impl Cut {
    /// The cut before all records.
    pub(crate) fn start(runs: usize) -> Cut {
        Cut { offsets: vec![0; runs], records: 0 }
    }
}
