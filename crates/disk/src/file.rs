//! Open files of the operating system, and the table that gives them their numbers.
//!
//! A file is direct (O_DIRECT) where its file system can do that at our alignment, else buffered;
//! the flag can change from direct to buffered later, if the file system turns out to refuse a
//! transfer.
//!
//! A sort of a tree has more inputs than may be open. All are opened once, so that what can't be
//! read is known at once; beyond a number the first ones are closed again, and opened by their
//! names when their turn comes, if these are still theirs.
//!
//! Not the transfers: those hold an `Arc` of the file, so that closing it while bytes are under way
//! is harmless.

use crate::drive::{FUSE, kind_of};
use crate::notice::Notices;
use crate::output::Unpublished;
use crate::{ALIGNMENT, Error, FileId, Operation};
use rustix::fs::{AtFlags, OFlags, Stat, StatxFlags, fcntl_getfl, fcntl_setfl, statx};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// A file that is open.
#[derive(Debug)]
pub(crate) struct OpenFile {
    fd: OwnedFd,
    path: PathBuf,
    /// Read and written relaxed: a stale `true` only costs one more refused transfer, which says so
    /// again.
    is_direct: AtomicBool,
    notices: Arc<Notices>,
    /// No drive is behind it: a file that lives as long as the process.
    pub(crate) is_memory: bool,
    /// It is a FUSE file system's.
    pub(crate) is_fuse: bool,
    /// For an output: where it goes. Dropped without publishing, it takes its hidden name along.
    pub(crate) unpublished: Option<Unpublished>,
    /// For an input: what it was when it was opened.
    pub(crate) snapshot: Option<Snapshot>,
}

/// What a file was at some moment: if this has not changed, its bytes have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    bytes: i64,
    modified: (i64, u64),
}

/// When a file's bytes were changed last: seconds since 1970, and nanoseconds.
#[allow(
    clippy::unnecessary_cast,
    reason = "C says that these are signed, the kernel that they are not"
)]
pub(crate) fn modified(stat: &Stat) -> (i64, u64) {
    (stat.st_mtime as i64, stat.st_mtime_nsec as u64)
}

impl From<&Stat> for Snapshot {
    fn from(stat: &Stat) -> Snapshot {
        Snapshot {
            device: stat.st_dev,
            inode: stat.st_ino,
            bytes: stat.st_size,
            modified: modified(stat),
        }
    }
}

impl Snapshot {
    /// What happened to a file since this was taken of it, if its bytes may be others.
    pub(crate) fn changed_to(&self, now: &Snapshot) -> Option<String> {
        let (before, after) = (self.bytes, now.bytes);
        let what = if before != after {
            format!("it had {before} bytes when it was opened and has {after} now")
        } else if self.modified != now.modified {
            "it was written to since it was opened".to_owned()
        } else {
            return None;
        };
        Some(format!(
            "{what}: what was read of it may be neither; run again when nobody writes to it"
        ))
    }
}

impl OpenFile {
    /// Takes an opened file over as it is.
    pub(crate) fn buffered(fd: OwnedFd, path: &Path, notices: &Arc<Notices>) -> OpenFile {
        OpenFile {
            fd,
            path: path.to_owned(),
            is_direct: AtomicBool::new(false),
            notices: Arc::clone(notices),
            is_memory: false,
            is_fuse: false,
            unpublished: None,
            snapshot: None,
        }
    }

    /// Takes an opened file over and makes it direct if its file system allows; a notice says so if
    /// not.
    pub(crate) fn new(fd: OwnedFd, path: &Path, notices: &Arc<Notices>) -> OpenFile {
        let is_fuse = kind_of(&fd).is_ok_and(|(kind, _)| kind == FUSE);
        let file = OpenFile { is_fuse, ..OpenFile::buffered(fd, path, notices) };
        match make_direct(&file.fd) {
            Ok(()) => file.is_direct.store(true, Ordering::Relaxed),
            Err(refusal) => file.notice(refusal),
        }
        file
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
    }

    /// Tells the user a line.
    pub(crate) fn notice(&self, line: String) {
        self.notices.add(line);
    }

    /// Turns direct I/O off, after a transfer was refused with EINVAL though opening was not.
    pub(crate) fn make_buffered(&self) {
        if self.is_direct.swap(false, Ordering::Relaxed) {
            let kind =
                kind_of(&self.fd).map_or_else(|_| "its file system".to_owned(), |(kind, _)| kind);
            self.notice(format!(
                "{kind} refused a direct transfer: its files go through the page cache"
            ));
        }
        // If this fails the next transfer is refused again, by then as a final error.
        if let Ok(flags) = fcntl_getfl(&self.fd) {
            let _ = fcntl_setfl(&self.fd, flags - OFlags::DIRECT);
        }
    }
}

