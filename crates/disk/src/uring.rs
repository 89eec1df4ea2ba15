//! The io_uring engine: threads that each drive a ring.
//!
//! ```text
//!  submit (any thread)                     ring thread
//!  lock queue                              loop
//!    push transfer                           lock queue
//!    wake = is_asleep; is_asleep = false       move transfers into free slots
//!  unlock                                      is_asleep = some slots are still free
//!  if wake: write eventfd  ---------+        unlock
//!                                   |        io_uring_enter: submit all, wait for one completion
//!                                   +------> the pending read of the eventfd is one
//!                                            take completions: next step, or finish, free slot
//! ```
//!
//! No wake-up is lost, because `is_asleep` is written only under the queue's lock. The thread takes
//! a transfer that was pushed before it looked. A later submitter finds `is_asleep` set and writes
//! the eventfd. The eventfd counts, so its pending read completes even if the write came before the
//! thread sleeps. When all slots are taken, submitters don't write it: a completion will wake the
//! thread anyway.
//!
//! Memory: a transfer in a slot owns its lease, and no code accesses either until the kernel has
//! answered, so the kernel's pointer can't dangle. A ring thread never abandons transfers in
//! flight. It ends only when all are answered. If it can't continue (a bug here, never a failing
//! drive), the process aborts rather than free memory that the kernel may still write.
//!
//! A transfer goes to the least loaded ring, whatever its file. Two rings that share one file
//! submit concurrently what one would submit in turn (a tenth to a fifth more GB/s on one virtual
//! drive). A slow drive's queue doesn't delay other drives, and one file on a fast array of drives
//! can use all rings.
#![allow(unsafe_code)]

use crate::Direction;
use crate::ring::{Refusal, set_up};
use crate::threads::carry_out;
use crate::transfer::{Action, Transfer};
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, opcode, squeue};
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// User data of the eventfd's read. Slots have small numbers.
const WAKE_UP: u64 = u64::MAX;

/// Set in a slot's user data if the completion is the end of its pause, not an answer to its
/// transfer.
const PAUSE: u64 = 1 << 62;

const NO_WORKER: &str = "the kernel may not start threads for io_uring (ulimit -u): \
                         some transfers are made one by one, which is slower";

/// How long to retry when the kernel gives an answer that should not occur.
const RETRY_MAX: Duration = Duration::from_secs(10);

/// A single operation moves at most 0x7ffff000 bytes; a round number below that keeps the rest
/// aligned.
const BYTES_MAX: usize = 1 << 30;

/// One or more ring threads. Dropping it first finishes all submitted transfers.
#[derive(Debug)]
pub(crate) struct UringEngine {
    threads: Vec<RingThread>,
}

/// A submitter's view of a ring thread.
#[derive(Debug)]
struct RingThread {
    shared: Arc<Shared>,
    /// `None` after it was joined.
    thread: Option<JoinHandle<()>>,
}

/// State shared by a ring thread and its submitters.
#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// An eventfd that wakes the thread.
    wake_up: OwnedFd,
    /// Number of submitted, unfinished transfers: a hint for choosing a ring, hence relaxed.
    load: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    transfers: VecDeque<Transfer>,
    /// True if the thread has free slots and will not look again before it is woken or a transfer
    /// ends.
    is_asleep: bool,
    is_closed: bool,
}

impl Shared {
    fn wake(&self) {
        // Fails only if the counter is near 2^64, and then the thread has long been woken.
        let one = 1u64.to_ne_bytes();
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(&self.wake_up, &one));
    }
}

impl UringEngine {
    /// Starts `rings` threads with a ring for `depth` transfers each. Fails if any of them doesn't
    /// work.
    pub(crate) fn new(rings: usize, depth: usize) -> Result<UringEngine, Refusal> {
        assert!(rings > 0 && depth > 0);
        let mut engine = UringEngine { threads: Vec::new() };
        for _ in 0..rings {
            engine.threads.push(RingThread::start(depth).map_err(Refusal::new)?);
        }
        Ok(engine)
    }

    pub(crate) fn describe(&self) -> String {
        match self.threads.len() {
            1 => "io_uring".to_owned(),
            rings => format!("io_uring with {rings} rings"),
        }
    }

    /// Returns the number of submitted, unfinished transfers.
    pub(crate) fn load(&self) -> usize {
        self.threads.iter().map(RingThread::load).sum()
    }

