//! A directory under way: its place in the tree, and what is known of its sums.

use crate::batch::{Entry, GNU_ENTRIES_MAX, is_sorted_by_gnu};
use crate::status::{Identity, Status};
use crate::usage::Usage;
use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError};

/// Where a directory is, and what was counted in it. It lives until it is complete, and as long as
/// anything in it isn't.
#[derive(Debug)]
pub(crate) struct Directory {
    parent: Option<Arc<Directory>>,
    /// As the listing of its parent has it; an argument as it was given.
    pub(crate) name: Box<[u8]>,
    pub(crate) depth: usize,
    pub(crate) identity: Identity,
    /// Its place among the entries of its parent.
    place: Place,
    /// Whether something is mounted on it, or on one between the argument and it.
    pub(crate) is_below_mount: bool,
    /// An ancestor's identity, moved on at every power of two of the depth: what holds itself meets
    /// it again (Brent's cycle detection).
    landmark: Identity,
    /// Entries listed so far.
    pub(crate) entries: AtomicU32,
    /// Whether that is all.
    is_listed: AtomicBool,
    /// Whether GNU's walk sorts it by inode, if it is large.
    is_sortable: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The directory itself, and what is right in it but directories.
    own: Usage,
    /// What is in directories in it.
    below: Usage,
    /// Tasks that may add to it.
    tasks: usize,
}

impl State {
    fn sums(&self) -> Sums {
        let mut total = self.own;
        total += self.below;
        Sums { own: self.own, total }
    }
}

/// An entry's place in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) ordinal: u32,
    pub(crate) inode: u64,
}

impl From<&Entry> for Place {
    fn from(entry: &Entry) -> Place {
        Place { ordinal: entry.ordinal, inode: entry.inode }
    }
}

/// A directory that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) own: Usage,
    pub(crate) total: Usage,
}

impl Directory {
    /// One task may add to it.
    pub(crate) fn new(
        parent: Option<Arc<Directory>>,
        name: Box<[u8]>,
        place: Place,
        status: &Status,
    ) -> Directory {
        let identity = status.identity;
        let is_mount = status.is_mount != Some(false);
        let depth = parent.as_ref().map_or(0, |parent| parent.depth + 1);
        let landmark = match &parent {
            Some(parent) if !depth.is_power_of_two() => parent.landmark,
            Some(parent) => parent.identity,
            None => identity,
        };
        Directory {
            name,
            depth,
            identity,
            place,
            landmark,
            is_below_mount: parent.as_ref().is_some_and(|parent| parent.is_below_mount || is_mount),
            entries: AtomicU32::new(0),
            is_listed: AtomicBool::new(false),
            is_sortable: AtomicBool::new(true),
            state: Mutex::new(State { own: status.usage, below: Usage::default(), tasks: 1 }),
            parent,
        }
    }

    pub(crate) fn parent(&self) -> Option<&Arc<Directory>> {
        self.parent.as_ref()
    }

    /// Whether an entry that is this file would be a directory within itself. `is_thorough` looks
    /// at all ancestors; otherwise a directory that holds itself is found on the second or third
    /// time around.
    pub(crate) fn is_within(&self, identity: Identity, is_thorough: bool) -> bool {
        if is_thorough {
            return self.ancestors().any(|ancestor| ancestor.identity == identity);
        }
        identity == self.identity || identity == self.landmark
    }

    /// Itself, its parent, ...
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = &Directory> {
        std::iter::successors(Some(self), |directory| directory.parent.as_deref())
    }

    /// Adds what was counted in it, and tasks to come; `done` tasks are over. Returns its sums if
    /// it is complete.
    pub(crate) fn settle(&self, own: Usage, more: usize, done: usize) -> Option<Sums> {
        self.change(|state| {
            state.own += own;
            state.tasks = state.tasks + more - done;
        })
    }

    /// Adds a complete directory in it. Returns its sums if it is complete too.
    pub(crate) fn settle_below(&self, total: Usage) -> Option<Sums> {
        self.change(|state| {
            state.below += total;
            state.tasks -= 1;
        })
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Option<Sums> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        (state.tasks == 0).then(|| state.sums())
    }

    /// All its entries are listed. On some file systems GNU's walk sorts none.
    pub(crate) fn finish_listing(&self, is_sortable: bool) {
        self.is_sortable.store(is_sortable, atomic::Ordering::Relaxed);
        self.is_listed.store(true, atomic::Ordering::Release);
    }

    /// Of itself and everything below, as far as it is known.
    pub(crate) fn total(&self) -> Usage {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sums().total
    }

    /// Its own path.
    pub(crate) fn path(&self) -> Vec<u8> {
        match &self.parent {
            Some(parent) => parent.path_of(&self.name),
            None => self.name.to_vec(),
        }
    }

    /// The path of a name in it: the argument, and the names from there.
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

    /// Which of two entries of this directory GNU's walk meets first.
    fn compare_places(&self, a: Place, b: Place) -> Option<Ordering> {
        if !self.is_listed.load(atomic::Ordering::Acquire) {
            return None;
        }
        let part = |place: Place| place.ordinal as usize / GNU_ENTRIES_MAX;
        let entries = self.entries.load(atomic::Ordering::Relaxed) as usize;
        let is_sorted = || {
            let in_part = (entries - part(a) * GNU_ENTRIES_MAX).min(GNU_ENTRIES_MAX);
            is_sorted_by_gnu(in_part) && self.is_sortable.load(atomic::Ordering::Relaxed)
        };
        Some(part(a).cmp(&part(b)).then_with(|| {
            let by_inode = if is_sorted() { a.inode.cmp(&b.inode) } else { Ordering::Equal };
            by_inode.then(a.ordinal.cmp(&b.ordinal))
        }))
    }
}

