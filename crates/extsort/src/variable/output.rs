//! Where sorted lines go.

use std::io::Write;
use xsort_disk::FileId;

/// Where sorted lines go.
pub(super) enum LinesOutput<'a> {
    /// Somebody else's writer.
    Stream(&'a mut (dyn Write + Send)),
    /// An output of the disk that has no name, or a hidden one, until it is published. It is
    /// written past the page cache.
    Unpublished(FileId),
}

impl LinesOutput<'_> {
    /// Whether it can be written only past the page cache.
    pub(super) fn needs_bypass(&self) -> bool {
        matches!(self, LinesOutput::Unpublished(_))
    }
}
