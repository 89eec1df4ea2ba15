//! The sync engine: pread and pwrite on a pool of threads. It is used where io_uring is forbidden,
//! and as the simple second implementation with which tests compare io_uring. A second pool copies
//! from the page cache.
//!
//! One queue serves all threads. A thread has one transfer at a time, so the pool's size is the
//! depth. No unsafe code.

use crate::transfer::{Action, Transfer};
use crate::{Direction, Error, Operation};
use parking_lot::{Condvar, Mutex};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

/// Bytes per write call for a file that goes through the page cache on purpose. The kernel
/// allocates all pages of a call together, and for a long call takes free blocks of 2 MiB, which a
/// virtual machine may have returned to its host. A gigabyte took 1.2 to 2.3 s in calls of 1 MiB,
/// 0.3 to 0.6 s in calls of this size, and 0.2 and 0.3 s if the memory had been in use (two cores,
/// Linux 6.18, November 2026).
const CACHED_WRITE_BYTES: usize = 16 << 10;
/// More threads than this don't make any drive faster.
const THREADS_MAX: usize = 256;

#[derive(Debug, Default)]
struct Queue {
    transfers: VecDeque<Transfer>,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    /// Number of started, unfinished transfers: a hint, hence relaxed.
    load: AtomicUsize,
}

/// A pool of threads that carry out transfers. Dropping it first finishes all submitted transfers.
#[derive(Debug)]
pub(crate) struct ThreadPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl ThreadPool {
    /// Starts `threads` threads, each of which passes one transfer after the other to `carry_out`.
    pub(crate) fn new(
        threads: usize,
        carry_out: impl Fn(Transfer) + Clone + Send + 'static,
    ) -> Result<ThreadPool, Error> {
        let mut pool = ThreadPool { shared: Arc::default(), threads: Vec::new() };
        for _ in 0..threads.clamp(1, THREADS_MAX) {
            let (shared, carry_out) = (Arc::clone(&pool.shared), carry_out.clone());
            let thread = thread::Builder::new()
                .name("xsort-io".to_owned())
                .stack_size(128 << 10)
                .spawn(move || work(&shared, carry_out))
                .map_err(Operation::Start.failed_on("I/O threads"))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Returns the number of transfers that are under way or wait for a thread.
    pub(crate) fn load(&self) -> usize {
        self.shared.load.load(Ordering::Relaxed)
    }

    pub(crate) fn start(&self, transfer: Transfer) {
        self.shared.load.fetch_add(1, Ordering::Relaxed);
        self.shared.queue.lock().transfers.push_back(transfer);
        self.shared.arrived.notify_one();
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // The panic was already printed, and a second one here would abort.
            let _ = thread.join();
        }
    }
}

/// Carries out transfers until the queue is closed and empty.
fn work(shared: &Shared, carry_out: impl Fn(Transfer)) {
    loop {
        let mut queue = shared.queue.lock();
        let transfer = loop {
            match queue.transfers.pop_front() {
                Some(transfer) => break transfer,
                None if queue.is_closed => return,
                None => shared.arrived.wait(&mut queue),
            }
        };
        drop(queue);
        carry_out(transfer);
        shared.load.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Carries out a transfer to its end, in the calling thread.
pub(crate) fn carry_out(mut transfer: Transfer) {
    loop {
        let answer = call_system(&mut transfer);
        match transfer.advance(answer) {
            Action::Submit => {}
            Action::SubmitAfter(pause) => thread::sleep(pause),
            Action::Finish(result) => return transfer.finish(result),
        }
    }
}

/// Makes one system call for the missing part of a transfer.
fn call_system(transfer: &mut Transfer) -> Result<usize, Errno> {
    let span = transfer.span();
    let range = span.start..span.start + span.bytes;
    let memory = &mut transfer.request.lease[range];
    match transfer.request.direction {
        Direction::Read => rustix::io::pread(&*transfer.file, memory, span.offset),
        Direction::Write if transfer.file.is_cached => {
            let bytes = memory.len().min(CACHED_WRITE_BYTES);
            rustix::io::pwrite(&*transfer.file, &memory[..bytes], span.offset)
        }
        Direction::Write => rustix::io::pwrite(&*transfer.file, memory, span.offset),
    }
}
