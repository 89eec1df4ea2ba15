//! The settings that both halves of a sort use.

use crate::keys::KeyMaker;
use crate::memory::Shares;
use crate::progress::MemoryProgress;
use arrow_schema::SchemaRef;
use std::sync::Arc;
use xsort::{Cancel, Sorter};

/// The settings of a sort.
pub(crate) struct Settings {
    pub(crate) schema: SchemaRef,
    pub(crate) keys: Arc<KeyMaker>,
    pub(crate) batch_rows: usize,
    pub(crate) threads: usize,
    pub(crate) shares: Shares,
    pub(crate) sorter: Sorter,
    pub(crate) cancel: Cancel,
    pub(crate) progress: MemoryProgress,
}
