//! Memory for comparing and encoding. The caller has one per thread.

use crate::collation;

/// Buffers that grow to the longest compared keys, and keep that size. Comparing bytes, `-n` and
/// `-M` never use them.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) a: Work,
    pub(super) b: Work,
    /// A whole normalised key.
    pub(super) key: Vec<u8>,
}

/// Memory for one of two lines.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// The key's text after `-d`, `-f` and `-i`.
    pub(super) text: Vec<u8>,
    pub(super) key: Vec<u8>,
    pub(super) more: Vec<u8>,
    pub(super) collation: collation::Work,
}
