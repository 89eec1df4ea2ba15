//! The order in which GNU du visits entries.
//!
//! GNU's walk (`fts`) goes depth first, and visits the entries of a directory as they are listed,
//! at most [`ENTRIES_PER_LIST`] at a time. If a list has more than 10,000 entries, it sorts them by
//! inode first, except on file systems where that doesn't help.

use crate::directory::Directory;
use crate::directory_entries::ListPosition;
use crate::system::file_system_type;
use std::cmp::Ordering;
use std::os::fd::AsFd;

/// Number of entries that GNU's walk lists before it visits them.
pub(crate) const ENTRIES_PER_LIST: usize = 100_000;

/// Lists longer than this are sorted by inode.
const SORTED_ABOVE: usize = 10_000;

/// Types of file systems (`statfs`) on which no list is sorted: CIFS, NFS, tmpfs.
const UNSORTED: [u32; 3] = [0xff53_4d42, 0x6969, 0x0102_1994];

/// Returns whether GNU's walk sorts a list of `entries` entries in this directory.
pub(crate) fn is_list_sorted(entries: usize, directory: impl AsFd) -> bool {
    // The count first: it saves a system call for nearly every directory.
    entries > SORTED_ABOVE
        && !file_system_type(directory).is_some_and(|kind| UNSORTED.contains(&kind))
}

/// Compares the order in which GNU's walk visits two entries below one argument. Each entry is
/// given as its directory and its position there. Returns `None` while the last common directory of
/// their paths is still being listed.
pub(crate) fn compare(
    one: (&Directory, ListPosition),
    other: (&Directory, ListPosition),
) -> Option<Ordering> {
    fn lift((directory, _): (&Directory, ListPosition)) -> (&Directory, ListPosition) {
        let parent = directory.parent().expect("a deeper directory has a parent");
        (&**parent, directory.position)
    }
    let (mut one, mut other) = (one, other);
    while one.0.depth > other.0.depth {
        one = lift(one);
    }
    while other.0.depth > one.0.depth {
        other = lift(other);
    }
    while !std::ptr::eq(one.0, other.0) {
        (one, other) = (lift(one), lift(other));
    }
    compare_in(one.0, one.1, other.1)
}

/// Compares the order in which GNU's walk visits two entries of one directory. Returns `None` while
/// it is still being listed.
fn compare_in(directory: &Directory, one: ListPosition, other: ListPosition) -> Option<Ordering> {
    let listed = directory.listed()?;
    let list = |position: ListPosition| position.ordinal as usize / ENTRIES_PER_LIST;
    let is_sorted = || {
        let entries = (listed.entries - list(one) * ENTRIES_PER_LIST).min(ENTRIES_PER_LIST);
        entries > SORTED_ABOVE && listed.is_sortable
    };
    Some(list(one).cmp(&list(other)).then_with(|| {
        let by_inode = if is_sorted() { one.inode.cmp(&other.inode) } else { Ordering::Equal };
        by_inode.then(one.ordinal.cmp(&other.ordinal))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::{FileStatus, Identity, Kind};
    use crate::usage::Usage;
    use std::sync::Arc;

    fn directory(parent: Option<&Arc<Directory>>, name: &str, ordinal: u32) -> Arc<Directory> {
        let status = FileStatus {
            identity: Identity { device: 1, inode: 1000 + u64::from(ordinal) },
            kind: Kind::Directory,
            has_links: false,
            is_mount: Some(false),
            usage: Usage::default(),
        };
        let name = name.as_bytes().into();
        Arc::new(Directory::new(parent.cloned(), name, position(ordinal), &status))
    }

    fn position(ordinal: u32) -> ListPosition {
        ListPosition { ordinal, inode: 50 - u64::from(ordinal) }
    }

    fn finish(directory: &Directory, entries: u32, is_sortable: bool) {
        directory.set_next_ordinal(entries);
        directory.finish_listing(is_sortable);
    }

    #[test]
    fn the_first_is_the_first_of_a_depth_first_walk() {
        let root = directory(None, "root", 0);
        let (one, two) = (directory(Some(&root), "one", 4), directory(Some(&root), "two", 8));
        let deep = directory(Some(&directory(Some(&one), "in", 2)), "in", 0);
        let order = [
            (&*root, position(3)),
            (&one, position(1)),
            (&deep, position(9)),
            (&one, position(3)),
            (&root, position(5)),
            (&two, position(0)),
            (&root, position(9)),
        ];
        assert_eq!(compare(order[1], order[3]), None, "more of it may be listed");
        order.iter().for_each(|(directory, _)| finish(directory, 20, true));
        for (i, one) in order.iter().enumerate() {
            for (j, other) in order.iter().enumerate() {
                assert_eq!(compare(*one, *other), Some(i.cmp(&j)), "{i} {j}");
            }
        }
    }

    #[test]
    fn large_directories_are_visited_by_inode() {
        let is_first = |entries, is_sortable, one: (u32, u64), other: (u32, u64)| {
            let large = directory(None, "large", 0);
            finish(&large, entries, is_sortable);
            let position = |(ordinal, inode)| ListPosition { ordinal, inode };
            let order = compare((&large, position(one)), (&large, position(other)));
            order == Some(Ordering::Less)
        };
        assert!(!is_first(10_001, true, (3, 9), (5, 7)));
        assert!(is_first(10_000, true, (3, 9), (5, 7)));
        assert!(is_first(10_001, false, (3, 9), (5, 7)));
        // The first list of a hundred thousand, and the rest.
        assert!(!is_first(100_500, true, (7, 9), (9, 7)));
        assert!(is_first(100_500, true, (7, 9), (100_007, 1)));
        assert!(is_first(100_500, true, (100_006, 9), (100_007, 1)));
    }
}
