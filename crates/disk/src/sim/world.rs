//! The state of a simulated disk: files as maps of blocks, names, and what of both would survive a
//! power cut.
//!
//! Files are sparse, so that holes, reserved space and discarded ranges cost what they cost on a
//! drive. Durability follows the strict reading of POSIX: a file's bytes survive if they were
//! synced, a name if its directory was.

use super::faults::FileRole;
use crate::{ALIGNMENT, FileId};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const BLOCK: u64 = ALIGNMENT as u64;

/// The bytes of one block. Shared, so that they are copied outside the one lock.
pub(super) type Page = Arc<[u8; ALIGNMENT]>;

/// Copies `bytes` to pages; the last one is filled up with zeroes.
pub(super) fn pages(bytes: &[u8]) -> Vec<Page> {
    let page = |chunk: &[u8]| {
        let mut page = [0; ALIGNMENT];
        page[..chunk.len()].copy_from_slice(chunk);
        Arc::new(page)
    };
    bytes.chunks(ALIGNMENT).map(page).collect()
}

/// A place of one block in a file. A block that is in no map is a hole: it reads as zeroes and
/// takes no space.
#[derive(Clone, Debug)]
enum Block {
    Data(Page),
    /// Space without bytes; reads as zeroes.
    Reserved,
    /// Given back; reading it is a mistake.
    Discarded,
}

/// A file's bytes.
#[derive(Clone, Debug, Default)]
struct Content {
    blocks: BTreeMap<u64, Block>,
    bytes: u64,
    /// Blocks before this one all have space, so that nobody looks through a long file again each
    /// time it grows.
    spaced_to: u64,
}

impl Content {
    fn space(&self) -> u64 {
        self.blocks.values().filter(|block| !matches!(block, Block::Discarded)).count() as u64
            * BLOCK
    }

    fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes.next_multiple_of(BLOCK) as usize];
        for (&index, block) in &self.blocks {
            if let Block::Data(data) = block
                && let Some(place) =
                    bytes.get_mut((index * BLOCK) as usize..((index + 1) * BLOCK) as usize)
            {
                place.copy_from_slice(&data[..]);
            }
        }
        bytes.truncate(self.bytes as usize);
        bytes
    }
}

#[derive(Debug, Default)]
struct Inode {
    content: Content,
    /// The content as of the last sync.
    synced: Content,
    /// Transfers under way keep a closed file alive.
    in_flight: usize,
    /// How often another program gave it other bytes.
    version: u64,
    /// Blocks that take space in `content`, kept so that a full disk is noticed cheaply.
    space: u64,
}

/// An open file.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) inode: u64,
    pub(super) role: FileRole,
    pub(super) path: PathBuf,
    /// The machine's start that it belongs to: none survives the next.
    pub(super) boot: u64,
    /// What the file was when it was opened.
    pub(super) version: u64,
    /// It is locked: nobody else can open it as a kept file.
    pub(super) is_kept: bool,
}

/// Everything under the simulated disk's one lock.
#[derive(Debug, Default)]
pub(super) struct World {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: BTreeMap<PathBuf, u64>,
    synced_names: BTreeMap<PathBuf, u64>,
    handles: Vec<Option<Handle>>,
    pub(super) boot: u64,
    /// Operations since the last start.
    operations: u64,
    /// The last one before the power goes, if that was asked for since the start.
    last_operation: Option<u64>,
}

impl World {
    /// Counts an operation; EIO once the power is gone.
    pub(super) fn operate(&mut self, power_goes_after: Option<u64>) -> Result<(), Errno> {
        self.operations += 1;
        // The machine comes up again once; what happens after that start is not cut again, unless
        // that is asked for.
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
        let mut content = Content { bytes: bytes.len() as u64, ..Content::default() };
        content.blocks.extend((0..).zip(pages(bytes).into_iter().map(Block::Data)));
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

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.names.keys().cloned().collect()
    }

    /// A removal becomes durable only with its directory's next sync, which nobody asks for: a
    /// power cut brings the file back.
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

    /// A file with a name that survives a power cut.
    pub(super) fn create_kept(&mut self, path: &Path) -> Result<FileId, Errno> {
        if self.names.contains_key(path) {
            return Err(Errno::EXIST);
        }
        Ok(self.create_named(path, path, FileRole::Scratch))
    }

