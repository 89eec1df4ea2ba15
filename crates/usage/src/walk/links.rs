//! Files with hard links: collected during the walk, and charged to one of their names at its end.

use super::state::Walk;
use crate::directory::{Directory, Sums};
use crate::directory_entries::{DirectoryEntry, EntryBatch};
use crate::hard_links::HardLink;
use crate::stat::FileStatus;
use crate::usage::Usage;
use std::mem;
use std::sync::Arc;

impl Walk<'_> {
    /// Collects files with hard links. Each is a pending task of its directory.
    pub(super) fn defer_links(
        &self,
        parent: &Arc<Directory>,
        batch: &EntryBatch,
        files: &[(FileStatus, DirectoryEntry)],
    ) {
        let links = files.iter().map(|(status, entry)| HardLink {
            info: status.info(),
            usage: status.usage,
            parent: Arc::clone(parent),
            position: entry.position,
            name: self.reports_files_in(parent).then(|| batch.name(entry).to_bytes().into()),
        });
        let dropped = self.hard_links.lock().add(links);
        dropped.iter().for_each(|link| self.add(&link.parent, Usage::default(), 0, 1));
    }

    /// Charges each collected file to the name that GNU's walk visits first, unless it was counted
    /// with an earlier argument.
    pub(super) fn charge_links(&self) {
        let links = mem::take(&mut *self.hard_links.lock());
        if self.visitor.is_stopped() {
            return;
        }
        let (chosen, dropped) = links.choose();
        dropped.iter().for_each(|link| self.add(&link.parent, Usage::default(), 0, 1));
        for link in chosen {
            let mut own = Usage::default();
            if self.counted.insert(link.info.identity) {
                own = link.usage;
                self.visitor.advance(own.inodes, own.allocated_bytes);
                if let Some(name) = &link.name {
                    self.report(Some(&link.parent), name, link.info, Sums::of_one(own));
                }
            }
            self.add(&link.parent, own, 0, 1);
        }
    }
}
