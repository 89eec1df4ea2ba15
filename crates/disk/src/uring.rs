//! The io_uring engine: lanes, each a thread with a ring of its own.
//!
//! ```text
//!  submit (any thread)                     lane (its own thread)
//!  lock inbox                              loop
//!    push transfer                           lock inbox
//!    rung = asleep; asleep = false             move transfers into free slots
//!  unlock                                      asleep = some slots are still free
//!  if rung: write eventfd  ---------+        unlock
//!                                   |        io_uring_enter: submit all, wait for one completion
//!                                   +------> the armed read of the eventfd is one
//!                                            take all completions: next step, or finish and free the slot
//! ```
//!
//! No wake-up is lost: `asleep` is written only under the inbox's lock. A transfer pushed before
//! the lane looked is taken by it; one pushed after finds `asleep` set and rings, and the ring's
//! read of the eventfd completes even if the bell came before the lane sleeps, since an eventfd
//! counts. When all slots are taken nobody rings: a completion will wake the lane anyway.
//!
//! Memory: a transfer in a slot owns its lease and nobody touches either until the kernel has
//! answered, so the kernel's pointer can't dangle. A lane never gives up transfers in flight: it
//! ends only when all are answered, and if it can't go on (a bug here, never the world's doing) the
//! process is aborted rather than memory freed under the kernel's hands.
//!
//! A transfer goes to the lane with the least to do, whatever its file: two lanes that share one
//! file submit at once what one would submit in turn (a tenth to a fifth more GB/s on one virtual
//! drive), a slow drive's queue holds no other drive up, and one file on a fast array of drives has
//! all lanes.
#![allow(unsafe_code)]

use crate::Direction;
use crate::ring::{Refusal, set_up};
use crate::threads::carry_out;
use crate::transfer::{Transfer, Verdict};
use io_uring::types::{Fd, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The completion of the eventfd's read. Slots have small numbers.
const BELL: u64 = u64::MAX;

/// Set in a slot's number: the end of its pause, not an answer to its transfer.
const PAUSE: u64 = 1 << 62;

const NO_WORKER: &str = "the kernel may not start threads for io_uring (ulimit -u): some transfers are made one by one, which is slower";

/// How long to ask again when the kernel says what it never should.
const PATIENCE: Duration = Duration::from_secs(10);

/// A single operation moves at most 0x7ffff000 bytes; a round number below keeps the rest aligned.
const BYTES_MAX: usize = 1 << 30;

/// All lanes of a disk, at least one. Dropping it finishes what was submitted first.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
}

#[derive(Debug)]
struct Lane {
    door: Arc<Door>,
    thread: Option<JoinHandle<()>>,
}

/// What a lane and its submitters share.
#[derive(Debug)]
struct Door {
    inbox: Mutex<Inbox>,
    bell: OwnedFd,
    /// Transfers that were submitted and are not finished: a hint for choosing a lane, hence
    /// relaxed.
    load: AtomicUsize,
}

#[derive(Debug, Default)]
struct Inbox {
    transfers: VecDeque<Transfer>,
    /// The lane has room and will not look again before the bell rings or a transfer ends.
    asleep: bool,
    is_closed: bool,
}

impl Door {
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring_bell(&self) {
        // Fails only if the counter is near 2^64, and then the bell has long been rung.
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(&self.bell, &1u64.to_ne_bytes()));
    }
}

impl Lanes {
    /// Starts `lanes` threads with a ring for `depth` transfers each; all of them work, or it is
    /// refused.
    pub(crate) fn new(lanes: usize, depth: usize) -> Result<Lanes, Refusal> {
        assert!(lanes > 0 && depth > 0);
        let mut all = Lanes { lanes: Vec::new() };
        for _ in 0..lanes {
            all.lanes.push(Lane::start(depth).map_err(Refusal::new)?);
        }
        Ok(all)
    }

    pub(crate) fn describe(&self) -> String {
        match self.lanes.len() {
            1 => "io_uring".to_owned(),
            lanes => format!("io_uring with {lanes} lanes"),
        }
    }

    /// How many transfers were submitted and are not finished.
    pub(crate) fn load(&self) -> usize {
        self.lanes.iter().map(Lane::load).sum()
    }

