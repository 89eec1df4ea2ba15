//! Where a merge is cut into segments that threads merge on their own.
//!
//! The records of a merge have a total order: (key, run, place in the run). A cut is a point in
//! that order, chosen where a block begins: everything before the block's first record is on one
//! side, that record and everything after it on the other. In every other run the cut is found by a
//! binary search in a single block, the one that straddles it. So segments have exact bounds and
//! exact places in the output, and one key that fills the whole input is cut as easily as any
//! other: run and place distinguish records with equal keys.
//!
//! ```text
//! run 0  [  a..............|...b ][ c ....
//! run 1      [ b ..........|........ ][ d...
//! run 2  [ a ..][ b .......|.][ c
//!                         cut
//! ```
//!
//! A segment is what lies between two cuts. The block in which a cut falls belongs to the segments
//! on both sides of it, and stays until both are merged.
//!
//! The forecast alone says in which blocks a cut falls, so a segment can be handed out before it is
//! cut. The thread that merges it finds the cut at its end, passes that on to the thread with the
//! next segment, and gets the one at its beginning from the thread with the segment before: all
//! cuts are made in parallel.

/// A point in the order of a merge.
#[derive(Debug)]
pub(crate) struct Cut {
    /// For each run, how many records come before the cut in the block in which it falls, which is
    /// the last block that the forecast has before the cut.
    pub(crate) offsets: Vec<u32>,
    /// How many records of all runs come before it.
    pub(crate) records: u64,
}

impl Cut {
    /// Before everything.
    pub(crate) fn start(runs: usize) -> Cut {
        Cut { offsets: vec![0; runs], records: 0 }
    }
}
