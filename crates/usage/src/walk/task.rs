//! The tasks, and the memory that a thread uses for them.

use crate::directory::Directory;
use crate::directory_entries::{BUFFER_BYTES, DirectoryEntry, EntryBatch, ListPosition};
use crate::open_directories::OpenDirectory;
use crate::stat::FileStatus;
use crate::usage::Usage;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

/// A unit of a thread's work.
#[derive(Debug)]
pub(super) enum Task {
    /// Open a subdirectory.
    Open { parent: ParentDirectory, name: Box<CStr>, position: ListPosition },
    /// List more of an open directory, after `rest`, which was listed earlier.
    List { opened: Arc<OpenDirectory>, rest: EntryBatch },
    /// Stat some of the listed entries.
    Stat { parent: ParentDirectory, batch: Arc<EntryBatch>, range: Range<usize> },
}

/// The directory of a task's entries.
#[derive(Debug)]
pub(super) enum ParentDirectory {
    Open(Arc<OpenDirectory>),
    /// Closed early, because descriptors were scarce.
    Closed(Arc<Directory>),
}

impl ParentDirectory {
    pub(super) fn directory(&self) -> &Arc<Directory> {
        match self {
            ParentDirectory::Open(opened) => &opened.directory,
            ParentDirectory::Closed(directory) => directory,
        }
    }
}

/// Memory that a thread reuses for each task.
pub(super) struct ThreadBuffers {
    /// The buffer that the kernel fills with entries.
    pub(super) listing: Box<[MaybeUninit<u8>]>,
    pub(super) batch: EntryBatch,
    pub(super) counts: EntryCounts,
}

impl Default for ThreadBuffers {
    fn default() -> ThreadBuffers {
        ThreadBuffers {
            listing: Box::new_uninit_slice(BUFFER_BYTES),
            batch: EntryBatch::default(),
            counts: EntryCounts::default(),
        }
    }
}

/// Results for some of a directory's entries.
#[derive(Default)]
pub(super) struct EntryCounts {
    /// The usage of counted files.
    pub(super) own: Usage,
    /// Files that count once, and may have been counted under another name.
    pub(super) remembered: Vec<(FileStatus, DirectoryEntry)>,
    pub(super) subdirectories: Vec<DirectoryEntry>,
}
