//! The caller's choices about checkpoints.

use std::time::Duration;

/// How a sort keeps its finished work.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoint {
    /// What to do with the checkpoint of an interrupted sort to the same output.
    pub begin: Begin,
    /// Minimum time between two recordings of finished work.
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
