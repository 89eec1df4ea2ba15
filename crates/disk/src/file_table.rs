//! The table that numbers a disk's open files.
//!
//! A sort of a directory tree has more inputs than may be open. All are opened once, so that an
//! unreadable one is found before any work. Beyond a limit, the inputs opened first are suspended:
//! their descriptors are closed. The table reopens them by path when a transfer needs them,
//! provided that the path still leads to the same file.

use crate::file::OpenFile;
use crate::snapshot::Snapshot;
use crate::{Error, FileId, Operation};
use parking_lot::{RwLock, RwLockWriteGuard};
use std::collections::VecDeque;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by number. Numbers are never reused, so a stale number is an error rather than another
/// file. A closed file costs a few words of memory.
#[derive(Debug)]
pub(crate) struct FileTable {
    files: RwLock<Files>,
    /// Maximum number of open inputs, not counting files that only transfers still hold.
    inputs_open_max: usize,
}

#[derive(Debug, Default)]
struct Files {
    slots: Vec<FileSlot>,
    /// Open inputs in the order in which they were opened; some may be closed by now.
    inputs: VecDeque<FileId>,
}

#[derive(Debug)]
enum FileSlot {
    Open(Arc<OpenFile>),
    /// An input whose descriptor is closed until it is needed.
    Suspended(Box<SuspendedInput>),
    Closed,
}

/// What is needed to reopen an input.
#[derive(Clone, Debug)]
struct SuspendedInput {
    path: PathBuf,
    snapshot: Snapshot,
}

impl FileTable {
    pub(crate) fn new(inputs_open_max: usize) -> FileTable {
        FileTable { files: RwLock::default(), inputs_open_max: inputs_open_max.max(1) }
    }

    pub(crate) fn insert(&self, file: OpenFile) -> FileId {
        let mut files = self.write();
        let id = u32::try_from(files.slots.len())
            .expect("fewer than four thousand million are ever opened");
        let id = FileId(id);
        files.slots.push(FileSlot::Closed);
        self.put(&mut files, id, Arc::new(file));
        id
    }

    /// Returns the file, calling `reopen` if it is suspended.
    ///
    /// # Errors
    /// If its path can't be opened any more, or leads to another file now.
    ///
    /// # Panics
    /// If the file is closed or was never opened here.
    pub(crate) fn get(
        &self,
        id: FileId,
        reopen: impl FnOnce(&Path) -> Result<OpenFile, Error>,
    ) -> Result<Arc<OpenFile>, Error> {
        let open = |file: &Arc<OpenFile>| Ok(Arc::clone(file));
        let input = match self.with(id, open, |suspended| Err(suspended.clone())) {
            Ok(file) => return Ok(file),
            Err(suspended) => suspended,
        };
        let mut file = reopen(&input.path)?;
        let reopened = file.snapshot.expect("an input has one");
        if (reopened.device, reopened.inode) != (input.snapshot.device, input.snapshot.inode) {
            let source = std::io::Error::other("its name is another file's by now");
            return Err(Error::new(Operation::Open, input.path, source));
        }
        // Changes are detected relative to the first opening.
        file.snapshot = Some(input.snapshot);
        let file = Arc::new(file);
        let mut files = self.write();
        if let FileSlot::Open(other) = &files.slots[id.0 as usize] {
            return Ok(Arc::clone(other));
        }
        self.put(&mut files, id, Arc::clone(&file));
        Ok(file)
    }

    /// Calls `open` or `suspended` with a file. Unlike `get`, it holds the file only during the
    /// call, so that only transfers keep a removed file alive.
    fn with<T>(
        &self,
        id: FileId,
        open: impl FnOnce(&Arc<OpenFile>) -> T,
        suspended: impl FnOnce(&SuspendedInput) -> T,
    ) -> T {
        let files = self.files.read();
        match files.slots.get(id.0 as usize) {
            Some(FileSlot::Open(file)) => open(file),
            Some(FileSlot::Suspended(file)) => suspended(file),
            Some(FileSlot::Closed) => panic!("file {} was closed before", id.0),
            None => panic!("file {} was never opened on this disk", id.0),
        }
    }

    /// Returns the path under which a file was opened.
    ///
    /// # Panics
    /// If the file is closed or was never opened here.
    pub(crate) fn path(&self, id: FileId) -> PathBuf {
        self.with(id, |file| file.path().to_owned(), |suspended| suspended.path.clone())
    }

    /// Closes a file's slot and returns the file, if it was open and not suspended.
    pub(crate) fn remove(&self, id: FileId) -> Option<Arc<OpenFile>> {
        let mut files = self.write();
        match mem::replace(files.slots.get_mut(id.0 as usize)?, FileSlot::Closed) {
            FileSlot::Open(file) => Some(file),
            FileSlot::Suspended(_) | FileSlot::Closed => None,
        }
    }

    /// Stores an open file in its slot. If too many inputs are open now, suspends those opened
    /// first.
    fn put(&self, files: &mut Files, id: FileId, file: Arc<OpenFile>) {
        if file.snapshot.is_some() {
            files.inputs.push_back(id);
        }
        files.slots[id.0 as usize] = FileSlot::Open(file);
        while files.inputs.len() > self.inputs_open_max {
            let first = files.inputs.pop_front().expect("there is at least one");
            let slot = &mut files.slots[first.0 as usize];
            if let FileSlot::Open(file) = slot
                && let Some(snapshot) = file.snapshot
            {
                *slot = FileSlot::Suspended(Box::new(SuspendedInput {
                    path: file.path().to_owned(),
                    snapshot,
                }));
            }
        }
    }

    fn write(&self) -> RwLockWriteGuard<'_, Files> {
        self.files.write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices::Notices;

    #[test]
    fn inputs_beyond_the_limit_are_opened_again_if_their_names_are_still_theirs() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: usize| directory.path().join(name.to_string());
        let notices = Arc::new(Notices::default());
        let open = |path: &Path| {
            let file = std::fs::File::open(path).map_err(Operation::Open.failed_on(path))?;
            let snapshot = Snapshot::from(&rustix::fs::fstat(&file).unwrap());
            let mut file = OpenFile::buffered(file.into(), path, &notices);
            file.snapshot = Some(snapshot);
            Ok(file)
        };
        let table = FileTable::new(2);
        let ids: Vec<FileId> = (0..5)
            .map(|name| {
                std::fs::write(path(name), name.to_string()).unwrap();
                table.insert(open(&path(name)).unwrap())
            })
            .collect();
        let count_open = || {
            let files = table.files.read();
            files.slots.iter().filter(|slot| matches!(slot, FileSlot::Open(_))).count()
        };
        assert_eq!(count_open(), 2);
        for _ in 0..2 {
            for (name, &id) in ids.iter().enumerate() {
                let file = table.get(id, open).unwrap();
                let mut byte = [0];
                assert_eq!(rustix::io::pread(&file, &mut byte, 0), Ok(1));
                assert_eq!((byte[0], table.path(id)), (b'0' + name as u8, path(name)));
                assert_eq!(count_open(), 2);
            }
        }
        // An open file may lose its name, a suspended one may not.
        std::fs::remove_file(path(4)).unwrap();
        assert!(table.get(ids[4], open).is_ok());
        std::fs::remove_file(path(0)).unwrap();
        assert!(table.get(ids[0], open).is_err());
        std::fs::rename(path(2), path(1)).unwrap();
        let error = table.get(ids[1], open).unwrap_err();
        assert!(error.to_string().contains("another file's"), "{error}");
    }
}
