//! A directory during the walk: its ancestors, and its sums so far.

use crate::directory_entries::ListPosition;
use crate::stat::{FileStatus, Identity};
use crate::usage::Usage;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The place of a directory, and the counts in it. It lives until it and everything below it is
/// complete.
#[derive(Debug)]
pub(crate) struct Directory {
    parent: Option<Arc<Directory>>,
    /// Its name in its parent's listing; an argument as it was given.
    pub(crate) name: Box<[u8]>,
    /// 0 for arguments.
    pub(crate) depth: usize,
    pub(crate) identity: Identity,
    /// Its position in its parent's listing.
    pub(crate) position: ListPosition,
    /// Whether it or an ancestor is a mount point, except for arguments.
    pub(crate) is_below_mount: bool,
    /// The identity of an ancestor, replaced at every power of two of the depth. A directory that
    /// contains itself meets it again (Brent's cycle detection).
    tortoise: Identity,
    /// Number of entries listed so far.
    next_ordinal: AtomicU32,
    /// Whether all entries are listed.
    is_listed: AtomicBool,
    /// Whether GNU's walk sorts its lists by inode, if they are long.
    is_sortable: AtomicBool,
    counts: Mutex<Counts>,
}

#[derive(Debug)]
struct Counts {
    /// The directory itself and its entries, without subdirectories.
    own: Usage,
    /// Complete subdirectories with everything below.
    below: Usage,
    /// Number of tasks and subdirectories that may still add to it.
    pending: usize,
}

impl Counts {
    fn sums(&self) -> Sums {
        let mut total = self.own;
        total += self.below;
        Sums { own: self.own, total }
    }
}

/// The usage of a complete directory, or of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    /// The directory itself and its entries, without subdirectories.
    pub(crate) own: Usage,
    /// The directory itself and everything below.
    pub(crate) total: Usage,
}

impl Sums {
    /// Returns the sums of a file that contains nothing.
    pub(crate) fn of_one(usage: Usage) -> Sums {
        Sums { own: usage, total: usage }
    }
}

/// How a directory was listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) entries: usize,
    /// Whether GNU's walk sorts its lists by inode, if they are long.
    pub(crate) is_sortable: bool,
}

impl Directory {
    /// Creates a directory with one pending task.
    pub(crate) fn new(
        parent: Option<Arc<Directory>>,
        name: Box<[u8]>,
        position: ListPosition,
        status: &FileStatus,
    ) -> Directory {
        let identity = status.identity;
        let is_mount = status.is_mount != Some(false);
        let depth = parent.as_ref().map_or(0, |parent| parent.depth + 1);
        let tortoise = match &parent {
            Some(parent) if !depth.is_power_of_two() => parent.tortoise,
            Some(parent) => parent.identity,
            None => identity,
        };
        Directory {
            name,
            depth,
            identity,
            position,
            tortoise,
            is_below_mount: parent.as_ref().is_some_and(|parent| parent.is_below_mount || is_mount),
            next_ordinal: AtomicU32::new(0),
            is_listed: AtomicBool::new(false),
            is_sortable: AtomicBool::new(true),
            counts: Mutex::new(Counts { own: status.usage, below: Usage::default(), pending: 1 }),
            parent,
        }
    }

    pub(crate) fn parent(&self) -> Option<&Arc<Directory>> {
        self.parent.as_ref()
    }

