//! The threads after the first, and which function performs which task.

use super::state::Walk;
use super::task::{Task, ThreadBuffers};
use crate::medium::Medium;
use crate::usage::Usage;
use crate::visitor::Operation;
use crate::worker_pool::{Spawner, ThreadLimits, Worker, WorkerPool};
use std::mem;
use std::num::NonZeroUsize;
use std::thread::{self, Builder, Scope};

/// Size of a thread's stack in bytes. Nothing recurses, and the buffer for listings is on the heap.
const STACK_BYTES: usize = 256 << 10;

/// Makes all workers return, also after a panic.
pub(super) struct EndGuard<'a>(pub(super) &'a WorkerPool<Task>);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Starts the threads after the first.
pub(super) struct ThreadSpawner<'scope, 'env> {
    pub(super) walk: &'scope Walk<'scope>,
    pub(super) scope: &'scope Scope<'scope, 'env>,
}

impl Spawner for ThreadSpawner<'_, '_> {
    fn limits(&self) -> ThreadLimits {
        if let Some(threads) = self.walk.threads {
            return ThreadLimits { busy: threads.get(), waiting: threads.get() };
        }
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let argument = self.walk.argument.lock().clone();
        let medium = argument.map_or(Medium::Solid, |argument| {
            Medium::of(&*argument, argument.directory.identity.device)
        });
        ThreadLimits { busy: processors, waiting: medium.threads_max(processors) }
    }

    /// Starts a thread. If the system refuses, the walk continues with the existing threads.
    fn start(&self, threads_max: usize) {
        let &ThreadSpawner { walk, scope } = self;
        let Some(mut worker) = walk.worker_pool.join(threads_max) else { return };
        let thread = Builder::new().name("walk".into()).stack_size(STACK_BYTES);
        let work = move || {
            let end_on_panic = EndGuard(&walk.worker_pool);
            let mut buffers = ThreadBuffers::default();
            let spawner = ThreadSpawner { walk, scope };
            worker
                .work_until_end(|worker, task| walk.perform(worker, &mut buffers, task), &spawner);
            mem::forget(end_on_panic);
        };
        let _ = thread.spawn_scoped(scope, work);
    }
}

impl Walk<'_> {
    pub(super) fn perform(
        &self,
        worker: &Worker<'_, Task>,
        buffers: &mut ThreadBuffers,
        task: Task,
    ) {
        if self.visitor.is_stopped() {
            return;
        }
        match task {
            Task::Open { parent, name, position } => {
                self.open_subdirectory(worker, buffers, parent, &name, position);
            }
            Task::List { opened, rest } => self.list(worker, buffers, &opened, rest),
            Task::Stat { parent, batch, range } => match self.opened(parent) {
                Ok(opened) => self.stat_range(worker, buffers, &opened, &batch, range),
                Err((directory, errno)) => {
                    self.fail(Operation::List, directory.path(), errno);
                    self.add(&directory, Usage::default(), 0, 1);
                }
            },
        }
    }
}
