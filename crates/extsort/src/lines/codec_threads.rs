//! Threads that compress the output, or inflate an input: tasks go to any of them, and come back in
//! order.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::io;
use std::thread::{self, JoinHandle};

/// Tasks per thread: one is worked on while another waits or is taken.
const TASKS_PER_THREAD: usize = 2;
/// Memory per thread: its tasks' bytes, both compressed and not, and its compressor, at most 3 MiB.
const THREAD_BYTES: u64 = 8 << 20;
/// Share of the budget for threads beyond the first, as a divisor.
const BUDGET_SHARE: u64 = 8;
/// Bytes of a thread's stack. Compressors use little of it.
const STACK_BYTES: usize = 512 << 10;

/// The number of compressing threads, and their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionThreads {
    /// Number of threads, at least one.
    pub threads: usize,
    /// Bytes of the budget that the threads take. The first thread takes none: its 8 MiB are part
    /// of the program's memory beyond the budget.
    pub taken_bytes: u64,
}

impl CompressionThreads {
    /// Plans up to `threads` threads, as many as an eighth of the budget has room for.
    #[must_use]
    pub fn of_budget(budget_bytes: u64, threads: usize) -> CompressionThreads {
        let more_max = (budget_bytes / BUDGET_SHARE / THREAD_BYTES) as usize;
        let more = threads.saturating_sub(1).min(more_max);
        CompressionThreads { threads: 1 + more, taken_bytes: more as u64 * THREAD_BYTES }
    }
}

/// A task that a thread has, or had.
pub(super) type PendingTask<T> = Receiver<io::Result<T>>;

/// Waits for the end of a task.
///
/// # Errors
///
/// The task's, or that its thread has panicked.
pub(super) fn ended<T>(task: &PendingTask<T>) -> io::Result<T> {
    task.recv().map_err(|_| io::Error::other("a thread that compresses or inflates is gone"))?
}

/// Threads that work on tasks. Dropping them waits for their ends.
pub(super) struct CodecThreads<T> {
    threads: Vec<JoinHandle<()>>,
    tasks: Option<Sender<(T, Sender<io::Result<T>>)>>,
}

impl<T: Send + 'static> CodecThreads<T> {
    /// Starts the wanted number of threads, or as many as the system allows; `None` if it allows
    /// none. Each works by a `worker` of its own.
    pub(super) fn start<W>(
        name: &str,
        wanted: usize,
        worker: impl Fn() -> io::Result<W>,
    ) -> io::Result<Option<CodecThreads<T>>>
    where
        W: FnMut(&mut T) -> io::Result<()> + Send + 'static,
    {
        let (tasks, tasks_from) = bounded::<(T, Sender<io::Result<T>>)>(TASKS_PER_THREAD * wanted);
        let mut threads = Vec::new();
        for number in 0..wanted {
            let mut worker = worker()?;
            let tasks_from = tasks_from.clone();
            let work = move || {
                while let Ok((mut task, done)) = tasks_from.recv() {
                    let result = worker(&mut task).map(|()| task);
                    // Nobody may wait for it any more.
                    drop(done.send(result));
                }
            };
            let thread = thread::Builder::new().name(format!("{name}-{number}"));
            match thread.stack_size(STACK_BYTES).spawn(work) {
                Ok(thread) => threads.push(thread),
                Err(_) => break,
            }
        }
        let tasks = Some(tasks);
        Ok(if threads.is_empty() { None } else { Some(CodecThreads { threads, tasks }) })
    }

    /// Most tasks that should be pending.
    pub(super) fn tasks_max(&self) -> usize {
        TASKS_PER_THREAD * self.threads.len()
    }

    /// Gives a task to the next thread that is free.
    pub(super) fn begin(&self, task: T) -> PendingTask<T> {
        let (done, pending) = bounded(1);
        // If all threads are gone, waiting for the task reports it.
        drop(self.tasks.as_ref().map(|tasks| tasks.send((task, done))));
        pending
    }
}

impl<T> Drop for CodecThreads<T> {
    fn drop(&mut self) {
        drop(self.tasks.take());
        // A panicked thread's task is reported as missing already.
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_their_share_of_the_budget() {
        let of = |mib: u64, threads| {
            let share = CompressionThreads::of_budget(mib << 20, threads);
            (share.threads, share.taken_bytes >> 20)
        };
        assert_eq!(of(2, 64), (1, 0));
        assert_eq!(of(64, 64), (2, 8));
        assert_eq!(of(1024, 2), (2, 8));
        assert_eq!(of(1024, 64), (17, 128));
        assert_eq!(of(1 << 20, 64), (64, 63 * 8));
    }
}
