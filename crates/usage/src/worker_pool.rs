//! The threads of a walk: tasks pushed and stolen, and more threads while these wait for a device.
//!
//! Each worker has a deque (Chase and Lev's, from crossbeam): it pushes and pops at one end, other
//! workers steal at the other. The caller's thread is the first worker. A second one is started
//! when there is more work than one thread does in the time that starting another takes, so that
//! small trees don't pay for threads. There are more workers than processors only while workers
//! wait.
//!
//! Sleeping. A worker that finds no task adds itself to `sleepers`, looks for tasks once more, and
//! sleeps. A worker that pushes a task reads `sleepers` afterwards. Each has a sequentially
//! consistent fence between its write and its read, so at least one of the two sees the other
//! (Dekker's algorithm): no task waits while all workers sleep.

use crossbeam_deque::{Steal, Stealer, Worker as Deque};
use parking_lot::{Condvar, Mutex};
use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

/// How long a worker works before it considers starting another thread. Starting takes about a
/// tenth of this.
const GROWTH_INTERVAL: Duration = Duration::from_micros(200);
/// How long it measures whether all processors are busy, once each has a worker.
const BUSY_INTERVAL: Duration = Duration::from_millis(1);

/// If less than this share of the processors' time is used, workers are waiting for the device. Two
/// threads that never wait use 0.98 (2 cores, cached tree).
const BUSY_SHARE: f64 = 0.9;

/// How often a worker looks for tasks before it sleeps: a few microseconds, less than a wake-up
/// takes.
const STEAL_ATTEMPTS: usize = 50;

/// The workers and their shared state.
#[derive(Debug)]
pub(crate) struct WorkerPool<T> {
    stealers: Box<[OnceLock<Stealer<T>>]>,
    started: AtomicUsize,
    limits: Mutex<Option<ThreadLimits>>,
    /// Number of pushed tasks that aren't done.
    unfinished: AtomicUsize,
    is_over: AtomicBool,
    sleepers: AtomicUsize,
    idle_lock: Mutex<()>,
    work_or_end: Condvar,
}

/// Maximum numbers of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadLimits {
    /// While threads work.
    pub(crate) busy: usize,
    /// While threads wait for the device.
    pub(crate) waiting: usize,
}

/// One thread's membership in the pool.
#[derive(Debug)]
pub(crate) struct Worker<'a, T> {
    pool: &'a WorkerPool<T>,
    number: usize,
    deque: Deque<T>,
    interval: Interval,
}

/// A time span, and the processor time that all threads used in it.
#[derive(Debug)]
struct Interval {
    since: Instant,
    cpu_time_before: Duration,
}

/// Starts more threads.
pub(crate) trait Spawner {
    /// Returns the maximum numbers of threads. Called when there is work for more than one thread.
    fn limits(&self) -> ThreadLimits;

    /// Starts a thread, unless `threads_max` are running.
    fn start(&self, threads_max: usize);
}

impl<T> WorkerPool<T> {
    /// Creates a pool of at most `threads_max` workers, whatever the limits.
    pub(crate) fn new(threads_max: usize) -> WorkerPool<T> {
        WorkerPool {
            stealers: (0..threads_max).map(|_| OnceLock::new()).collect(),
            started: AtomicUsize::new(0),
            limits: Mutex::default(),
            unfinished: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            idle_lock: Mutex::new(()),
            work_or_end: Condvar::new(),
        }
    }

    /// Makes the pool compute the limits again: the next argument may be on another device.
    pub(crate) fn forget_limits(&self) {
        *self.limits.lock() = None;
    }