    /// Returns the directory itself, its parent, and so on up to the argument.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &Directory> {
        std::iter::successors(Some(self), |directory| directory.parent.as_deref())
    }

    /// Returns whether an entry of this identity would be a directory that contains itself.
    /// `is_thorough` compares all ancestors; otherwise such a directory is found the second or
    /// third time around.
    pub(crate) fn is_within(&self, identity: Identity, is_thorough: bool) -> bool {
        if is_thorough {
            return self.ancestors().any(|ancestor| ancestor.identity == identity);
        }
        identity == self.identity || identity == self.tortoise
    }

    /// Adds usage counted in it and the number of pushed tasks; `finished` tasks are over. Returns
    /// the directory's sums if it is complete.
    pub(crate) fn add(&self, own: Usage, pushed: usize, finished: usize) -> Option<Sums> {
        self.update(|counts| {
            counts.own += own;
            counts.pending = counts.pending + pushed - finished;
        })
    }

    /// Adds a complete subdirectory. Returns the directory's sums if it is complete, too.
    pub(crate) fn add_subdirectory(&self, total: Usage) -> Option<Sums> {
        self.update(|counts| {
            counts.below += total;
            counts.pending -= 1;
        })
    }

    fn update(&self, change: impl FnOnce(&mut Counts)) -> Option<Sums> {
        let mut counts = self.counts.lock();
        change(&mut counts);
        (counts.pending == 0).then(|| counts.sums())
    }

    /// Returns the usage of the directory and everything below, as far as it was counted.
    pub(crate) fn total(&self) -> Usage {
        self.counts.lock().sums().total
    }

    /// Returns the number of the entry with which its listing continues.
    pub(crate) fn next_ordinal(&self) -> u32 {
        self.next_ordinal.load(Ordering::Relaxed)
    }

    /// Sets the number of the entry with which its listing continues. Only one thread at a time
    /// lists a directory.
    pub(crate) fn set_next_ordinal(&self, ordinal: u32) {
        self.next_ordinal.store(ordinal, Ordering::Relaxed);
    }

    /// Marks all its entries as listed. `is_sortable` says whether GNU's walk sorts long lists of
    /// it.
    pub(crate) fn finish_listing(&self, is_sortable: bool) {
        self.is_sortable.store(is_sortable, Ordering::Relaxed);
        self.is_listed.store(true, Ordering::Release);
    }

    /// Returns how it was listed; `None` until its listing is complete.
    pub(crate) fn listed(&self) -> Option<Listed> {
        self.is_listed.load(Ordering::Acquire).then(|| Listed {
            entries: self.next_ordinal() as usize,
            is_sortable: self.is_sortable.load(Ordering::Relaxed),
        })
    }

    pub(crate) fn path(&self) -> Vec<u8> {
        match &self.parent {
            Some(parent) => parent.path_of(&self.name),
            None => self.name.to_vec(),
        }
    }

    /// Returns the path of an entry: the argument, and the names below it.
    pub(crate) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut names: Vec<&[u8]> = self.ancestors().map(|directory| &directory.name[..]).collect();
        let mut path =
            Vec::with_capacity(names.iter().map(|name| name.len() + 1).sum::<usize>() + name.len());
        path.extend_from_slice(names.pop().unwrap_or_default());
        for name in names.into_iter().rev().chain([name]) {
            if !path.ends_with(b"/") {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        path
    }
}

impl Drop for Directory {
    /// Drops a chain of directories, each the last owner of its parent, without a stack frame per
    /// directory.
    fn drop(&mut self) {
        while let Some(mut parent) = self.parent.take().and_then(Arc::into_inner) {
            self.parent = parent.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::Kind;

    const POSITION: ListPosition = ListPosition { ordinal: 0, inode: 0 };

    fn directory(parent: Option<&Arc<Directory>>, name: &str, inode: u64) -> Arc<Directory> {
        let status = FileStatus {
            identity: Identity { device: 1, inode },
            kind: Kind::Directory,
            has_links: false,
            is_mount: Some(false),
            usage: Usage { inodes: 1, ..Usage::default() },
        };
        Arc::new(Directory::new(parent.cloned(), name.as_bytes().into(), POSITION, &status))
    }

    #[test]
    fn paths_have_one_slash_between_names() {
        let root = directory(None, "/", 0);
        assert_eq!(root.path_of(b"bin"), b"/bin");
        let below = directory(Some(&directory(Some(&directory(None, "a", 0)), "b", 0)), "c", 0);
        assert_eq!(below.path_of(b"d"), b"a/b/c/d");
    }

    #[test]
    fn a_directory_is_complete_when_all_in_it_is() {
        let itself = Usage { inodes: 1, ..Usage::default() };
        let root = directory(None, "root", 0);
        assert!(root.add(itself, 2, 1).is_none());
        assert!(root.add_subdirectory(itself).is_none());
        let sums = root.add(itself, 0, 1).expect("complete");
        assert_eq!((sums.own.inodes, sums.total.inodes), (3, 4));
    }

    #[test]
    fn a_directory_that_contains_itself_is_found() {
        let mut chain = directory(None, "0", 0);
        for depth in 1..40u64 {
            let inode = if depth < 30 { depth } else { 5 + (depth - 30) % 7 };
            let identity = Identity { device: 1, inode };
            assert_eq!(chain.is_within(identity, true), depth >= 30, "{depth}");
            chain = directory(Some(&chain), "x", inode);
        }
        let mut is_found = false;
        for inode in (0..200).map(|step| 5 + step % 7) {
            is_found |= chain.is_within(Identity { device: 1, inode }, false);
            chain = directory(Some(&chain), "x", inode);
        }
        assert!(is_found);
    }

    #[test]
    fn a_very_long_chain_is_dropped_without_a_stack() {
        let mut chain = directory(None, "0", 0);
        for _ in 0..1_000_000 {
            chain = directory(Some(&chain), "x", 1);
        }
        drop(chain);
    }
}
