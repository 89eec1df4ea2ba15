//! Threads that take tasks from a list until it is empty or the job must stop.

use crate::Error;
use crate::job::failure::Failure;
use crate::job::observer::Observer;
use crate::job::threads::spawn_up_to;
use parking_lot::Mutex;
use std::thread;

/// The number of threads, and the observer that may cancel them.
pub(super) struct Workers<'w> {
    threads: usize,
    observer: Option<&'w dyn Observer>,
}

impl<'w> Workers<'w> {
    /// Without an observer, the threads can't be cancelled.
    pub(super) fn new(threads: usize, observer: Option<&'w dyn Observer>) -> Workers<'w> {
        Workers { threads: threads.max(1), observer }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs all tasks.
    pub(super) fn run<T: Send>(
        &self,
        tasks: Vec<T>,
        work: impl Fn(&mut (), T) + Sync,
    ) -> Result<(), Error> {
        self.run_with(&mut vec![(); self.threads], tasks, work)
    }

    /// Runs all tasks. Each thread has its own element of `own`.
    pub(super) fn run_with<S: Send, T: Send>(
        &self,
        own: &mut [S],
        tasks: Vec<T>,
        work: impl Fn(&mut S, T) + Sync,
    ) -> Result<(), Error> {
        let (failure, wanted) = (Failure::default(), own.len().min(tasks.len()));
        let tasks = Mutex::new(tasks.into_iter());
        let is_stopped = || self.observer.is_some_and(Observer::is_cancelled);
        let worker = |own: &mut S| {
            while !failure.is_set() {
                if is_stopped() {
                    return failure.set(Error::Cancelled);
                }
                let task = tasks.lock().next();
                let Some(task) = task else { return };
                work(own, task);
            }
        };
        if wanted == 1 {
            worker(&mut own[0]);
        } else {
            let (worker, fail) = (&worker, |error| failure.set(error));
            let mut own = own.iter_mut();
            thread::scope(|scope| {
                spawn_up_to(scope, wanted, fail, |_| {
                    let own = own.next().expect("something for each thread");
                    move || worker(own)
                })
            })?;
        }
        failure.check()
    }
}
