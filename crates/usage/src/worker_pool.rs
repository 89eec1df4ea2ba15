//! The threads of a walk: tasks pushed, stolen and waited for, and more threads while these wait
//! for a device.
//!
//! Each thread has a deque (Chase and Lev's, as crossbeam has it): it pushes and pops at one end,
//! others steal at the other. One thread begins; a second is started when there is work for it for
//! longer than a thread takes to start, so that small trees don't pay for any; more than processors
//! only while these are idle.
//!
//! Sleep. Who finds nothing says so in `sleepers`, looks once more, and sleeps. Who pushes looks at
//! `sleepers` after the push. Between the two looks and writes are sequentially consistent fences,
//! so that at least one of them sees the other (Dekker's way): no task waits for a sleeper that
//! nobody wakes.

use crossbeam_deque::{Steal, Stealer, Worker as Deque};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a thread works before it looks whether another could help. Starting one takes about a
/// tenth of this.
const WATCH: Duration = Duration::from_micros(200);
/// How long it looks on whether all processors are busy, once there is a thread for each.
const LONG_WATCH: Duration = Duration::from_millis(1);

/// Of the processors' time: where less is used, threads wait. Two threads that work all the time
/// use 0.98 (2 cores, cached tree).
const IDLE_SHARE: f64 = 0.9;

/// How often a thread without work looks for some before it sleeps: a few microseconds, less than
/// it takes to wake up.
const LOOKS: usize = 50;

/// The threads.
#[derive(Debug)]
pub(crate) struct WorkerPool<T> {
    stealers: Box<[OnceLock<Stealer<T>>]>,
    started: AtomicUsize,
    bounds: Mutex<Option<Bounds>>,
    /// Tasks that were pushed and aren't done.
    unfinished: AtomicUsize,
    is_over: AtomicBool,
    sleepers: AtomicUsize,
    idle_lock: Mutex<()>,
    work_or_end: Condvar,
}

/// How many threads there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// While they work.
    pub(crate) busy: usize,
    /// While they wait for the device.
    pub(crate) waiting: usize,
}

/// A thread's place in the pool.
#[derive(Debug)]
pub(crate) struct Worker<'a, T> {
    pool: &'a WorkerPool<T>,
    number: usize,
    deque: Deque<T>,
    watch: Watch,
}

/// How long, and how much all threads worked meanwhile.
#[derive(Debug)]
struct Watch {
    since: Instant,
    worked: Duration,
}

/// Where more threads come from.
pub(crate) trait Spawner {
    /// How many there may be. Asked when there is work for more than one.
    fn bounds(&self) -> Bounds;

    /// Starts one, unless there are as many.
    fn start(&self, threads_max: usize);
}

impl<T> WorkerPool<T> {
    /// At most so many threads, whatever the bounds.
    pub(crate) fn new(threads_max: usize) -> WorkerPool<T> {
        WorkerPool {
            stealers: (0..threads_max).map(|_| OnceLock::new()).collect(),
            started: AtomicUsize::new(0),
            bounds: Mutex::default(),
            unfinished: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            idle_lock: Mutex::new(()),
            work_or_end: Condvar::new(),
        }
    }

