//! The caller's choices about checkpoints.

use std::time::Duration;

/// How a sort keeps its finished work.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    /// What to do with the checkpoint of an interrupted sort to the same output.
    pub begin: Begin,
    /// Interval at which finished work is recorded. A flush may record it earlier.
    pub every: Duration,
}

/// What to do with the checkpoint of an interrupted sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Refuse to sort if there is one.
    New,
    /// Resume the sort; begin if there is none.
    Resume,
    /// Remove the checkpoint, and begin.
    Restart,
}
