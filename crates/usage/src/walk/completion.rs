//! Passes the sums of complete directories to their parents and to the visitor.

use super::state::Walk;
use crate::directory::{Directory, Sums};
use crate::options::{Detail, Follow};
use crate::stat::{FileInfo, FileStatus, Kind};
use crate::usage::Usage;
use crate::visitor::{FoundFile, Operation, WalkError};
use rustix::io::Errno;
use std::ffi::CStr;
use std::sync::Arc;

impl Walk<'_> {
    /// Adds usage and pushed tasks to a directory; `finished` tasks are over.
    pub(super) fn add(
        &self,
        directory: &Arc<Directory>,
        own: Usage,
        pushed: usize,
        finished: usize,
    ) {
        self.complete(directory, directory.add(own, pushed, finished));
    }

    /// Adds a complete subdirectory to its parent.
    pub(super) fn add_subdirectory(&self, parent: &Arc<Directory>, total: Usage) {
        self.complete(parent, parent.add_subdirectory(total));
    }

    /// Reports a directory and adds it to its parent, if it is complete, that is if there are
    /// `sums`. Then does this for the parent, which may now be complete.
    fn complete(&self, directory: &Arc<Directory>, sums: Option<Sums>) {
        let (mut directory, mut sums) = (directory, sums);
        while let Some(complete) = sums {
            let parent = directory.parent();
            let info = FileInfo::of_directory(directory.identity);
            self.report(parent, self.shown_name(directory), info, complete);
            let Some(parent) = parent else { return };
            sums = parent.add_subdirectory(complete.total);
            directory = parent;
        }
    }

    /// Returns the name of a complete directory. As in GNU's walk, an empty argument loses its
    /// slash if all links are followed.
    fn shown_name<'d>(&self, directory: &'d Directory) -> &'d [u8] {
        let is_empty = directory.listed().is_some_and(|listed| listed.entries == 0);
        match &*directory.name {
            [name @ .., b'/']
                if is_empty && !name.is_empty() && self.options.follow == Follow::Always =>
            {
                name
            }
            name => name,
        }
    }

    /// Returns whether the visitor wants the files of a directory.
    pub(super) fn reports_files_in(&self, directory: &Directory) -> bool {
        self.options.detail == Detail::Files && directory.depth < self.options.depth_max
    }

    pub(super) fn report_file(&self, parent: &Arc<Directory>, name: &CStr, status: &FileStatus) {
        if self.reports_files_in(parent) {
            let sums = Sums::of_one(status.usage);
            self.report(Some(parent), name.to_bytes(), status.info(), sums);
        }
    }

    /// Reports a file or directory, if the visitor wants it. Arguments are always reported.
    pub(super) fn report(
        &self,
        parent: Option<&Arc<Directory>>,
        name: &[u8],
        info: FileInfo,
        sums: Sums,
    ) {
        let FileInfo { identity, kind, has_links } = info;
        let depth = parent.map_or(0, |parent| parent.depth + 1);
        let is_wanted = match self.options.detail {
            Detail::Total => false,
            Detail::Directories => kind == Kind::Directory && depth <= self.options.depth_max,
            Detail::Files => depth <= self.options.depth_max,
        };
        if is_wanted || depth == 0 {
            let Sums { own, total } = sums;
            let parent = parent.map(|parent| &**parent);
            self.visitor.found(&FoundFile {
                depth,
                kind,
                identity,
                has_links,
                total,
                own,
                parent,
                name,
            });
        }
    }

    pub(super) fn fail(&self, operation: Operation, path: Vec<u8>, errno: Errno) {
        self.visitor.failed(&WalkError { path, operation, source: errno.into() });
    }
}
