//! Entries of a directory, as the kernel lists them: a batch at a time.

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

/// Bytes that the kernel fills in one call: about a thousand names. Larger ones save no time that
/// could be measured.
pub(crate) const BUFFER_BYTES: usize = 32 << 10;

/// GNU's walk sorts directories of more entries than this by inode, ...
const SORTED_BY_GNU: usize = 10_000;
/// ... so many entries at a time.
pub(crate) const GNU_ENTRIES_MAX: usize = 100_000;

/// A name in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// As the listing has it: of what lies below a mount, if something is mounted there.
    pub(crate) inode: u64,
    /// Its number in the listing of its directory.
    pub(crate) ordinal: u32,
    name: u32,
    /// As the listing says; some file systems don't say, and links may be followed to one.
    pub(crate) is_directory: bool,
}

/// Some of a directory's entries.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) entries: Vec<Entry>,
    names: Vec<u8>,
}

impl Batch {
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.names.clear();
    }

    /// Takes entries until there are about `entries_max`, or no more. Returns whether there may be
    /// more.
    ///
    /// # Errors
    /// If the directory can't be listed; the entries before are there.
    pub(crate) fn read(
        &mut self,
        directory: impl AsFd,
        buffer: &mut [MaybeUninit<u8>],
        entries_max: usize,
        ordinal: &mut u32,
    ) -> Result<bool, Errno> {
        let mut listing = RawDir::new(directory, buffer);
        while let Some(entry) = listing.next() {
            let entry = match entry {
                // It was removed since it was opened.
                Err(Errno::NOENT) => break,
                entry => entry?,
            };
            let name = entry.file_name().to_bytes_with_nul();
            if name != b".\0" && name != b"..\0" {
                let is_directory = entry.file_type() == FileType::Directory;
                let place =
                    u32::try_from(self.names.len()).expect("a batch of names is far below 4 GiB");
                self.entries.push(Entry {
                    inode: entry.ino(),
                    ordinal: *ordinal,
                    name: place,
                    is_directory,
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

    pub(crate) fn name(&self, entry: &Entry) -> &CStr {
        CStr::from_bytes_until_nul(&self.names[entry.name as usize..])
            .expect("names end with a zero byte")
    }

    /// In the order in which inodes lie on the device, so that few blocks of inodes are read, each
    /// once.
    pub(crate) fn sort_by_inode(&mut self) {
        // Names of one file stay in the order of their listing, which decides which of them counts.
        self.entries.sort_by_key(|entry| entry.inode);
    }

    /// Keeps the first `entries`, and returns the rest.
    pub(crate) fn split_off(&mut self, entries: usize) -> Batch {
        let mut rest = Batch::default();
        for entry in self.entries.drain(entries.min(self.entries.len())..) {
            let bytes = &self.names[entry.name as usize..];
            let name = CStr::from_bytes_until_nul(bytes).expect("names end with a zero byte");
            rest.entries.push(Entry { name: rest.names.len() as u32, ..entry });
            rest.names.extend_from_slice(name.to_bytes_with_nul());
        }
        rest
    }
}

/// Whether GNU's walk sorts so many entries, if the file system is one where that may help.
pub(crate) fn is_sorted_by_gnu(entries: usize) -> bool {
    entries > SORTED_BY_GNU
}
