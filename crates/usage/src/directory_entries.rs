//! A directory's entries, as the kernel lists them: a batch at a time.

use crate::system::listing;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Maximum number of bytes that the kernel fills in one call: about a thousand names. Larger
/// buffers save no measurable time.
pub(crate) const BUFFER_BYTES: usize = 32 << 10;

/// A name in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectoryEntry {
    pub(crate) position: ListPosition,
    /// The offset of the name in [`EntryBatch::names`].
    name_offset: u32,
    /// According to the listing. Some file systems don't tell, and a symbolic link may lead to one.
    pub(crate) is_directory: bool,
    /// True if it is a symbolic link, or if the listing doesn't tell.
    pub(crate) may_be_link: bool,
}

/// The position of an entry in the listing of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListPosition {
    /// Number of the entry in the listing, from 0.
    pub(crate) ordinal: u32,
    /// `d_ino`: for a mount point, the covered directory's inode.
    pub(crate) inode: u64,
}

/// A part of a directory's entries.
#[derive(Debug, Default)]
pub(crate) struct EntryBatch {
    pub(crate) entries: Vec<DirectoryEntry>,
    /// The names, each with a zero byte at its end.
    names: Vec<u8>,
}

impl EntryBatch {
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.names.clear();
    }

    /// Lists entries until there are about `entries_max`, or no more. `ordinal` is the number of
    /// the next entry. Returns whether there may be more.
    ///
    /// # Errors
    /// If the directory can't be listed. The entries listed before that remain in the batch.
    pub(crate) fn list(
        &mut self,
        directory: impl AsFd,
        buffer: &mut [MaybeUninit<u8>],
        entries_max: usize,
        ordinal: &mut u32,
    ) -> Result<bool, Errno> {
        let mut listing = match listing(directory.as_fd(), buffer) {
            // The directory was removed after it was opened.
            Err(Errno::NOENT) => return Ok(false),
            listing => listing?,
        };
        while let Some(entry) = listing.next() {
            let entry = match entry {
                Err(Errno::NOENT) => break,
                entry => entry?,
            };
            let name = entry.file_name().to_bytes_with_nul();
            if name != b".\0" && name != b"..\0" {
                let name_offset =
                    u32::try_from(self.names.len()).expect("a batch of names is far below 4 GiB");
                self.entries.push(DirectoryEntry {
                    position: ListPosition { ordinal: *ordinal, inode: entry.ino() },
                    name_offset,
                    is_directory: entry.file_type() == FileType::Directory,
                    may_be_link: matches!(entry.file_type(), FileType::Symlink | FileType::Unknown),
                });
                self.names.extend_from_slice(name);
                *ordinal = ordinal.wrapping_add(1);
            }
            if self.entries.len() >= entries_max && listing.is_buffer_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(crate) fn name(&self, entry: &DirectoryEntry) -> &CStr {
        CStr::from_bytes_until_nul(&self.names[entry.name_offset as usize..])
            .expect("names end with a zero byte")
    }

    /// Sorts by inode, which is roughly the order on the device: few blocks of inodes are read, and
    /// each only once.
    pub(crate) fn sort_by_inode(&mut self) {
        // Stable: the order in the listing decides which of a file's names counts.
        self.entries.sort_by_key(|entry| entry.position.inode);
    }

    /// Keeps the first `entries` entries, and returns the rest.
    pub(crate) fn split_off(&mut self, entries: usize) -> EntryBatch {
        let mut rest = EntryBatch::default();
        for entry in self.entries.drain(entries.min(self.entries.len())..) {
            let bytes = &self.names[entry.name_offset as usize..];
            let name = CStr::from_bytes_until_nul(bytes).expect("names end with a zero byte");
            let name_offset = rest.names.len() as u32;
            rest.entries.push(DirectoryEntry { name_offset, ..entry });
            rest.names.extend_from_slice(name.to_bytes_with_nul());
        }
        rest
    }
}
