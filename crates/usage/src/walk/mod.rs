//! The walk: what each task does.
//!
//! | file | idea |
//! |---|---|
//! | `state` | the state shared by all threads, and decisions that are made once per walk |
//! | `task` | the tasks, and the memory that a thread uses for them |
//! | `threads` | the threads after the first; which function performs which task |
//! | `open` | Open: a subdirectory is opened, or opened again |
//! | `list` | List: a directory's entries are listed and divided into tasks |
//! | `stat_entries` | Stat: files are counted, subdirectories pushed |
//! | `links` | files with hard links, which are counted at the end of an argument |
//! | `completion` | sums go from complete directories to their parents, and to the visitor |

mod completion;
mod links;
mod list;
mod open;
mod stat_entries;
mod state;
mod task;
mod threads;

use crate::directory::{Directory, Sums};
use crate::directory_entries::{EntryBatch, ListPosition};
use crate::open_directories::{self, OpenDirectory};
use crate::options::{Follow, Options};
use crate::stat::FileStatus;
use crate::usage::Usage;
use crate::visitor::{Operation, Visitor};
use crate::worker_pool::{Spawner, Worker};
use rustix::io::Errno;
use state::Walk;
use std::ffi::CString;
use std::sync::Arc;
use std::thread;
use task::{Task, ThreadBuffers};
use threads::{EndGuard, ThreadSpawner};

/// Walks one argument after the other; each is taken from the iterator when its turn comes. Every
/// inode counts once over all arguments (except with [`Links::Each`](crate::Links::Each)). Returns
/// the sum over all arguments.
///
/// Memory grows with open directories (a batch of entries for each level) and with files that have
/// several names, not with the number of files.
///
/// # Panics
/// If the visitor panics.
pub fn walk(
    options: &Options,
    arguments: &mut dyn Iterator<Item = Vec<u8>>,
    visitor: &dyn Visitor,
) -> Usage {
    let walk = Walk::new(options, visitor);
    thread::scope(|scope| {
        let _end = EndGuard(&walk.worker_pool);
        let spawner = ThreadSpawner { walk: &walk, scope };
        let mut buffers = ThreadBuffers::default();
        let mut worker = walk.worker_pool.join(1).expect("the pool is empty");
        let mut total = Usage::default();
        for argument in arguments {
            if visitor.is_stopped() {
                break;
            }
            total += walk.walk_argument(&argument, &mut worker, &mut buffers, &spawner);
        }
        total
    })
}

impl Walk<'_> {
    /// Walks an argument to its end, and returns its contribution to the sum.
    fn walk_argument(
        &self,
        argument: &[u8],
        worker: &mut Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        spawner: &impl Spawner,
    ) -> Usage {
        let name = without_trailing_slashes(argument);
        if self.options.has_excludes && self.visitor.excludes(name) {
            return Usage::default();
        }
        let (path, status) = match self.stat_argument(name) {
            Ok(found) => found,
            Err(errno) => {
                self.fail(Operation::Access, name.to_vec(), errno);
                return Usage::default();
            }
        };
        if !self.is_new(&status) {
            return Usage::default();
        }
        self.visitor.advance(1, status.usage.allocated_bytes);
        if status.is_directory() {
            let follows = self.options.follow != Follow::Never;
            match open_directories::open_argument(&path, follows) {
                Ok(file) => {
                    let position = ListPosition { ordinal: 0, inode: status.identity.inode };
                    let directory = Arc::new(Directory::new(None, name.into(), position, &status));
                    let opened = OpenDirectory::new(directory, file, &self.descriptors);
                    return self.walk_tree(opened, worker, buffers, spawner);
                }
                Err(errno) => self.fail(Operation::Open, name.to_vec(), errno),
            }
        }
        self.report(None, name, status.info(), Sums::of_one(status.usage));
        status.usage
    }

    fn stat_argument(&self, name: &[u8]) -> Result<(CString, FileStatus), Errno> {
        // No file name contains a zero byte.
        let path = CString::new(name).map_err(|_| Errno::NOENT)?;
        let status = self.stat_request.stat_argument(&path)?;
        Ok((path, status))
    }

    /// Walks an argument that is an open directory.
    fn walk_tree(
        &self,
        opened: Arc<OpenDirectory>,
        worker: &mut Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        spawner: &impl Spawner,
    ) -> Usage {
        *self.argument.lock() = Some(Arc::clone(&opened));
        let root = Arc::clone(&opened.directory);
        worker.push_all([Task::List { opened, rest: EntryBatch::default() }].into_iter());
        self.worker_pool.forget_limits();
        worker.work_until_done(|worker, task| self.perform(worker, buffers, task), spawner);
        *self.argument.lock() = None;
        self.charge_links();
        root.total()
    }
}

/// Returns the argument with at most one slash at its end.
fn without_trailing_slashes(argument: &[u8]) -> &[u8] {
    let mut name = argument;
    while let [before @ .., b'/'] = name
        && before.ends_with(b"/")
    {
        name = before;
    }
    name
}
