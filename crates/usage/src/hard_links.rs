//! Chooses which of a file's names counts.
//!
//! GNU du counts a file with hard links under the name that it visits first, so the sums of
//! directories depend on the order of the walk. Here threads walk in any order. So the names of
//! such files are collected until the argument is walked; their directories can't be complete
//! before that. Then each file is charged to the name that GNU's walk visits first. The numbers
//! equal GNU's, and are equal in every run.
//!
//! To bound memory, later names of each file are dropped whenever the collection has doubled. Two
//! names can't be compared while the last common directory of their paths is being listed, because
//! a long listing is sorted at its end. Both stay until the next time.

use crate::directory::Directory;
use crate::directory_entries::ListPosition;
use crate::gnu_order;
use crate::stat::FileInfo;
use crate::usage::Usage;
use std::cmp::Ordering;
use std::sync::Arc;

/// Number of names that take so little memory (a few MiB) that dropping some isn't worth the time.
const FEW_NAMES: usize = 32 << 10;

/// One name of a file with several names. It counts as a pending task of its directory until it is
/// charged or dropped.
#[derive(Debug)]
pub(crate) struct HardLink {
    pub(crate) info: FileInfo,
    pub(crate) usage: Usage,
    pub(crate) parent: Arc<Directory>,
    pub(crate) position: ListPosition,
    /// Its name, if the visitor wants files.
    pub(crate) name: Option<Box<[u8]>>,
}

/// Collected names, some of which will count.
#[derive(Debug, Default)]
pub(crate) struct HardLinks {
    links: Vec<HardLink>,
    /// Number of names after later names were dropped last.
    links_after_dropping: usize,
}

impl HardLinks {
    /// Adds names. From time to time drops some and returns them.
    pub(crate) fn add(&mut self, links: impl Iterator<Item = HardLink>) -> Vec<HardLink> {
        self.links.extend(links);
        if self.links.len() > FEW_NAMES.max(2 * self.links_after_dropping) {
            self.drop_later_names()
        } else {
            Vec::new()
        }
    }

    /// Returns the names that count, one per file, and the others. Called when everything is
    /// listed.
    pub(crate) fn choose(mut self) -> (Vec<HardLink>, Vec<HardLink>) {
        let dropped = self.drop_later_names();
        (self.links, dropped)
    }

    /// Removes and returns all names that come after another name of the same file.
    fn drop_later_names(&mut self) -> Vec<HardLink> {
        self.links.sort_unstable_by_key(|link| link.info.identity);
        let mut dropped = Vec::new();
        let mut first_of_file = 0;
        let mut remaining: Vec<HardLink> = Vec::with_capacity(self.links.len() / 2);
        for mut link in self.links.drain(..) {
            if remaining.last().is_none_or(|last| last.info.identity != link.info.identity) {
                first_of_file = remaining.len();
                remaining.push(link);
                continue;
            }
            let is_dropped = remaining[first_of_file..].iter_mut().any(|other| {
                match gnu_order::compare(link.place(), other.place()) {
                    Some(Ordering::Less) => {
                        std::mem::swap(&mut link, other);
                        true
                    }
                    order => order.is_some(),
                }
            });
            if is_dropped { dropped.push(link) } else { remaining.push(link) }
        }
        self.links_after_dropping = remaining.len();
        self.links = remaining;
        dropped
    }
}

impl HardLink {
    fn place(&self) -> (&Directory, ListPosition) {
        (&self.parent, self.position)
    }
}
