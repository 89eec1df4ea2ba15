//! The simulated disk's file system: inodes, names, open files, and the durable copies of these
//! that would survive a power cut.
//!
//! Durability follows the strict reading of POSIX: a file's bytes survive if they were synced, a
//! name if its directory was.

use super::content::{BLOCK, Content, Page};
use super::faults::FileRole;
use crate::{FileId, Found, ListedFile};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
struct Inode {
    content: Content,
    /// The content at the last sync.
    synced: Content,
    /// Transfers under way, which keep a closed file alive.
    in_flight: usize,
    /// Number of times another program has overwritten it.
    version: u64,
    /// Space that `content` takes, counted so that a full disk is noticed cheaply.
    space: u64,
}

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) inode: u64,
    pub(super) role: FileRole,
    pub(super) path: PathBuf,
    /// The start of the machine to which it belongs. The next start closes it.
    pub(super) boot: u64,
    /// The file's version when it was opened.
    pub(super) version: u64,
    /// If locked, it can't be opened again as a persistent file.
    pub(super) is_locked: bool,
}

/// Everything under the simulated disk's one lock.
#[derive(Debug, Default)]
pub(super) struct FileSystem {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: BTreeMap<PathBuf, u64>,
    synced_names: BTreeMap<PathBuf, u64>,
    handles: Vec<Option<Handle>>,
    pub(super) boot: u64,
    /// Operations since the last start.
    operations: u64,
    /// Number of the last operation before the power fails, if a test has set it since the start.
    last_operation: Option<u64>,
}

impl FileSystem {
    /// Counts an operation. EIO once the power is gone.
    pub(super) fn operate(&mut self, power_goes_after: Option<u64>) -> Result<(), Errno> {
        self.operations += 1;
        // The option applies to the first start only; later only `power_goes_after` counts.
        let last = self.last_operation.or(power_goes_after.filter(|_| self.boot == 0));
        if last.is_some_and(|last| self.operations > last) { Err(Errno::IO) } else { Ok(()) }
    }

    pub(super) fn power_goes_after(&mut self, operations: u64) {
        self.last_operation = Some(self.operations + operations);
    }

    // Files by name.

    pub(super) fn put(&mut self, path: &Path, bytes: &[u8]) {
        let inode = self.new_inode();
        self.inodes.insert(inode, Inode::default());
        self.names.insert(path.to_owned(), inode);
        self.synced_names.insert(path.to_owned(), inode);
        self.overwrite(path, bytes);
        self.collect();
    }

    pub(super) fn overwrite(&mut self, path: &Path, bytes: &[u8]) {
        let content = Content::from_bytes(bytes);
        let inode = self.inode(self.names[path]);
        inode.version += 1;
        inode.space = content.space();
        inode.synced = content.clone();
        inode.content = content;
    }

    pub(super) fn version(&mut self, inode: u64) -> u64 {
        self.inode(inode).version
    }

    pub(super) fn get(&self, path: &Path) -> Option<Vec<u8>> {
        self.names.get(path).map(|inode| self.inodes[inode].content.to_vec())
    }

    /// Returns what is at a path. A directory exists if a file is below it, or if the path ends in
    /// a slash.
    pub(super) fn find(&self, path: &Path) -> Found {
        let bytes = path.as_os_str().as_bytes();
        let directory = [bytes, b"/"].concat();
        if bytes.ends_with(b"/") {
            return Found::Directory;
        }
        match self.names.get(path) {
            Some(inode) => Found::File { bytes: self.inodes[inode].content.bytes },
            None if self.names_from(&directory).next().is_some() => Found::Directory,
            None => Found::Missing,
        }
    }

    /// Returns the files whose paths begin with `prefix`.
    pub(super) fn list(&self, prefix: &Path) -> Vec<ListedFile> {
        let listed = |(path, inode): (&PathBuf, &u64)| ListedFile {
            path: path.clone(),
            bytes: self.inodes[inode].content.bytes,
        };
        self.names_from(prefix.as_os_str().as_bytes()).map(listed).collect()
    }

    /// Returns the names that begin with the bytes `prefix`.
    fn names_from<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = (&'a PathBuf, &'a u64)> {
        self.names.iter().filter(move |(path, _)| path.as_os_str().as_bytes().starts_with(prefix))
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.names.keys().cloned().collect()
    }

    /// Removes a name. This is not durable, because no caller syncs the directory: a power cut
    /// brings the file back.
    pub(super) fn remove(&mut self, path: &Path) -> Result<(), Errno> {
        self.names.remove(path).ok_or(Errno::NOENT)?;
        self.collect();
        Ok(())
    }

    pub(super) fn rename(&mut self, inode: u64, path: &Path) {
        self.names.retain(|_, named| *named != inode);
        self.names.insert(path.to_owned(), inode);
    }

    pub(super) fn sync_name(&mut self, path: &Path) {
        if let Some(&inode) = self.names.get(path) {
            self.synced_names.retain(|_, named| *named != inode);
            self.synced_names.insert(path.to_owned(), inode);
        }
    }

