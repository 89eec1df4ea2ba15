//! The List task: lists and sorts a directory's entries and divides them into Stat tasks.

use super::state::Walk;
use super::task::{Task, ThreadBuffers};
use crate::directory_entries::EntryBatch;
use crate::gnu_order::{ENTRIES_PER_LIST, is_list_sorted};
use crate::open_directories::OpenDirectory;
use crate::usage::Usage;
use crate::visitor::Operation;
use crate::worker_pool::Worker;
use std::mem;
use std::sync::Arc;

/// Number of entries that are listed before the first stat call. Larger batches can be sorted
/// better.
const BATCH_ENTRIES: usize = 16 << 10;

/// Number of entries of a large batch in one Stat task: half a millisecond of work if the kernel
/// has them cached.
const TASK_ENTRIES: usize = 512;

impl Walk<'_> {
    /// Lists a directory, or more of it, and begins to stat the listed entries. `rest` was listed
    /// earlier and comes first.
    pub(super) fn list(
        &self,
        worker: &Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        opened: &Arc<OpenDirectory>,
        rest: EntryBatch,
    ) {
        let directory = &opened.directory;
        let entries_max = if self.is_in_order { ENTRIES_PER_LIST } else { BATCH_ENTRIES };
        let mut batch = mem::take(&mut buffers.batch);
        if rest.entries.is_empty() {
            batch.clear();
        } else {
            batch = rest;
        }
        let mut ordinal = directory.next_ordinal();
        let listed = batch.list(&**opened, &mut buffers.listing, entries_max, &mut ordinal);
        directory.set_next_ordinal(ordinal);
        let has_more = listed.unwrap_or_else(|errno| {
            self.fail(Operation::List, directory.path(), errno);
            false
        });
        let mut rest = EntryBatch::default();
        if !self.is_in_order {
            batch.sort_by_inode();
        } else {
            rest = batch.split_off(ENTRIES_PER_LIST);
            if is_list_sorted(batch.entries.len(), &**opened) {
                batch.sort_by_inode();
            }
        }
        if !has_more {
            directory.finish_listing(is_list_sorted(ordinal as usize, &**opened));
        }
        if has_more || !rest.entries.is_empty() {
            self.add(directory, Usage::default(), 1, 0);
            worker.push_all([Task::List { opened: Arc::clone(opened), rest }].into_iter());
        }
        self.stat_batch(worker, buffers, opened, batch);
    }

    /// Stats a small batch at once, and a large one in parts that other threads may take.
    fn stat_batch(
        &self,
        worker: &Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        opened: &Arc<OpenDirectory>,
        batch: EntryBatch,
    ) {
        let entries = batch.entries.len();
        let batch = Arc::new(batch);
        if self.is_in_order || entries <= 2 * TASK_ENTRIES {
            self.stat_range(worker, buffers, opened, &batch, 0..entries);
            // Its memory is reused, unless a task needs the rest of the batch.
            buffers.batch = Arc::into_inner(batch).unwrap_or_default();
            return;
        }
        let tasks = entries.div_ceil(TASK_ENTRIES);
        self.add(&opened.directory, Usage::default(), tasks - 1, 0);
        worker.push_all((1..tasks).rev().map(|task| Task::Stat {
            parent: self.parent_for_task(opened),
            batch: Arc::clone(&batch),
            range: task * TASK_ENTRIES..((task + 1) * TASK_ENTRIES).min(entries),
        }));
        self.stat_range(worker, buffers, opened, &batch, 0..TASK_ENTRIES);
    }
}
