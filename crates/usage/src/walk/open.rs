//! The Open task: opens a subdirectory, or reopens one that closed early.

use super::state::Walk;
use super::task::{ParentDirectory, Task, ThreadBuffers};
use crate::directory::{Directory, Sums};
use crate::directory_entries::{EntryBatch, ListPosition};
use crate::mounts;
use crate::open_directories::{self, OpenDirectory};
use crate::options::Follow;
use crate::stat::FileStatus;
use crate::usage::Usage;
use crate::visitor::Operation;
use crate::worker_pool::Worker;
use rustix::io::Errno;
use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

impl Walk<'_> {
    /// Returns the directory for a pushed task: closed until the task begins if descriptors are
    /// scarce.
    pub(super) fn parent_for_task(&self, opened: &Arc<OpenDirectory>) -> ParentDirectory {
        if self.descriptors.is_exhausted() {
            ParentDirectory::Closed(Arc::clone(&opened.directory))
        } else {
            ParentDirectory::Open(Arc::clone(opened))
        }
    }

    /// Returns the open directory of a task that begins.
    pub(super) fn opened(
        &self,
        parent: ParentDirectory,
    ) -> Result<Arc<OpenDirectory>, (Arc<Directory>, Errno)> {
        match parent {
            ParentDirectory::Open(opened) => Ok(opened),
            ParentDirectory::Closed(directory) => match self.reopen(&directory) {
                Ok(file) => Ok(OpenDirectory::new(directory, file, &self.descriptors)),
                Err(errno) => Err((directory, errno)),
            },
        }
    }

    /// Opens a subdirectory, and begins to list it.
    pub(super) fn open_subdirectory(
        &self,
        worker: &Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        parent: ParentDirectory,
        name: &CStr,
        position: ListPosition,
    ) {
        let above = parent.directory();
        let (file, status) = match self.open_and_stat(&parent, name) {
            Ok(opened) => opened,
            Err((operation, errno)) => {
                self.fail(operation, above.path_of(name.to_bytes()), errno);
                return self.add(above, Usage::default(), 0, 1);
            }
        };
        if !self.is_on_counted_device(above, &status)
            || !self.is_new(&status)
            || self.is_cycle(above, name, &status)
        {
            return self.add(above, Usage::default(), 0, 1);
        }
        self.visitor.advance(1, status.usage.allocated_bytes);
        let file = match file {
            Ok(file) if status.is_directory() => file,
            Ok(_) => return self.count_unlisted(above, name, &status),
            Err(errno) => {
                // Only here: a directory that was counted before isn't reported again.
                if status.is_directory() {
                    self.fail(Operation::Open, above.path_of(name.to_bytes()), errno);
                }
                return self.count_unlisted(above, name, &status);
            }
        };
        let directory =
            Directory::new(Some(Arc::clone(above)), name.to_bytes().into(), position, &status);
        let opened = OpenDirectory::new(Arc::new(directory), file, &self.descriptors);
        // The parent may close.
        drop(parent);
        self.list(worker, buffers, &opened, EntryBatch::default());
    }

    /// Returns whether a directory contains itself. In an undamaged tree only a mount, or a
    /// followed symbolic link, can cause that; any other case is reported.
    fn is_cycle(&self, parent: &Directory, name: &CStr, status: &FileStatus) -> bool {
        let is_followed = self.options.follow == Follow::Always;
        let is_below_mount = parent.is_below_mount || status.is_mount != Some(false);
        let is_cycle = status.is_directory()
            && parent.is_within(status.identity, is_below_mount || is_followed);
        if is_cycle && !is_followed {
            // The mount may be any directory on the way back, not only this one.
            let identity = status.identity;
            let between = parent.ancestors().map(|above| above.identity);
            let between = between.take_while(|&above| above != identity);
            let circle: Vec<_> = std::iter::once(identity).chain(between).collect();
            if !mounts::is_any_mounted(&self.stat_request, &circle) {
                self.fail(Operation::Cycle, parent.path_of(name.to_bytes()), Errno::LOOP);
            }
        }
        is_cycle
    }

    /// Counts a directory that can't be opened, or a file that was a directory when it was listed.
    fn count_unlisted(&self, parent: &Arc<Directory>, name: &CStr, status: &FileStatus) {
        let sums = Sums::of_one(status.usage);
        self.report(Some(parent), name.to_bytes(), status.info(), sums);
        if status.is_directory() {
            self.add_subdirectory(parent, status.usage);
        } else {
            self.add(parent, status.usage, 0, 1);
        }
    }

    /// Opens an entry and stats the opened file. An entry that can't be opened is only statted. So
    /// is an entry on a file system that isn't counted, because opening it may trigger an
    /// automount, or wait for a server.
    fn open_and_stat(
        &self,
        parent: &ParentDirectory,
        name: &CStr,
    ) -> Result<(Result<OwnedFd, Errno>, FileStatus), (Operation, Errno)> {
        let access = |errno| (Operation::Access, errno);
        let reopened;
        let directory = match parent {
            ParentDirectory::Open(opened) => opened.as_fd(),
            ParentDirectory::Closed(directory) => {
                reopened = self.reopen(directory).map_err(access)?;
                reopened.as_fd()
            }
        };
        if self.skips_devices() {
            let status = self.stat_request.stat_entry(directory, name).map_err(access)?;
            if !self.is_on_counted_device(parent.directory(), &status) {
                return Ok((Err(Errno::XDEV), status));
            }
        }
        let follows = self.options.follow == Follow::Always;
        match open_directories::open_entry(directory, name, follows) {
            Ok(file) => {
                let status = self.stat_request.stat_open(&file).map_err(access)?;
                Ok((Ok(file), status))
            }
            Err(errno) => {
                let status = self.stat_request.stat_entry(directory, name).map_err(access)?;
                Ok((Err(errno), status))
            }
        }
    }

    fn reopen(&self, directory: &Directory) -> Result<OwnedFd, Errno> {
        let argument = self.argument.lock().clone();
        let argument = argument.expect("an argument is open while it is walked");
        let file = open_directories::reopen(&argument, directory)?;
        let is_same = self.stat_request.stat_open(&file)?.identity == directory.identity;
        // Otherwise its name, or an ancestor's name, leads elsewhere now.
        if is_same { Ok(file) } else { Err(Errno::NOENT) }
    }
}
