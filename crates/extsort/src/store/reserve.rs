//! Space reserved for a file ahead of its writes (fallocate).

use std::io::ErrorKind;
use xsort_disk::{Disk, FileId, align_up};

/// Space is reserved in steps of this size in bytes. So a full drive is noticed before a write
/// fails, and the file system lays the file out in long extents.
const STEP_BYTES: u64 = 256 << 20;

/// The reserved space of a growing file.
#[derive(Debug)]
pub(crate) struct ReservedSpace {
    /// Space is reserved up to this offset.
    end: u64,
    /// Size of a step. Halved when a step no longer fits, because tmpfs finds that out page by
    /// page.
    step_bytes: u64,
}

impl ReservedSpace {
    /// Space that a file already has, up to `end`.
    pub(crate) fn up_to(end: u64) -> ReservedSpace {
        ReservedSpace { end, step_bytes: STEP_BYTES }
    }

    /// Reserves space up to `end`, and up to one step more, but the additional space ends at
    /// `expected_end`.
    ///
    /// # Errors
    /// An error for which [`is_full`] returns true, if the drive has no space up to `end`.
    pub(crate) fn extend_to(
        &mut self,
        end: u64,
        expected_end: u64,
        disk: &dyn Disk,
        file: FileId,
    ) -> Result<(), xsort_disk::Error> {
        if end <= self.end {
            return Ok(());
        }
        let step_bytes = self.step_bytes.min(expected_end.saturating_sub(self.end));
        let in_advance = align_up(self.end + step_bytes.max(end - self.end));
        self.end = match disk.reserve(file, in_advance) {
            Err(error) if is_full(&error) && end < in_advance => {
                self.step_bytes /= 2;
                disk.reserve(file, end).map(|()| end)?
            }
            reserved => reserved.map(|()| in_advance)?,
        };
        Ok(())
    }
}

/// True if a drive, or the user's quota on it, is full.
pub(crate) fn is_full(error: &xsort_disk::Error) -> bool {
    matches!(error.source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
