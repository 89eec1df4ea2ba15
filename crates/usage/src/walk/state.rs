//! The state shared by all threads of a walk, and decisions that are made once per walk.

use super::task::Task;
use crate::directory::Directory;
use crate::hard_links::HardLinks;
use crate::inode_set::InodeSet;
use crate::open_directories::{self, DescriptorCount, OpenDirectory};
use crate::options::{Detail, Follow, Links, Options};
use crate::stat::FileStatus;
use crate::stat_request::StatRequest;
use crate::visitor::Visitor;
use crate::worker_pool::WorkerPool;
use parking_lot::Mutex;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Maximum number of threads, whatever the device can serve.
const THREADS_MAX: usize = 256;

/// The state shared by all threads.
pub(super) struct Walk<'a> {
    pub(super) options: &'a Options,
    pub(super) visitor: &'a dyn Visitor,
    pub(super) stat_request: StatRequest,
    /// `None`: as many threads as the machine and the device can use.
    pub(super) threads: Option<NonZeroUsize>,
    /// Whether entries are visited strictly in GNU's order, subdirectories as they come. Otherwise
    /// they are visited by inode, subdirectories after files.
    pub(super) is_in_order: bool,
    /// Whether files with hard links are collected until the argument is walked.
    pub(super) defers_links: bool,
    pub(super) remembers_all: bool,
    pub(super) worker_pool: WorkerPool<Task>,
    pub(super) descriptors: Arc<DescriptorCount>,
    /// Counted files that the walk may meet again.
    pub(super) counted: InodeSet,
    pub(super) hard_links: Mutex<HardLinks>,
    /// The directory of the argument that is being walked.
    pub(super) argument: Mutex<Option<Arc<OpenDirectory>>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(options: &'a Options, visitor: &'a dyn Visitor) -> Walk<'a> {
        // If all symbolic links are followed, the order can't be restored afterwards: whole trees
        // would have to move to the first link that leads to them.
        let must_be_in_order = options.follow == Follow::Always && options.detail != Detail::Total;
        let threads = if must_be_in_order { NonZeroUsize::new(1) } else { options.threads };
        let is_in_order = threads.is_some_and(|threads| threads.get() == 1);
        let threads_max =
            threads.map_or(THREADS_MAX, NonZeroUsize::get).min(open_directories::threads_max());
        Walk {
            options,
            visitor,
            stat_request: StatRequest::new(options),
            is_in_order,
            defers_links: options.links == Links::Once
                && options.detail != Detail::Total
                && !is_in_order,
            remembers_all: options.remembers_all || options.follow == Follow::Always,
            threads,
            worker_pool: WorkerPool::new(threads_max),
            descriptors: DescriptorCount::new(threads_max),
            counted: InodeSet::new(),
            hard_links: Mutex::default(),
            argument: Mutex::default(),
        }
    }

    /// Returns whether some file systems may not be counted.
    pub(super) fn skips_devices(&self) -> bool {
        self.options.one_file_system || !self.options.skipped_devices.is_empty()
    }

    /// Returns whether a file is on a counted file system. Its directory is, because below an
    /// argument the walk enters no other.
    pub(super) fn is_on_counted_device(&self, parent: &Directory, status: &FileStatus) -> bool {
        let device = status.identity.device;
        device == parent.identity.device
            || !(self.options.one_file_system || self.options.skipped_devices.contains(&device))
    }

    /// Returns whether the walk may meet a file again under another name.
    pub(super) fn must_remember(&self, status: &FileStatus) -> bool {
        self.options.links == Links::Once && (self.remembers_all || status.has_links)
    }

    /// Returns whether a file wasn't counted before, and marks it as counted.
    pub(super) fn is_new(&self, status: &FileStatus) -> bool {
        !self.must_remember(status) || self.counted.insert(status.identity)
    }
}
