//! Threads that process inputs and return the results in the order of the inputs.

use crate::Error;
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The function that the threads call.
type Work<I, O> = Arc<dyn Fn(I) -> Result<O, Error> + Send + Sync>;
/// An input, and where its result goes.
type Job<I, O> = (I, Sender<Result<O, Error>>);

/// Threads that process inputs, and results that were not taken yet.
pub struct Ordered<I, O> {
    /// `None` once the threads should end.
    jobs: Option<Sender<Job<I, O>>>,
    results: VecDeque<Receiver<Result<O, Error>>>,
    threads: Vec<JoinHandle<()>>,
}

impl<I: Send + 'static, O: Send + 'static> Ordered<I, O> {
    /// Starts the threads.
    ///
    /// # Errors
    /// If one can't be started.
    pub fn new(
        threads: usize,
        work: impl Fn(I) -> Result<O, Error> + Send + Sync + 'static,
    ) -> Result<Ordered<I, O>, Error> {
        let work: Work<I, O> = Arc::new(work);
        let (to, jobs) = unbounded();
        let start = |_| {
            let (jobs, work) = (jobs.clone(), Arc::clone(&work));
            let thread = thread::Builder::new().name("xsort-batches".into());
            thread.spawn(move || run(&jobs, &work)).map_err(no_thread)
        };
        let threads = (0..threads.max(1)).map(start).collect::<Result<_, _>>()?;
        Ok(Ordered { jobs: Some(to), results: VecDeque::new(), threads })
    }

    /// Sends an input to the threads.
    pub fn send(&mut self, input: I) {
        let (to, result) = bounded(1);
        if let Some(jobs) = &self.jobs {
            // Threads only end when this is dropped; a lost job has no result.
            drop(jobs.send((input, to)));
        }
        self.results.push_back(result);
    }

    /// Returns the number of results that were not taken yet.
    pub fn waiting(&self) -> usize {
        self.results.len()
    }

    /// Waits for the next result. Returns `None` if none is outstanding.
    ///
    /// # Errors
    /// What the work has returned; [`Error::Panicked`] if it panicked.
    pub fn wait(&mut self) -> Option<Result<O, Error>> {
        let result = self.results.pop_front()?;
        Some(result.recv().unwrap_or(Err(Error::Panicked)))
    }
}

fn no_thread(source: std::io::Error) -> Error {
    Error::Sort(xsort::Error::Settings(format!("a thread can't be started: {source}")))
}

fn run<I, O>(jobs: &Receiver<Job<I, O>>, work: &Work<I, O>) {
    for (input, to) in jobs {
        // Unwind safety: everything that the work has used is gone.
        let result = catch_unwind(AssertUnwindSafe(|| work(input)));
        // The receiver may be gone.
        drop(to.send(result.unwrap_or(Err(Error::Panicked))));
    }
}

impl<I, O> fmt::Debug for Ordered<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ordered").finish_non_exhaustive()
    }
}

impl<I, O> Drop for Ordered<I, O> {
    fn drop(&mut self) {
        self.jobs = None;
        self.results.clear();
        for thread in self.threads.drain(..) {
            // A panic was reported as a result.
            drop(thread.join());
        }
    }
}