/// Which of two entries, each in a directory of the same argument, GNU's walk meets first: it goes
/// depth first, entries in the order of their listing. `None` while the directory in which their
/// paths part is being listed.
pub(crate) fn compare(a: &(&Directory, Place), b: &(&Directory, Place)) -> Option<Ordering> {
    fn lift((directory, _): (&Directory, Place)) -> (&Directory, Place) {
        (directory.parent.as_deref().expect("a deeper directory has a parent"), directory.place)
    }
    let (mut a, mut b) = (*a, *b);
    while a.0.depth > b.0.depth {
        a = lift(a);
    }
    while b.0.depth > a.0.depth {
        b = lift(b);
    }
    while !std::ptr::eq(a.0, b.0) {
        (a, b) = (lift(a), lift(b));
    }
    a.0.compare_places(a.1, b.1)
}

impl Drop for Directory {
    /// A chain of directories of which each is the last to hold its parent, without a stack frame
    /// for each.
    fn drop(&mut self) {
        while let Some(mut parent) = self.parent.take().and_then(Arc::into_inner) {
            self.parent = parent.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Kind;

    fn directory(parent: Option<&Arc<Directory>>, name: &str, ordinal: u32) -> Arc<Directory> {
        let identity = Identity { device: 1, inode: 1000 + u64::from(ordinal) };
        let place = Place { ordinal, inode: 50 - u64::from(ordinal) };
        Arc::new(Directory::new(parent.cloned(), name.as_bytes().into(), place, &status(identity)))
    }

    fn status(identity: Identity) -> Status {
        Status {
            identity,
            kind: Kind::Directory,
            has_links: false,
            is_mount: Some(false),
            usage: Usage { inodes: 1, ..Usage::default() },
        }
    }

    fn place(ordinal: u32) -> Place {
        Place { ordinal, inode: 50 - u64::from(ordinal) }
    }

    #[test]
    fn paths_have_one_slash_between_names() {
        let root = directory(None, "/", 0);
        assert_eq!(root.path_of(b"bin"), b"/bin");
        let below = directory(Some(&directory(Some(&directory(None, "a", 0)), "b", 0)), "c", 0);
        assert_eq!(below.path_of(b"d"), b"a/b/c/d");
    }

    #[test]
    fn the_first_is_the_first_of_a_depth_first_walk() {
        let root = directory(None, "root", 0);
        let (one, two) = (directory(Some(&root), "one", 4), directory(Some(&root), "two", 8));
        let deep = directory(Some(&directory(Some(&one), "in", 2)), "in", 0);
        let order = [
            (&*root, place(3)),
            (&one, place(1)),
            (&deep, place(9)),
            (&one, place(3)),
            (&root, place(5)),
            (&two, place(0)),
            (&root, place(9)),
        ];
        assert_eq!(compare(&order[1], &order[3]), None, "more of it may be listed");
        order.iter().for_each(|(directory, _)| directory.finish_listing(true));
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(compare(a, b), Some(i.cmp(&j)), "{i} {j}");
            }
        }
    }

    #[test]
    fn large_directories_are_met_by_inode() {
        let large = directory(None, "large", 0);
        let is_first = |entries, is_sortable, a: (u32, u64), b: (u32, u64)| {
            large.entries.store(entries, atomic::Ordering::Relaxed);
            large.finish_listing(is_sortable);
            let place = |(ordinal, inode)| Place { ordinal, inode };
            compare(&(&large, place(a)), &(&large, place(b))) == Some(Ordering::Less)
        };
        assert!(!is_first(10_001, true, (3, 9), (5, 7)));
        assert!(is_first(10_000, true, (3, 9), (5, 7)));
        assert!(is_first(10_001, false, (3, 9), (5, 7)));
        // The first part of a hundred thousand, and what is over.
        assert!(!is_first(100_500, true, (7, 9), (9, 7)));
        assert!(is_first(100_500, true, (7, 9), (100_007, 1)));
        assert!(is_first(100_500, true, (100_006, 9), (100_007, 1)));
    }

    #[test]
    fn a_directory_is_complete_when_all_in_it_is() {
        let itself = Usage { inodes: 1, ..Usage::default() };
        let root = directory(None, "root", 0);
        assert!(root.settle(itself, 2, 1).is_none());
        assert!(root.settle_below(itself).is_none());
        let sums = root.settle(itself, 0, 1).expect("complete");
        assert_eq!((sums.own.inodes, sums.total.inodes), (3, 4));
    }

    #[test]
    fn what_holds_itself_is_found() {
        let mut chain = directory(None, "0", 0);
        for depth in 1..40u32 {
            let ordinal = if depth < 30 { depth } else { 5 + (depth - 30) % 7 };
            let identity = Identity { device: 1, inode: 1000 + u64::from(ordinal) };
            assert_eq!(chain.is_within(identity, true), depth >= 30, "{depth}");
            chain = directory(Some(&chain), "x", ordinal);
        }
        let identities = (0..200).map(|step| Identity { device: 1, inode: 1000 + 5 + step % 7 });
        let mut found = false;
        for identity in identities {
            found |= chain.is_within(identity, false);
            let place = Place { ordinal: 0, inode: 0 };
            chain = Arc::new(Directory::new(Some(chain), (*b"x").into(), place, &status(identity)));
        }
        assert!(found);
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