    /// The same for what is to become `path`; a file that has the hidden name goes, unless it is
    /// locked.
    pub(super) fn create_kept_output(
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

    /// Opens a file that was kept, for itself alone.
    pub(super) fn open_kept(
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
        let is_it =
            |handle: &Handle| handle.inode == inode && handle.is_kept && handle.boot == self.boot;
        self.handles.iter().flatten().any(is_it)
    }

    fn lock(&mut self, file: FileId) {
        self.handles[file.0 as usize].as_mut().expect("it was just opened").is_kept = true;
    }

    /// Durably. One that has no name stays as it is.
    pub(super) fn remove_kept(&mut self, inode: u64) {
        self.names.retain(|_, named| *named != inode);
        self.synced_names.retain(|_, named| *named != inode);
        self.collect();
    }

    /// Takes a name away, durably.
    pub(super) fn forget(&mut self, path: &Path) {
        self.names.remove(path);
        self.synced_names.remove(path);
        self.collect();
    }

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

    /// Keeps the file alive for a transfer, unless a power cut has closed it: then there is nothing
    /// to end either.
    pub(super) fn begin_transfer(&mut self, file: FileId) -> (Handle, bool) {
        let handle = self.handle(file);
        let is_counted = handle.boot == self.boot;
        if is_counted {
            self.inode(handle.inode).in_flight += 1;
        }
        (handle, is_counted)
    }

    pub(super) fn end_transfer(&mut self, inode: u64) {
        self.inode(inode).in_flight -= 1;
        self.collect();
    }

    pub(super) fn in_flight(&mut self, inode: u64) -> usize {
        self.inode(inode).in_flight
    }

    pub(super) fn bytes(&mut self, inode: u64) -> u64 {
        self.inode(inode).content.bytes
    }

    /// What the file has of a range: how many bytes, and their pages. `None` is a page of zeroes.
    pub(super) fn read(
        &mut self,
        inode: u64,
        offset: u64,
        bytes: usize,
    ) -> io::Result<(usize, Vec<Option<Page>>)> {
        let content = &self.inode(inode).content;
        let bytes = bytes.min(content.bytes.saturating_sub(offset) as usize);
        let first = offset / BLOCK;
        let mut pages = vec![None; bytes.div_ceil(ALIGNMENT)];
        for (&index, block) in content.blocks.range(first..first + pages.len() as u64) {
            match block {
                Block::Data(page) => pages[(index - first) as usize] = Some(Arc::clone(page)),
                Block::Reserved => {}
                Block::Discarded => {
                    return Err(io::Error::other("the range read was discarded before"));
                }
            }
        }
        Ok((bytes, pages))
    }

    /// Writes `bytes` bytes, of any number of sectors, at an aligned offset. Of the last page only
    /// those count.
    pub(super) fn write(
        &mut self,
        inode: u64,
        offset: u64,
        mut pages: Vec<Page>,
        bytes: usize,
        room: Option<u64>,
    ) -> Result<usize, Errno> {
        self.make_room(inode, offset, bytes as u64, room)?;
        let content = &mut self.inode(inode).content;
        let tail = bytes % ALIGNMENT;
        let last = offset / BLOCK + pages.len().saturating_sub(1) as u64;
        if let (true, Some(Block::Data(old)), Some(page)) =
            (tail > 0, content.blocks.get(&last), pages.last_mut())
        {
            Arc::make_mut(page)[tail..].copy_from_slice(&old[tail..]);
        }
        content.blocks.extend((offset / BLOCK..).zip(pages.into_iter().map(Block::Data)));
        content.bytes = content.bytes.max(offset + bytes as u64);
        Ok(bytes)
    }

    pub(super) fn flip_bit(&mut self, inode: u64, bit: u64) {
        let byte = bit / 8;
        if let Some(Block::Data(data)) = self.inode(inode).content.blocks.get_mut(&(byte / BLOCK)) {
            Arc::make_mut(data)[(byte % BLOCK) as usize] ^= 1 << (bit % 8);
        }
    }

    /// Sets space aside for a range and makes the file at least that long.
    pub(super) fn reserve(
        &mut self,
        inode: u64,
        offset: u64,
        bytes: u64,
        room: Option<u64>,
    ) -> Result<(), Errno> {
        self.make_room(inode, offset, bytes, room)?;
        let content = &mut self.inode(inode).content;
        content.bytes = content.bytes.max(offset + bytes);
        Ok(())
    }

    pub(super) fn discard(&mut self, inode: u64, offset: u64, bytes: u64) {
        let inode = self.inode(inode);
        inode.content.spaced_to = inode.content.spaced_to.min(offset.div_ceil(BLOCK));
        for index in offset.div_ceil(BLOCK)..(offset + bytes) / BLOCK {
            inode.content.blocks.insert(index, Block::Discarded);
        }
        inode.space = inode.content.space();
    }

    pub(super) fn truncate(&mut self, inode: u64, bytes: u64) {
        let inode = self.inode(inode);
        inode.content.blocks.split_off(&bytes.div_ceil(BLOCK));
        inode.content.spaced_to = inode.content.spaced_to.min(bytes.div_ceil(BLOCK));
        // What a file grows by later reads as zeroes, so the last block's tail is cleared, as a
        // drive's file system does.
        if let Some(Block::Data(data)) = inode.content.blocks.get_mut(&(bytes / BLOCK)) {
            Arc::make_mut(data)[(bytes % BLOCK) as usize..].fill(0);
        }
        inode.content.bytes = bytes;
        inode.space = inode.content.space();
    }

    pub(super) fn sync(&mut self, inode: u64) {
        let inode = self.inode(inode);
        inode.synced = inode.content.clone();
    }

    /// The machine stops and starts: only what was synced is there.
    pub(super) fn power_cut(&mut self) {
        self.boot += 1;
        self.operations = 0;
        self.last_operation = None;
        self.names = self.synced_names.clone();
        for inode in self.inodes.values_mut() {
            inode.content = inode.synced.clone();
            inode.space = inode.content.space();
        }
        self.collect();
    }

    /// Space that all files take that can still be reached, in bytes.
    pub(super) fn space_taken(&self) -> u64 {
        let mut inodes: Vec<u64> = self.names.values().copied().chain(self.open_inodes()).collect();
        inodes.sort_unstable();
        inodes.dedup();
        inodes.iter().filter_map(|inode| self.inodes.get(inode)).map(|inode| inode.space).sum()
    }

    /// Reserves the blocks of a range that have no space yet, or none of them if the disk would be
    /// full.
    fn make_room(
        &mut self,
        inode: u64,
        offset: u64,
        bytes: u64,
        room: Option<u64>,
    ) -> Result<(), Errno> {
        let taken = room.map(|room| (room, self.space_taken()));
        let inode = self.inode(inode);
        let (first, end) = (offset / BLOCK, (offset + bytes).div_ceil(BLOCK));
        let spaced_to = inode.content.spaced_to;
        let is_spaceless = |block: Option<&Block>| matches!(block, None | Some(Block::Discarded));
        let lacking = (first.max(spaced_to)..end)
            .filter(|index| is_spaceless(inode.content.blocks.get(index)));
        let lacking: Vec<u64> = lacking.collect();
        let needed = lacking.len() as u64 * BLOCK;
        if taken.is_some_and(|(room, taken)| taken + needed > room) {
            return Err(Errno::NOSPC);
        }
        inode.content.blocks.extend(lacking.into_iter().map(|index| (index, Block::Reserved)));
        inode.space += needed;
        if first <= spaced_to {
            inode.content.spaced_to = spaced_to.max(end);
        }
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
            is_kept: false,
        }));
        FileId(self.handles.len() as u32 - 1)
    }

    fn inode(&mut self, inode: u64) -> &mut Inode {
        self.inodes
            .get_mut(&inode)
            .expect("files are kept while they have a name, a handle or a transfer")
    }

    fn open_inodes(&self) -> impl Iterator<Item = u64> {
        self.handles
            .iter()
            .flatten()
            .filter(|handle| handle.boot == self.boot)
            .map(|handle| handle.inode)
    }

    /// Forgets files that nothing refers to.
    fn collect(&mut self) {
        let named = self.names.values().chain(self.synced_names.values()).copied();
        let held: Vec<u64> = named.chain(self.open_inodes()).collect();
        self.inodes.retain(|number, inode| inode.in_flight > 0 || held.contains(number));
    }
}
