//! Memory for comparing and encoding: the caller has one for each thread.

use crate::collation;

/// Buffers that grow to the longest keys that are compared, and stay so. Comparing bytes, `-n` and
/// `-M` never touch them.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) a: Work,
    pub(super) b: Work,
    /// A whole normalised key.
    pub(super) key: Vec<u8>,
}

/// What is needed for one of two lines.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The key's text as `-d`, `-f` and `-i` leave it.
    pub(super) text: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) more: Vec<u8>,
    pub(super) collation: collation::Work,
}
