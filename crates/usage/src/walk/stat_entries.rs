//! The Stat task: counts files and pushes subdirectories as Open tasks.

use super::state::Walk;
use super::task::{EntryCounts, Task, ThreadBuffers};
use crate::directory_entries::{DirectoryEntry, EntryBatch};
use crate::open_directories::OpenDirectory;
use crate::options::Follow;
use crate::stat::FileStatus;
use crate::usage::Usage;
use crate::visitor::Operation;
use crate::worker_pool::Worker;
use rustix::io::Errno;
use std::ffi::CString;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

impl Walk<'_> {
    /// Stats some of a directory's entries, counts files, and pushes subdirectories.
    pub(super) fn stat_range(
        &self,
        worker: &Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        opened: &Arc<OpenDirectory>,
        batch: &Arc<EntryBatch>,
        range: Range<usize>,
    ) {
        let counts = &mut buffers.counts;
        for (index, entry) in batch.entries[range.clone()].iter().enumerate() {
            self.stat_entry(opened, batch, entry, counts);
            if self.is_in_order && !counts.subdirectories.is_empty() {
                // The subdirectory precedes the entries listed after it.
                let next = range.start + index + 1;
                let rest = Task::Stat {
                    parent: self.parent_for_task(opened),
                    batch: Arc::clone(batch),
                    range: next..range.end,
                };
                self.add(&opened.directory, Usage::default(), 1, 0);
                worker.push_all([rest].into_iter());
                break;
            }
        }
        self.add_counts(worker, counts, opened, batch);
    }

    fn stat_entry(
        &self,
        opened: &Arc<OpenDirectory>,
        batch: &EntryBatch,
        entry: &DirectoryEntry,
        counts: &mut EntryCounts,
    ) {
        let (directory, name) = (&opened.directory, batch.name(entry));
        let path = || directory.path_of(name.to_bytes());
        if self.options.has_excludes && self.visitor.excludes(&path()) {
            return;
        }
        if entry.is_directory {
            return counts.subdirectories.push(*entry);
        }
        let status = match self.stat_request.stat_entry(&**opened, name) {
            Ok(_) if entry.may_be_link && self.has_too_many_links(&path()) => {
                return self.fail(Operation::Access, path(), Errno::LOOP);
            }
            Ok(status) => status,
            Err(errno) => return self.fail(Operation::Access, path(), errno),
        };
        if status.is_directory() {
            return counts.subdirectories.push(*entry);
        }
        if !self.is_on_counted_device(directory, &status) {
            return;
        }
        if self.must_remember(&status) {
            if !self.is_in_order {
                return counts.remembered.push((status, *entry));
            }
            // At once: later it would be reported after the directory's other files.
            if !self.counted.insert(status.identity) {
                return;
            }
        }
        counts.own += status.usage;
        self.report_file(directory, name, &status);
    }

    /// Returns whether the way from the working directory to a file has more links than the kernel
    /// follows, which is 40. From an open directory it would follow 40 more, and so a walk would
    /// follow a chain of any length.
    fn has_too_many_links(&self, path: &[u8]) -> bool {
        // The links of a path that is too long for the kernel are not checked.
        self.options.follow == Follow::Always
            && CString::new(path).is_ok_and(|path| {
                self.stat_request.stat_argument(&path).is_err_and(|errno| errno == Errno::LOOP)
            })
    }

    /// Adds the counts of a finished Stat task to the directory.
    fn add_counts(
        &self,
        worker: &Worker<'_, Task>,
        counts: &mut EntryCounts,
        opened: &Arc<OpenDirectory>,
        batch: &EntryBatch,
    ) {
        let directory = &opened.directory;
        let EntryCounts { own, remembered, subdirectories } = counts;
        if !self.defers_links {
            let identity = |(status, _): &(FileStatus, DirectoryEntry)| status.identity;
            self.counted.insert_all(remembered, identity, |(status, entry)| {
                *own += status.usage;
                self.report_file(directory, batch.name(entry), status);
            });
            remembered.clear();
        }
        let own = mem::take(own);
        self.visitor.advance(own.inodes, own.allocated_bytes);
        self.add(directory, own, subdirectories.len() + remembered.len(), 1);
        if !remembered.is_empty() {
            self.defer_links(directory, batch, remembered);
            remembered.clear();
        }
        worker.push_all(subdirectories.drain(..).rev().map(|entry| Task::Open {
            parent: self.parent_for_task(opened),
            name: batch.name(&entry).into(),
            position: entry.position,
        }));
    }
}