    pub(crate) fn start(&self, transfer: Transfer) {
        let door = &self.choose().door;
        door.load.fetch_add(1, Ordering::Relaxed);
        let mut inbox = door.lock();
        inbox.transfers.push_back(transfer);
        let must_ring = std::mem::replace(&mut inbox.asleep, false);
        drop(inbox);
        if must_ring {
            door.ring_bell();
        }
    }

    /// The lane with the least to do; of equals the first, so that few lanes are busy when little
    /// happens.
    fn choose(&self) -> &Lane {
        self.lanes.iter().min_by_key(|lane| lane.load()).expect("there is at least one lane")
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.door.lock().is_closed = true;
            lane.door.ring_bell();
        }
        for lane in &mut self.lanes {
            if let Some(thread) = lane.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

impl Lane {
    fn load(&self) -> usize {
        self.door.load.load(Ordering::Relaxed)
    }

    /// The ring is made by the thread that uses it: the kernel's single-issuer mode wants that.
    fn start(depth: usize) -> io::Result<Lane> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC)?;
        let door = Arc::new(Door { inbox: Mutex::default(), bell, load: AtomicUsize::new(0) });
        let (started, outcome) = mpsc::sync_channel(1);
        let theirs = Arc::clone(&door);
        let thread = thread::Builder::new().name("xsort-uring".to_owned()).spawn(move || {
            // Room for every slot's operation and the bell's at once, so that a push never fails.
            let entries = (depth + 1).next_power_of_two() as u32;
            match set_up(entries) {
                Ok(ring) => {
                    let _ = started.send(Ok(()));
                    let guard = AbortOnPanic;
                    Driver::new(ring, theirs, depth).run();
                    std::mem::forget(guard);
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                }
            }
        })?;
        outcome.recv().unwrap_or_else(|_| Err(io::Error::other("the lane's thread died")))?;
        Ok(Lane { door, thread: Some(thread) })
    }
}

/// See "Memory" at the head of this file.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// A place for one transfer in flight.
#[derive(Debug, Default)]
struct Slot {
    transfer: Option<Transfer>,
    /// For a pause: the kernel reads it when the timeout is submitted, so it lives as long as the
    /// slot.
    pause: Timespec,
}

/// The lane's side: owned and used by its thread alone.
struct Driver {
    ring: IoUring,
    door: Arc<Door>,
    /// Never grows, so that the addresses of its pauses hold.
    slots: Box<[Slot]>,
    /// Numbers of the empty slots.
    free: Vec<usize>,
    /// Where the kernel puts the eventfd's count.
    rung: Box<u64>,
    /// When the kernel began to refuse everything, if it does.
    refused_since: Option<Instant>,
}

impl Driver {
    fn new(ring: IoUring, door: Arc<Door>, depth: usize) -> Driver {
        let slots = (0..depth).map(|_| Slot::default()).collect();
        let free = (0..depth).rev().collect();
        Driver { ring, door, slots, free, rung: Box::new(0), refused_since: None }
    }

    fn run(mut self) {
        self.listen_for_bell();
        loop {
            if self.take_in() {
                return self.take_bell_back();
            }
            self.wait();
            self.reap();
        }
    }

    /// What is left in flight at the end is the bell's read, into `rung`: it must be answered
    /// before that memory goes.
    fn take_bell_back(&mut self) {
        self.door.ring_bell();
        loop {
            self.wait();
            if let Some((BELL, _)) = self.completion() {
                return;
            }
        }
    }

    /// Moves transfers from the inbox into free slots. True when the disk is closed and nothing is
    /// left to do.
    fn take_in(&mut self) -> bool {
        let door = Arc::clone(&self.door);
        let mut inbox = door.lock();
        while let Some(&slot) = self.free.last()
            && let Some(transfer) = inbox.transfers.pop_front()
        {
            self.free.pop();
            self.slots[slot].transfer = Some(transfer);
            self.ask(slot);
        }
        inbox.asleep = !self.free.is_empty();
        inbox.is_closed && inbox.transfers.is_empty() && self.free.len() == self.slots.len()
    }