impl AsFd for OpenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sets O_DIRECT on an open file, or says in a line for the user why not. By fcntl after opening
/// instead of by opening twice: what is refused is then only the flag, never the file.
fn make_direct(fd: &OwnedFd) -> Result<(), String> {
    let (kind, is_memory) = kind_of(fd).unwrap_or_else(|_| ("its file system".to_owned(), false));
    if is_memory {
        return Err(format!("{kind} keeps its files in memory: direct I/O does not apply to them"));
    }
    let fallback = "its files go through the page cache, which costs more CPU";
    // Kernels before 6.1 and many file systems don't answer; then the flag itself is the question.
    if let Ok(answer) = statx(fd, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        && StatxFlags::from_bits_retain(answer.stx_mask).contains(StatxFlags::DIOALIGN)
    {
        let needed = answer.stx_dio_mem_align.max(answer.stx_dio_offset_align) as usize;
        if needed == 0 {
            return Err(format!("{kind} offers no direct I/O here: {fallback}"));
        }
        if !ALIGNMENT.is_multiple_of(needed) {
            return Err(format!(
                "{kind} wants direct I/O aligned to {needed} bytes, more than {ALIGNMENT}: {fallback}"
            ));
        }
    }
    fcntl_getfl(fd).and_then(|flags| fcntl_setfl(fd, flags | OFlags::DIRECT)).map_err(|errno| {
        match errno {
            Errno::INVAL => format!("{kind} offers no direct I/O: {fallback}"),
            other => format!("{kind} refused direct I/O ({other}): {fallback}"),
        }
    })
}

/// Files by number. Numbers are never used again, so that a stale one is found out instead of
/// meaning another file; an entry of a closed file costs a few words.
#[derive(Debug)]
pub(crate) struct FileTable {
    files: RwLock<Files>,
    /// Inputs that are open at most, but for those that transfers hold.
    inputs_open_max: usize,
}

#[derive(Debug, Default)]
struct Files {
    entries: Vec<Entry>,
    /// Inputs in the order in which they were opened; some may be closed by now.
    inputs: VecDeque<FileId>,
}

#[derive(Debug)]
enum Entry {
    Open(Arc<OpenFile>),
    /// An input that is closed until it is needed.
    Parked(Box<Parked>),
    Closed,
}

/// What it takes to open an input again.
#[derive(Clone, Debug)]
struct Parked {
    path: PathBuf,
    snapshot: Snapshot,
}

impl FileTable {
    pub(crate) fn new(inputs_open_max: usize) -> FileTable {
        FileTable { files: RwLock::default(), inputs_open_max: inputs_open_max.max(1) }
    }

    pub(crate) fn insert(&self, file: OpenFile) -> FileId {
        let mut files = self.write();
        let id = u32::try_from(files.entries.len())
            .expect("fewer than four thousand million are ever opened");
        let id = FileId(id);
        files.entries.push(Entry::Closed);
        self.put(&mut files, id, Arc::new(file));
        id
    }

    /// The file, opened by `reopen` if it was closed for the sake of others.
    ///
    /// # Errors
    /// If its path can't be opened any more, or is another file's by now.
    ///
    /// # Panics
    /// If the file is closed or was never opened here.
    pub(crate) fn get(
        &self,
        id: FileId,
        reopen: impl FnOnce(&Path) -> Result<OpenFile, Error>,
    ) -> Result<Arc<OpenFile>, Error> {
        let parked = match self.with(id, |file| Ok(Arc::clone(file)), |parked| Err(parked.clone()))
        {
            Ok(file) => return Ok(file),
            Err(parked) => parked,
        };
        let file = reopen(&parked.path)?;
        let opened = file.snapshot.expect("an input has one");
        if (opened.device, opened.inode) != (parked.snapshot.device, parked.snapshot.inode) {
            let source = std::io::Error::other("its name is another file's by now");
            return Err(Error::new(Operation::Open, parked.path, source));
        }
        // What it was when it was opened first is what counts.
        let file = Arc::new(OpenFile { snapshot: Some(parked.snapshot), ..file });
        let mut files = self.write();
        if let Entry::Open(other) = &files.entries[id.0 as usize] {
            return Ok(Arc::clone(other));
        }
        self.put(&mut files, id, Arc::clone(&file));
        Ok(file)
    }

    /// Looks at a file without holding it longer than the call, so that `remove` can tell whether
    /// transfers hold it.
    fn with<T>(
        &self,
        id: FileId,
        open: impl FnOnce(&Arc<OpenFile>) -> T,
        parked: impl FnOnce(&Parked) -> T,
    ) -> T {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        match files.entries.get(id.0 as usize) {
            Some(Entry::Open(file)) => open(file),
            Some(Entry::Parked(file)) => parked(file),
            Some(Entry::Closed) => panic!("file {} was closed before", id.0),
            None => panic!("file {} was never opened on this disk", id.0),
        }
    }

    /// The path that a file was opened under.
    ///
    /// # Panics
    /// As `get`.
    pub(crate) fn path(&self, id: FileId) -> PathBuf {
        self.with(id, |file| file.path().to_owned(), |parked| parked.path.clone())
    }

    /// Takes a file out of the table. `None` if it is not in it any more, or isn't open.
    pub(crate) fn remove(&self, id: FileId) -> Option<Arc<OpenFile>> {
        let mut files = self.write();
        match mem::replace(files.entries.get_mut(id.0 as usize)?, Entry::Closed) {
            Entry::Open(file) => Some(file),
            Entry::Parked(_) | Entry::Closed => None,
        }
    }

    /// Puts an open file in its place, and parks the input that was opened first, if they are too
    /// many now.
    fn put(&self, files: &mut Files, id: FileId, file: Arc<OpenFile>) {
        if file.snapshot.is_some() {
            files.inputs.push_back(id);
        }
        files.entries[id.0 as usize] = Entry::Open(file);
        while files.inputs.len() > self.inputs_open_max {
            let first = files.inputs.pop_front().expect("there are more than none");
            let entry = &mut files.entries[first.0 as usize];
            if let Entry::Open(file) = entry
                && let Some(snapshot) = file.snapshot
            {
                *entry = Entry::Parked(Box::new(Parked { path: file.path().to_owned(), snapshot }));
            }
        }
    }

    fn write(&self) -> RwLockWriteGuard<'_, Files> {
        self.files.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_beyond_the_limit_are_opened_again_if_their_names_are_still_theirs() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: usize| directory.path().join(name.to_string());
        let notices = Arc::new(Notices::default());
        let open = |path: &Path| {
            let file = std::fs::File::open(path)
                .map_err(|error| Error::new(Operation::Open, path, error))?;
            let snapshot = Snapshot::from(&rustix::fs::fstat(&file).unwrap());
            let file = OpenFile::buffered(file.into(), path, &notices);
            Ok(OpenFile { snapshot: Some(snapshot), ..file })
        };
        let table = FileTable::new(2);
        let ids: Vec<FileId> = (0..5)
            .map(|name| {
                std::fs::write(path(name), name.to_string()).unwrap();
                table.insert(open(&path(name)).unwrap())
            })
            .collect();
        let count_open = || {
            let files = table.files.read().unwrap();
            files.entries.iter().filter(|entry| matches!(entry, Entry::Open(_))).count()
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
        // What is open may lose its name, what is parked may not.
        std::fs::remove_file(path(4)).unwrap();
        assert!(table.get(ids[4], open).is_ok());
        std::fs::remove_file(path(0)).unwrap();
        assert!(table.get(ids[0], open).is_err());
        std::fs::rename(path(2), path(1)).unwrap();
        let error = table.get(ids[1], open).unwrap_err();
        assert!(error.to_string().contains("another file's"), "{error}");
    }

    #[test]
    fn a_file_made_buffered_has_lost_the_flag_and_says_so_once() {
        // Cargo's own directory is on a real file system, where /tmp may be in memory.
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let notices = Arc::new(Notices::default());
        let file = OpenFile::new(file.into(), Path::new("file"), &notices);
        let has_flag = || fcntl_getfl(&file).unwrap().contains(OFlags::DIRECT);
        assert_eq!(file.is_direct(), has_flag());
        if !file.is_direct() {
            assert_eq!(notices.take().len(), 1);
            eprintln!("SKIPPED: no direct I/O here");
            return;
        }
        file.make_buffered();
        file.make_buffered();
        assert!(!file.is_direct() && !has_flag());
        let lines = notices.take();
        assert!(lines.len() == 1 && lines[0].contains("refused a direct transfer"), "{lines:?}");
        // One byte at an odd place: a direct file would refuse it.
        assert_eq!(rustix::io::pwrite(&file, b"x", 1), Ok(1));
    }
}
