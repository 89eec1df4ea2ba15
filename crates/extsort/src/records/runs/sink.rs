//! The destination of a merge.

use crate::records::output::Output;
use std::sync::Arc;
use xsort_disk::BlockPool;

/// The destination of a merge.
pub(crate) enum Sink<'a> {
    /// The output. Records are hashed as they pass.
    Output(&'a Output),
    /// A longer run on scratch, in blocks from this pool.
    Run(&'a Arc<BlockPool>),
}

impl Sink<'_> {
    /// Wakes all threads that wait for memory, because the job has failed.
    pub(crate) fn close(&self) {
        match self {
            Sink::Output(output) => output.close(),
            Sink::Run(pool) => pool.close(),
        }
    }
}
