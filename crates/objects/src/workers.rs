//! The threads that make requests: one for each connection, each with one request at a time.

use crossbeam_channel::{Receiver, Sender, select_biased, unbounded};
use std::thread::{self, JoinHandle};
use xsort_disk::{Error, Operation};

/// A thread's next action.
enum Task {
    Run(Box<dyn FnOnce() + Send>),
    /// Ends one thread. Other holders of a queue can't keep the threads alive.
    End,
}

/// The queue of tasks.
#[derive(Clone)]
pub(crate) struct Queue {
    /// Tasks that free memory, without a request: they come before all others.
    urgent: Sender<Task>,
    ordinary: Sender<Task>,
}

impl Queue {
    pub(crate) fn push(&self, task: impl FnOnce() + Send + 'static) {
        // Without threads the disk is gone, and so is every waiting caller.
        let _ = self.ordinary.send(Task::Run(Box::new(task)));
    }

    pub(crate) fn push_urgent(&self, task: impl FnOnce() + Send + 'static) {
        let _ = self.urgent.send(Task::Run(Box::new(task)));
    }
}

/// The threads of a disk.
pub(crate) struct Workers {
    queue: Queue,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts as many threads as the system allows, up to `connections`.
    ///
    /// # Errors
    /// If the system allows none.
    pub(crate) fn start(connections: usize) -> Result<Workers, Error> {
        let (urgent, urgent_tasks) = unbounded();
        let (ordinary, ordinary_tasks) = unbounded();
        let mut threads = Vec::new();
        for _ in 0..connections {
            let (urgent, ordinary) = (urgent_tasks.clone(), ordinary_tasks.clone());
            let thread = thread::Builder::new()
                .name("xsort-objects".to_owned())
                .spawn(move || work(&urgent, &ordinary));
            match thread {
                Ok(thread) => threads.push(thread),
                Err(_) if !threads.is_empty() => break,
                Err(source) => {
                    return Err(Error::new(Operation::Start, "connections", source));
                }
            }
        }
        Ok(Workers { queue: Queue { urgent, ordinary }, threads })
    }

    pub(crate) fn queue(&self) -> Queue {
        self.queue.clone()
    }
}

impl Drop for Workers {
    /// Waits until all tasks that are in the queue now are done.
    fn drop(&mut self) {
        for _ in &self.threads {
            let _ = self.queue.ordinary.send(Task::End);
        }
        for thread in self.threads.drain(..) {
            // A thread that panicked has already printed its message.
            let _ = thread.join();
        }
    }
}

fn work(urgent: &Receiver<Task>, ordinary: &Receiver<Task>) {
    loop {
        let task = select_biased! {
            recv(urgent) -> task => task,
            recv(ordinary) -> task => task,
        };
        match task {
            Ok(Task::Run(task)) => task(),
            Ok(Task::End) | Err(_) => return,
        }
    }
}