    // Open files.

    pub(super) fn open(&mut self, path: &Path, role: FileRole) -> Result<FileId, Errno> {
        let inode = *self.names.get(path).ok_or(Errno::NOENT)?;
        Ok(self.add_handle(inode, role, path))
    }

    pub(super) fn create(&mut self, role: FileRole, path: &Path) -> FileId {
        let inode = self.new_inode();
        self.inodes.insert(inode, Inode::default());
        self.add_handle(inode, role, path)
    }

    /// Creates a file with a name that survives a power cut.
    pub(super) fn create_persistent(&mut self, path: &Path) -> Result<FileId, Errno> {
        if self.names.contains_key(path) {
            return Err(Errno::EXIST);
        }
        Ok(self.create_named(path, path, FileRole::Scratch))
    }

    /// Creates the persistent output that will become `path`. Replaces a file with the hidden name,
    /// unless that is locked.
    pub(super) fn create_persistent_output(
        &mut self,
        path: &Path,
        hidden: &Path,
    ) -> Result<FileId, Errno> {
        if self.names.get(hidden).is_some_and(|&inode| self.is_locked(inode)) {
            return Err(Errno::AGAIN);
        }
        Ok(self.create_named(hidden, path, FileRole::Output))
    }

    fn create_named(&mut self, name: &Path, path: &Path, role: FileRole) -> FileId {
        let file = self.create(role, path);
        let inode = self.handle(file).inode;
        self.lock(file);
        self.names.insert(name.to_owned(), inode);
        self.synced_names.insert(name.to_owned(), inode);
        file
    }

    /// Opens a persistent file exclusively.
    pub(super) fn open_persistent(
        &mut self,
        name: &Path,
        path: &Path,
        role: FileRole,
    ) -> Result<FileId, Errno> {
        let inode = *self.names.get(name).ok_or(Errno::NOENT)?;
        if self.is_locked(inode) {
            return Err(Errno::AGAIN);
        }
        let file = self.add_handle(inode, role, path);
        self.lock(file);
        Ok(file)
    }

    fn is_locked(&self, inode: u64) -> bool {
        let mut handles = self.handles.iter().flatten();
        handles.any(|handle| handle.inode == inode && handle.is_locked && handle.boot == self.boot)
    }

    fn lock(&mut self, file: FileId) {
        self.handles[file.0 as usize].as_mut().expect("it was just opened").is_locked = true;
    }

    /// Durably removes a file's name, if it has one.
    pub(super) fn remove_persistent(&mut self, inode: u64) {
        self.names.retain(|_, named| *named != inode);
        self.synced_names.retain(|_, named| *named != inode);
        self.collect();
    }

    /// Durably removes a name.
    pub(super) fn remove_durably(&mut self, path: &Path) {
        self.names.remove(path);
        self.synced_names.remove(path);
        self.collect();
    }

    /// Returns the handle of an open file.
    ///
    /// # Panics
    /// If the file is closed or was never opened here: a mistake of the caller.
    pub(super) fn handle(&self, file: FileId) -> Handle {
        match self.handles.get(file.0 as usize) {
            Some(Some(handle)) => handle.clone(),
            Some(None) => panic!("file {} was closed before", file.0),
            None => panic!("file {} was never opened on this disk", file.0),
        }
    }

    pub(super) fn close(&mut self, file: FileId) {
        if let Some(handle) = self.handles.get_mut(file.0 as usize) {
            *handle = None;
        }
        self.collect();
    }

    pub(super) fn open_files(&self) -> usize {
        self.handles.iter().flatten().filter(|handle| handle.boot == self.boot).count()
    }

    pub(super) fn space(&self, role: FileRole) -> u64 {
        let handles = self.handles.iter().flatten();
        handles
            .filter(|handle| handle.role == role)
            .filter_map(|handle| self.inodes.get(&handle.inode))
            .map(|i| i.space)
            .sum()
    }

    // Bytes.

    /// Keeps the file alive for a transfer. Returns `false` if a power cut has closed it, in which
    /// case `end_transfer` must not be called.
    pub(super) fn begin_transfer(&mut self, file: FileId) -> (Handle, bool) {
        let handle = self.handle(file);
        let is_counted = handle.boot == self.boot;
        if is_counted {
            self.inode(handle.inode).in_flight += 1;
        }
        (handle, is_counted)
    }

    /// Ends a transfer. Transfers from before a power cut are no longer counted.
    pub(super) fn end_transfer(&mut self, handle: &Handle) {
        if handle.boot == self.boot {
            self.inode(handle.inode).in_flight -= 1;
            self.collect();
        }
    }

    /// Returns the number of transfers under way, over all files.
    pub(super) fn transfers(&self) -> usize {
        self.inodes.values().map(|inode| inode.in_flight).sum()
    }