    /// Forgets the bounds: what comes may be on another device.
    pub(crate) fn forget_bounds(&self) {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// A place for one more thread, if there may be one.
    pub(crate) fn join(&self, threads_max: usize) -> Option<Worker<'_, T>> {
        let number = self
            .started
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |started| {
                (started < threads_max.min(self.stealers.len())).then_some(started + 1)
            })
            .ok()?;
        let deque = Deque::new_lifo();
        self.stealers[number].set(deque.stealer()).expect("each place is taken once");
        Some(Worker { pool: self, number, deque, watch: Watch::begin() })
    }

    /// Sends all threads home.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    fn steal(&self, thief: usize) -> Option<T> {
        let started = self.started.load(Ordering::Relaxed);
        loop {
            let mut is_undecided = false;
            for offset in 1..started {
                let victim = self.stealers[(thief + offset) % started].get();
                match victim.map(Stealer::steal) {
                    Some(Steal::Success(task)) => return Some(task),
                    Some(Steal::Retry) => is_undecided = true,
                    Some(Steal::Empty) | None => {}
                }
            }
            if !is_undecided {
                return None;
            }
        }
    }

    fn has_work(&self) -> bool {
        self.stealers.iter().filter_map(OnceLock::get).any(|stealer| !stealer.is_empty())
    }

    fn wake_one(&self) {
        // Pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            let _bed = self.idle_lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.work_or_end.notify_one();
        }
    }

    fn wake_all(&self) {
        let _bed = self.idle_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.work_or_end.notify_all();
    }

    /// Until there may be work, or `is_done`.
    fn sleep(&self, is_done: impl Fn() -> bool) {
        let idle_lock = self.idle_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `wake_one`.
        fence(Ordering::SeqCst);
        if !self.has_work() && !is_done() {
            drop(self.work_or_end.wait(idle_lock));
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T> Worker<'_, T> {
    /// Tasks of this thread's, which takes the last one first.
    pub(crate) fn push_all(&self, tasks: impl ExactSizeIterator<Item = T>) {
        self.pool.unfinished.fetch_add(tasks.len(), Ordering::Relaxed);
        for task in tasks {
            self.deque.push(task);
            self.pool.wake_one();
        }
    }

    /// Performs tasks, its own first, until all are done: those of the other threads too.
    pub(crate) fn work_until_done(&mut self, perform: impl FnMut(&Self, T), help: &impl Spawner) {
        let pool = self.pool;
        let is_done = || pool.unfinished.load(Ordering::Acquire) == 0;
        self.work(perform, help, is_done);
    }

    /// Performs tasks until the pool is sent home.
    pub(crate) fn work_until_over(&mut self, perform: impl FnMut(&Self, T), help: &impl Spawner) {
        self.work(perform, help, || false);
    }

    fn work(
        &mut self,
        mut perform: impl FnMut(&Self, T),
        help: &impl Spawner,
        is_done: impl Fn() -> bool,
    ) {
        let pool = self.pool;
        let is_done = || is_done() || pool.is_over.load(Ordering::Acquire);
        self.watch = Watch::begin();
        while let Some(task) = self.next(&is_done) {
            perform(self, task);
            if pool.unfinished.fetch_sub(1, Ordering::AcqRel) == 1 {
                // Whoever waits for all to be done.
                pool.wake_all();
            }
            self.look_for_help(help);
        }
    }

    fn next(&mut self, is_done: &impl Fn() -> bool) -> Option<T> {
        if let Some(task) = self.deque.pop() {
            return Some(task);
        }
        loop {
            for _ in 0..LOOKS {
                if let Some(task) = self.pool.steal(self.number) {
                    return Some(task);
                }
                if is_done() {
                    return None;
                }
                std::hint::spin_loop();
            }
            self.pool.sleep(is_done);
            self.watch = Watch::begin();
        }
    }

    /// Has another thread started if there is work for it and none sleeps: up to one for each
    /// processor while these work, and as many as the device bears while they wait for it.
    fn look_for_help(&mut self, help: &impl Spawner) {
        let passed = self.watch.since.elapsed();
        if passed < WATCH {
            return;
        }
        if self.deque.is_empty() {
            self.watch = Watch::begin();
            return;
        }
        let pool = self.pool;
        let bounds = *pool
            .bounds
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| help.bounds());
        let started = pool.started.load(Ordering::Relaxed);
        if started >= bounds.busy && passed < LONG_WATCH {
            return;
        }
        if started < bounds.waiting.max(bounds.busy) && pool.sleepers.load(Ordering::Relaxed) == 0 {
            let worked = cpu_time().saturating_sub(self.watch.worked).as_secs_f64();
            let could = passed.as_secs_f64() * started.min(bounds.busy) as f64;
            let threads_max =
                if worked < IDLE_SHARE * could { bounds.waiting } else { bounds.busy };
            if started < threads_max {
                help.start(threads_max);
            }
        }
        self.watch = Watch::begin();
    }
}

impl Watch {
    fn begin() -> Watch {
        Watch { since: Instant::now(), worked: cpu_time() }
    }
}

/// Of all threads.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