    /// Queues the operation for what is still missing of a slot's transfer.
    fn ask(&mut self, slot: usize) {
        let transfer =
            self.slots[slot].transfer.as_mut().expect("a slot that asks holds a transfer");
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

    /// Queues a timeout after which the slot's transfer is asked for again.
    fn ask_later(&mut self, slot: usize, pause: Duration) {
        self.slots[slot].pause = Timespec::from(pause);
        let operation = opcode::Timeout::new(&self.slots[slot].pause).build();
        self.push(operation.user_data(slot as u64 | PAUSE));
    }

    fn listen_for_bell(&mut self) {
        let memory = std::ptr::from_mut(&mut *self.rung).cast::<u8>();
        let operation = opcode::Read::new(Fd(self.door.bell.as_raw_fd()), memory, 8).build();
        self.push(operation.user_data(BELL));
    }

    fn push(&mut self, operation: squeue::Entry) {
        // SAFETY: the operation's memory is part of the lease of the transfer in its slot, or the
        // slot's pause, or `rung`; all live until the completion is taken, since `run` returns only
        // when every slot is free and the bell was answered. The descriptor is held open by the
        // same transfer, or by the door. Nobody touches a slot's lease while it is asked for: `ask`
        // is the last to look, `reap` the next.
        unsafe { self.ring.submission().push(&operation) }
            .expect("the ring has an entry for each slot and the bell");
    }

    /// Submits what is queued and sleeps until something has completed.
    fn wait(&mut self) {
        match self.ring.submit_and_wait(1) {
            Ok(_) => {}
            // A signal, or completions to be taken first: what was not submitted stays queued.
            Err(error)
                if matches!(Errno::from_io_error(&error), Some(Errno::INTR | Errno::BUSY)) => {}
            // The kernel is short of memory for requests; give it a moment instead of asking a
            // million times.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) => {
                thread::sleep(Duration::from_millis(1));
            }
            // Nothing that is known to happen; what was not submitted stays queued.
            Err(error) => {
                let refused_since = *self.refused_since.get_or_insert_with(Instant::now);
                assert!(
                    refused_since.elapsed() < PATIENCE,
                    "io_uring_enter on our own ring: {error}"
                );
                thread::sleep(Duration::from_millis(1));
                return;
            }
        }
        self.refused_since = None;
    }

    /// Takes all completions: the next step for each, or its end.
    fn reap(&mut self) {
        while let Some((name, result)) = self.completion() {
            match name {
                BELL => self.listen_for_bell(),
                name if name & PAUSE != 0 => self.ask((name & !PAUSE) as usize),
                name => self.answered(name as usize, result),
            }
        }
    }

    fn completion(&mut self) -> Option<(u64, i32)> {
        self.ring
            .completion()
            .next()
            .map(|completion| (completion.user_data(), completion.result()))
    }

    fn answered(&mut self, slot: usize, result: i32) {
        let answer = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
        if answer == Err(Errno::CANCELED) {
            return self.go_on_without_worker(slot);
        }
        let transfer = self.slots[slot].transfer.as_mut().expect("only a slot in use is answered");
        match transfer.advance(answer) {
            Verdict::Ask(None) => self.ask(slot),
            Verdict::Ask(Some(pause)) => self.ask_later(slot, pause),
            Verdict::Finish(result) => self.vacate(slot).finish(result),
        }
    }

    /// Nobody cancels here. What the kernel can't do without waiting, it hands to a thread of its
    /// own; if a limit forbids it to start one, it cancels the operation. Then this thread waits
    /// instead.
    fn go_on_without_worker(&mut self, slot: usize) {
        let transfer = self.vacate(slot);
        transfer.file.notice(NO_WORKER.to_owned());
        carry_out(transfer);
    }

    /// Takes a slot's transfer out. Its end is still to be told: whoever hears of it may submit
    /// again at once, and finds the slot free.
    fn vacate(&mut self, slot: usize) -> Transfer {
        self.free.push(slot);
        self.door.load.fetch_sub(1, Ordering::Relaxed);
        self.slots[slot].transfer.take().expect("only a slot in use is answered")
    }
}