    pub(crate) fn start(&self, transfer: Transfer) {
        let shared = &self.least_loaded().shared;
        shared.load.fetch_add(1, Ordering::Relaxed);
        let mut queue = shared.queue.lock();
        queue.transfers.push_back(transfer);
        let must_wake = std::mem::replace(&mut queue.is_asleep, false);
        drop(queue);
        if must_wake {
            shared.wake();
        }
    }

    /// Returns the thread with the least to do. Among equals the first, so that few threads are
    /// busy when there is little to do.
    fn least_loaded(&self) -> &RingThread {
        self.threads.iter().min_by_key(|thread| thread.load()).expect("there is at least one")
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        for thread in &self.threads {
            thread.shared.queue.lock().is_closed = true;
            thread.shared.wake();
        }
        for thread in &mut self.threads {
            if let Some(thread) = thread.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

impl RingThread {
    fn load(&self) -> usize {
        self.shared.load.load(Ordering::Relaxed)
    }

    /// Starts a thread that creates its own ring, which the kernel's single-issuer mode requires.
    fn start(depth: usize) -> io::Result<RingThread> {
        let wake_up = eventfd(0, EventfdFlags::CLOEXEC)?;
        let load = AtomicUsize::new(0);
        let shared = Arc::new(Shared { queue: Mutex::default(), wake_up, load });
        let (started, outcome) = mpsc::sync_channel(1);
        let its_shared = Arc::clone(&shared);
        let thread = thread::Builder::new().name("xsort-uring".to_owned()).spawn(move || {
            // Enough entries for every slot's operation and the eventfd's at once, so that a push
            // never fails.
            let entries = (depth + 1).next_power_of_two() as u32;
            match set_up(entries) {
                Ok(ring) => {
                    let _ = started.send(Ok(()));
                    let guard = AbortOnPanic;
                    EventLoop::new(ring, its_shared, depth).run();
                    std::mem::forget(guard);
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        })?;
        outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the ring's thread died")))?;
        Ok(RingThread { shared, thread: Some(thread) })
    }
}

/// See "Memory" at the top of this file.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Room for one transfer in flight.
#[derive(Debug, Default)]
struct Slot {
    transfer: Option<Transfer>,
    /// For a pause. The kernel reads it when the timeout is submitted, so it lives as long as the
    /// slot.
    pause: Timespec,
}

/// The ring and its transfers in flight, owned and used only by the ring thread.
struct EventLoop {
    ring: IoUring,
    shared: Arc<Shared>,
    /// Never grows, so that the addresses of its pauses stay valid.
    slots: Box<[Slot]>,
    /// Numbers of the empty slots.
    free: Vec<usize>,
    /// Where the kernel writes the eventfd's count.
    wake_up_count: Box<u64>,
    /// Since when the kernel has refused everything, if it does.
    refused_since: Option<Instant>,
}

impl EventLoop {
    fn new(ring: IoUring, shared: Arc<Shared>, depth: usize) -> EventLoop {
        let slots = (0..depth).map(|_| Slot::default()).collect();
        let free = (0..depth).rev().collect();
        let wake_up_count = Box::new(0);
        EventLoop { ring, shared, slots, free, wake_up_count, refused_since: None }
    }

    fn run(mut self) {
        self.push_wake_up_read();
        loop {
            if self.take_from_queue() {
                return self.end_wake_up_read();
            }
            self.wait();
            self.reap();
        }
    }

    /// At the end one operation is in flight: the eventfd's read into `wake_up_count`. It must be
    /// answered before that memory is freed.
    fn end_wake_up_read(&mut self) {
        self.shared.wake();
        loop {
            self.wait();
            if let Some((WAKE_UP, _)) = self.completion() {
                return;
            }
        }
    }

    /// Moves transfers from the queue into free slots. Returns true when the disk is closed and no
    /// transfer is left.
    fn take_from_queue(&mut self) -> bool {
        let shared = Arc::clone(&self.shared);
        let mut queue = shared.queue.lock();
        while let Some(&slot) = self.free.last()
            && let Some(transfer) = queue.transfers.pop_front()
        {
            self.free.pop();
            self.slots[slot].transfer = Some(transfer);
            self.push_transfer(slot);
        }
        queue.is_asleep = !self.free.is_empty();
        queue.is_closed && queue.transfers.is_empty() && self.free.len() == self.slots.len()
    }

    /// Pushes the operation for the missing part of a slot's transfer.
    fn push_transfer(&mut self, slot: usize) {
        let transfer = self.slots[slot].transfer.as_mut().expect("the slot holds a transfer");
        let span = transfer.span();
        let fd = Fd(transfer.file.as_fd().as_raw_fd());
        let memory = transfer.request.lease[span.start..span.start + span.bytes].as_mut_ptr();
        let bytes = span.bytes.min(BYTES_MAX) as u32;
        let operation = match transfer.request.direction {
            Direction::Read => opcode::Read::new(fd, memory, bytes).offset(span.offset).build(),
            Direction::Write => opcode::Write::new(fd, memory, bytes).offset(span.offset).build(),
        };
        self.push(operation.user_data(slot as u64));
    }

    /// Pushes a timeout, after which the slot's transfer is pushed again.
    fn push_pause(&mut self, slot: usize, pause: Duration) {
        self.slots[slot].pause = Timespec::from(pause);
        let operation = opcode::Timeout::new(&self.slots[slot].pause).build();
        self.push(operation.user_data(slot as u64 | PAUSE));
    }

    fn push_wake_up_read(&mut self) {
        let memory = std::ptr::from_mut(&mut *self.wake_up_count).cast::<u8>();
        let operation = opcode::Read::new(Fd(self.shared.wake_up.as_raw_fd()), memory, 8).build();
        self.push(operation.user_data(WAKE_UP));
    }

    fn push(&mut self, operation: squeue::Entry) {
        // SAFETY: the operation's memory is part of the lease of the transfer in its slot, or the
        // slot's pause, or `wake_up_count`. All of these live until the completion is taken, since
        // `run` returns only when every slot is free and the eventfd's read was answered. The
        // descriptor is held open by the same transfer, or by `shared`. No code accesses a slot's
        // lease while its operation is in flight: `push_transfer` is the last to do so, `reap` the
        // next.
        unsafe { self.ring.submission().push(&operation) }
            .expect("the ring has an entry for each slot and the eventfd");
    }

    /// Submits the pushed operations and sleeps until something has completed.
    fn wait(&mut self) {
        match self.ring.submit_and_wait(1) {
            Ok(_) => {}
            // A signal, or completions to be taken first. Unsubmitted operations stay queued.
            Err(error)
                if matches!(Errno::from_io_error(&error), Some(Errno::INTR | Errno::BUSY)) => {}
            // The kernel is short of memory for requests: pause instead of retrying a million
            // times.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) => {
                thread::sleep(Duration::from_millis(1));
            }
            // No known case; unsubmitted operations stay queued.
            Err(error) => {
                let refused_since = *self.refused_since.get_or_insert_with(Instant::now);
                assert!(
                    refused_since.elapsed() < RETRY_MAX,
                    "io_uring_enter on our own ring: {error}"
                );
                thread::sleep(Duration::from_millis(1));
                return;
            }
        }
        self.refused_since = None;
    }

    /// Takes all completions. For each transfer, starts the next step or ends it.
    fn reap(&mut self) {
        while let Some((user_data, result)) = self.completion() {
            match user_data {
                WAKE_UP => self.push_wake_up_read(),
                _ if user_data & PAUSE != 0 => self.push_transfer((user_data & !PAUSE) as usize),
                slot => self.advance(slot as usize, result),
            }
        }
    }

    /// Returns the user data and result of the next completion, if there is one.
    fn completion(&mut self) -> Option<(u64, i32)> {
        self.ring
            .completion()
            .next()
            .map(|completion| (completion.user_data(), completion.result()))
    }

    /// Processes the kernel's answer to a slot's transfer.
    fn advance(&mut self, slot: usize, result: i32) {
        let answer = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
        if answer == Err(Errno::CANCELED) {
            return self.carry_out_here(slot);
        }
        let transfer = self.slots[slot].transfer.as_mut().expect("only a slot in use is answered");
        match transfer.advance(answer) {
            Action::Submit => self.push_transfer(slot),
            Action::SubmitAfter(pause) => self.push_pause(slot, pause),
            Action::Finish(result) => self.free(slot).finish(result),
        }
    }

    /// Carries out a slot's transfer in this thread. The kernel hands operations that would wait to
    /// a worker thread of its own. If a limit forbids it to start one, it cancels the operation
    /// (nothing else here cancels any), and this thread carries out the transfer.
    fn carry_out_here(&mut self, slot: usize) {
        let transfer = self.free(slot);
        transfer.file.notice(NO_WORKER.to_owned());
        carry_out(transfer);
    }

    /// Frees a slot and returns its transfer. Called before the completion is sent, so that its
    /// receiver may submit again at once and finds the slot free.
    fn free(&mut self, slot: usize) -> Transfer {
        self.free.push(slot);
        self.shared.load.fetch_sub(1, Ordering::Relaxed);
        self.slots[slot].transfer.take().expect("only a slot in use is answered")
    }
}