    pub(super) fn in_flight(&mut self, inode: u64) -> usize {
        self.inode(inode).in_flight
    }

    pub(super) fn bytes(&mut self, inode: u64) -> u64 {
        self.inode(inode).content.bytes
    }

    /// Returns the number of bytes that the file has in a range, and their pages. `None` is a page
    /// of zeroes.
    pub(super) fn read(
        &mut self,
        inode: u64,
        offset: u64,
        bytes: usize,
    ) -> io::Result<(usize, Vec<Option<Page>>)> {
        self.inode(inode).content.read(offset, bytes)
    }

    /// Writes `bytes` bytes, any number of sectors, at an aligned offset. Bytes of the last page
    /// beyond `bytes` are ignored.
    pub(super) fn write(
        &mut self,
        inode: u64,
        offset: u64,
        pages: Vec<Page>,
        bytes: usize,
        capacity: Option<u64>,
    ) -> Result<usize, Errno> {
        self.reserve_blocks(inode, offset, bytes as u64, capacity)?;
        self.inode(inode).content.write(offset, pages, bytes);
        Ok(bytes)
    }

    pub(super) fn flip_bit(&mut self, inode: u64, bit: u64) {
        self.inode(inode).content.flip_bit(bit);
    }

    /// Reserves space for a range and extends the file at least to its end.
    pub(super) fn reserve(
        &mut self,
        inode: u64,
        offset: u64,
        bytes: u64,
        capacity: Option<u64>,
    ) -> Result<(), Errno> {
        self.reserve_blocks(inode, offset, bytes, capacity)?;
        let content = &mut self.inode(inode).content;
        content.bytes = content.bytes.max(offset + bytes);
        Ok(())
    }

    pub(super) fn discard(&mut self, inode: u64, offset: u64, bytes: u64) {
        let inode = self.inode(inode);
        inode.content.discard(offset, bytes);
        inode.space = inode.content.space();
    }

    pub(super) fn truncate(&mut self, inode: u64, bytes: u64) {
        let inode = self.inode(inode);
        inode.content.truncate(bytes);
        inode.space = inode.content.space();
    }

    pub(super) fn sync(&mut self, inode: u64) {
        let inode = self.inode(inode);
        inode.synced = inode.content.clone();
    }

    /// Stops and starts the machine: only synced names and bytes remain.
    pub(super) fn power_cut(&mut self) {
        self.boot += 1;
        self.operations = 0;
        self.last_operation = None;
        self.names = self.synced_names.clone();
        for inode in self.inodes.values_mut() {
            inode.content = inode.synced.clone();
            inode.space = inode.content.space();
            inode.in_flight = 0;
        }
        self.collect();
    }

    /// Returns the space that all reachable files take, in bytes.
    pub(super) fn space_taken(&self) -> u64 {
        let mut inodes: Vec<u64> = self.names.values().copied().chain(self.open_inodes()).collect();
        inodes.sort_unstable();
        inodes.dedup();
        inodes.iter().filter_map(|inode| self.inodes.get(inode)).map(|inode| inode.space).sum()
    }

    /// Reserves the blocks of a range that have no space yet. Reserves none if the disk would be
    /// full.
    fn reserve_blocks(
        &mut self,
        inode: u64,
        offset: u64,
        bytes: u64,
        capacity: Option<u64>,
    ) -> Result<(), Errno> {
        let taken = capacity.map(|capacity| (capacity, self.space_taken()));
        let inode = self.inode(inode);
        let blocks = inode.content.blocks_without_space(offset, bytes);
        let needed = blocks.len() as u64 * BLOCK;
        if taken.is_some_and(|(capacity, taken)| taken + needed > capacity) {
            return Err(Errno::NOSPC);
        }
        inode.content.reserve(offset, bytes, blocks);
        inode.space += needed;
        Ok(())
    }

    fn new_inode(&mut self) -> u64 {
        self.next_inode += 1;
        self.next_inode
    }

    fn add_handle(&mut self, inode: u64, role: FileRole, path: &Path) -> FileId {
        let version = self.inode(inode).version;
        self.handles.push(Some(Handle {
            inode,
            role,
            path: path.to_owned(),
            boot: self.boot,
            version,
            is_locked: false,
        }));
        FileId(self.handles.len() as u32 - 1)
    }

    fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes
            .get_mut(&inode)
            .expect("a file stays while it has a name, a handle or a transfer")
    }

    fn open_inodes(&self) -> impl Iterator<Item = u64> {
        self.handles
            .iter()
            .flatten()
            .filter(|handle| handle.boot == self.boot)
            .map(|handle| handle.inode)
    }

    /// Drops files without a name, a handle or a transfer.
    fn collect(&mut self) {
        let named = self.names.values().chain(self.synced_names.values()).copied();
        let held: Vec<u64> = named.chain(self.open_inodes()).collect();
        self.inodes.retain(|number, inode| inode.in_flight > 0 || held.contains(number));
    }
}
