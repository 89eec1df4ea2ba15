//! Row groups that are copied without being decoded.

use crate::file::InputFile;
use crate::inputs::Group;
use parquet::file::metadata::ParquetMetaData;
use std::sync::Arc;

/// Row groups to copy, in the order of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    pub(crate) all: Vec<CopiedGroup>,
}

/// A row group to copy.
#[derive(Clone, Debug)]
pub(crate) struct CopiedGroup {
    pub(crate) group: Group,
    /// The number of sorted rows before it. All others come after it.
    pub(crate) sorted_rows_before: u64,
    pub(crate) file: InputFile,
    /// The footer of its file, with statistics and the indexes of its pages.
    pub(crate) footer: Arc<ParquetMetaData>,
}

impl Copies {
    /// Returns the number of copied rows.
    pub(crate) fn rows(&self) -> u64 {
        self.all.iter().map(|copied| copied.group.rows as u64).sum()
    }

    /// Returns the number of copied bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.all.iter().map(|copied| copied.group.bytes).sum()
    }

    /// Returns the row groups that aren't copied.
    pub(crate) fn others(&self, mut groups: Vec<Group>) -> Vec<Group> {
        let id = |group: &Group| (group.input, group.index);
        let mut copied: Vec<_> = self.all.iter().map(|copied| id(&copied.group)).collect();
        copied.sort_unstable();
        groups.retain(|group| copied.binary_search(&id(group)).is_err());
        groups
    }
}