    /// Adds the calling thread, unless there are `threads_max` workers.
    pub(crate) fn join(&self, threads_max: usize) -> Option<Worker<'_, T>> {
        let number = self
            .started
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |started| {
                (started < threads_max.min(self.stealers.len())).then_some(started + 1)
            })
            .ok()?;
        let deque = Deque::new_lifo();
        self.stealers[number].set(deque.stealer()).expect("each number is taken once");
        Some(Worker { pool: self, number, deque, interval: Interval::begin() })
    }

    /// Makes all workers return.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn steal(&self, thief: usize) -> Option<T> {
        let started = self.started.load(Ordering::Relaxed);
        loop {
            let mut must_retry = false;
            for offset in 1..started {
                let victim = self.stealers[(thief + offset) % started].get();
                match victim.map(Stealer::steal) {
                    Some(Steal::Success(task)) => return Some(task),
                    Some(Steal::Retry) => must_retry = true,
                    Some(Steal::Empty) | None => {}
                }
            }
            if !must_retry {
                return None;
            }
        }
    }

    fn has_tasks(&self) -> bool {
        self.stealers.iter().filter_map(OnceLock::get).any(|stealer| !stealer.is_empty())
    }

    fn wake_one(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            let _guard = self.idle_lock.lock();
            self.work_or_end.notify_one();
        }
    }

    fn wake_all(&self) {
        let _guard = self.idle_lock.lock();
        self.work_or_end.notify_all();
    }

    /// Sleeps until there may be tasks, or `is_done` returns true.
    fn sleep(&self, is_done: impl Fn() -> bool) {
        let mut guard = self.idle_lock.lock();
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `wake_one`.
        fence(Ordering::SeqCst);
        if !self.has_tasks() && !is_done() {
            self.work_or_end.wait(&mut guard);
        }
        drop(guard);
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Worker<'_, T> {
    /// Pushes tasks; this worker takes the last one first.
    pub(crate) fn push_all(&self, tasks: impl ExactSizeIterator<Item = T>) {
        self.pool.unfinished.fetch_add(tasks.len(), Ordering::Relaxed);
        for task in tasks {
            self.deque.push(task);
            self.pool.wake_one();
        }
    }

    /// Performs tasks, its own first, until the tasks of all workers are done.
    pub(crate) fn work_until_done(
        &mut self,
        perform: impl FnMut(&Self, T),
        spawner: &impl Spawner,
    ) {
        let pool = self.pool;
        let is_done = || pool.unfinished.load(Ordering::Acquire) == 0;
        self.work(perform, spawner, is_done);
    }

    /// Performs tasks until the pool ends.
    pub(crate) fn work_until_end(&mut self, perform: impl FnMut(&Self, T), spawner: &impl Spawner) {
        self.work(perform, spawner, || false);
    }

    fn work(
        &mut self,
        mut perform: impl FnMut(&Self, T),
        spawner: &impl Spawner,
        is_done: impl Fn() -> bool,
    ) {
        let pool = self.pool;
        let is_done = || is_done() || pool.is_over.load(Ordering::Acquire);
        self.interval = Interval::begin();
        while let Some(task) = self.next_task(&is_done) {
            perform(self, task);
            if pool.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
                // The first worker waits until all tasks are done.
                pool.wake_all();
            }
            self.grow_if_useful(spawner);
        }
    }

    fn next_task(&mut self, is_done: &impl Fn() -> bool) -> Option<T> {
        if let Some(task) = self.deque.pop() {
            return Some(task);
        }
        loop {
            for _ in 0..STEAL_ATTEMPTS {
                if let Some(task) = self.pool.steal(self.number) {
                    return Some(task);
                }
                if is_done() {
                    return None;
                }
                std::hint::spin_loop();
            }
            self.pool.sleep(is_done);
            self.interval = Interval::begin();
        }
    }

    /// Starts another thread if it would have work and no worker sleeps: up to one per processor
    /// while workers are busy, and as many as the device can serve while they wait for it.
    fn grow_if_useful(&mut self, spawner: &impl Spawner) {
        let elapsed = self.interval.since.elapsed();
        if elapsed < GROWTH_INTERVAL {
            return;
        }
        if self.deque.is_empty() {
            self.interval = Interval::begin();
            return;
        }
        let pool = self.pool;
        let limits = *pool.limits.lock().get_or_insert_with(|| spawner.limits());
        let started = pool.started.load(Ordering::Relaxed);
        if started >= limits.busy && elapsed < BUSY_INTERVAL {
            return;
        }
        if started < limits.waiting.max(limits.busy) && pool.sleepers.load(Ordering::Relaxed) == 0 {
            let used = cpu_time().saturating_sub(self.interval.cpu_time_before).as_secs_f64();
            let available = elapsed.as_secs_f64() * started.min(limits.busy) as f64;
            let is_waiting = used < BUSY_SHARE * available;
            let threads_max = if is_waiting { limits.waiting } else { limits.busy };
            if started < threads_max {
                spawner.start(threads_max);
            }
        }
        self.interval = Interval::begin();
    }
}

impl Interval {
    fn begin() -> Interval {
        Interval { since: Instant::now(), cpu_time_before: cpu_time() }
    }
}

/// Returns the processor time that all threads of the process have used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
