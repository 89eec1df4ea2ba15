//! The pipeline of a phase: reading, working and writing at the same time.
//!
//! ```text
//!            free memory <----------------------------.
//!                |                                    |
//! drives ---> feed ---> unit of work ---> worker ---> blocks ---> drives
//!        (the coordinator: one thread    (one thread a unit,
//!         starts and ends all transfers)  nothing shared)
//! ```
//!
//! Forming runs, scattering, gathering and merging are all pipelines. They differ in their
//! [`Feed`], which reads data and hands out units of work, and in their [`Worker`]. A unit is a
//! whole chunk, load of bins or segment of a merge, so workers share only channels.

use super::job::SortJob;
use super::pending_writes::PendingWrites;
use crate::Error;
use crate::job::failure::STOP_INTERVAL;
use crate::job::stage_times::StageTimer;
use crate::job::threads::spawn_up_to;
use crate::store::scratch::Scratch;
use crossbeam_channel::{Receiver, RecvError, Sender, select_biased, unbounded};
use std::time::Instant;
use xsort_disk::{Completion, Lease, Prefault};

/// Reads ahead, and hands out units of work when their data has arrived.
pub(crate) trait Feed {
    /// The unit of work.
    type Unit: Send;

    /// Starts as many reads as may be in flight.
    fn start_reads(&mut self);

    /// The next unit of work, if all of its data is in memory.
    fn next_unit(&mut self) -> Option<Self::Unit>;

    /// Memory that reads will go to, to be touched first by an idle worker.
    fn next_prefault(&mut self) -> Option<Prefault> {
        None
    }

    /// True if all units were handed out.
    fn is_done(&mut self) -> bool;

    /// True if reading is stalled until a worker returns memory.
    fn is_starved(&mut self) -> bool;

    /// The channel for the completions of reads.
    fn completions(&self) -> &Receiver<Completion>;

    /// Handles the completion of a read.
    fn finish_read(&mut self, completion: Completion) -> Result<(), Error>;

    /// Called when a worker is done with a unit. Takes back the unit's area, if it has one.
    fn finish_unit(&mut self, area: Option<Lease>);
}

/// Works on one unit after another, in its own thread.
pub(crate) trait Worker: Send {
    /// The unit of work.
    type Unit: Send;
    /// The result of a unit.
    type Product: Send;

    /// Works on a unit.
    fn work(&mut self, unit: Self::Unit) -> Result<WorkedUnit<Self::Product>, Error>;
}

/// A unit that its worker is done with.
pub(crate) struct WorkedUnit<T> {
    /// Number of the unit.
    pub(crate) number: usize,
    /// The unit's memory, unless it stays in use.
    pub(crate) area: Option<Lease>,
    /// Number of writes started for the unit. Their tags contain its number.
    pub(crate) writes: usize,
    /// The result of the unit.
    pub(crate) product: T,
}

/// Context of a pipeline's threads.
pub(crate) struct Pipeline<'a> {
    /// Times how long workers wait for units.
    pub(crate) idle_timer: &'a StageTimer,
    /// Scratch, if the workers write there.
    pub(crate) scratch: Option<&'a Scratch<'a>>,
    /// Wakes all workers that wait for memory, because the job has failed.
    pub(crate) close: &'a dyn Fn(),
}

impl Pipeline<'_> {
    /// Runs until all units are worked on and written. `worker` creates the worker of each thread;
    /// the completions of its writes must go to the given sender. `finished` takes the number and
    /// product of each unit once its writes have completed.
    pub(crate) fn run<F: Feed, W: Worker<Unit = F::Unit>>(
        &self,
        job: &SortJob<'_>,
        feed: &mut F,
        mut worker: impl FnMut(Sender<Completion>) -> W,
        finished: &mut dyn FnMut(usize, W::Product),
    ) -> Result<(), Error> {
        let (units_to, units) = unbounded();
        let (prefaults_to, prefaults) = unbounded();
        let (worked_to, worked_from) = unbounded();
        let (written_to, written_from) = unbounded();
        let channels = Channels { units_to, prefaults_to, worked_from, written_from };
        let tasks = Tasks { units, prefaults };
        std::thread::scope(|scope| {
            let fail = |error| job.failure.set(error);
            let idle_timer = self.idle_timer;
            let started = spawn_up_to(scope, job.plan.threads, fail, |_| {
                let mut worker = worker(written_to.clone());
                let (tasks, worked_to) = (&tasks, worked_to.clone());
                move || run_worker(job, idle_timer, &mut worker, tasks, &worked_to)
            });
            if let Err(error) = started {
                job.failure.set(error);
            }
            let coordinator_busy = &job.stage_times.coordinator_busy;
            coordinator_busy.time_cpu(|| self.coordinate(job, feed, channels, finished));
            if job.failure.is_set() {
                (self.close)();
            }
        });
        job.failure.check()
    }

    /// Hands out units and handles completions until all are done or the job has failed. The
    /// workers end when `channels` is dropped.
    fn coordinate<F: Feed, T>(
        &self,
        job: &SortJob<'_>,
        feed: &mut F,
        channels: Channels<F::Unit, T>,
        finished: &mut dyn FnMut(usize, T),
    ) {
        let (mut handed_out, mut worked) = (0, 0);
        let mut pending = PendingWrites::default();
        while !job.should_stop() {
            feed.start_reads();
            while let Some(prefault) = feed.next_prefault() {
                channels.prefaults_to.send(prefault).expect("this thread holds a receiver");
            }
            while let Some(unit) = feed.next_unit() {
                handed_out += 1;
                channels.units_to.send(unit).expect("this thread holds a receiver");
            }
            if feed.is_done() && worked == handed_out && pending.is_empty() {
                break;
            }
            let starved_since = feed.is_starved().then(Instant::now);
            select_biased! {
                recv(feed.completions()) -> completion => {
                    let completion = completion.expect("the feed holds a sender");
                    if let Err(error) = feed.finish_read(completion) {
                        job.failure.set(error);
                    }
                }
                recv(channels.written_from) -> completion => {
                    let completion = completion.expect("this thread holds a sender");
                    job.traffic.finish(&completion);
                    if let Some(scratch) = self.scratch {
                        scratch.written(&completion);
                    }
                    match completion.result {
                        Err(error) => job.failure.set(error.into()),
                        Ok(()) => {
                            if let Some((number, product)) = pending.written(completion.tag) {
                                finished(number, product);
                            }
                        }
                    }
                }
                recv(channels.worked_from) -> unit => {
                    let unit: WorkedUnit<T> = unit.expect("this thread holds a sender");
                    worked += 1;
                    feed.finish_unit(unit.area);
                    let product = pending.worked(unit.number, unit.writes, unit.product);
                    if let Some(product) = product {
                        finished(unit.number, product);
                    }
                }
                default(STOP_INTERVAL) => {}
            }
            if let Some(since) = starved_since {
                job.stage_times.read_waits_for_areas.add_since(since);
            }
        }
    }
}

/// The coordinator's ends of the channels.
struct Channels<U, T> {
    units_to: Sender<U>,
    prefaults_to: Sender<Prefault>,
    worked_from: Receiver<WorkedUnit<T>>,
    written_from: Receiver<Completion>,
}

/// The workers' receiving ends.
struct Tasks<U> {
    units: Receiver<U>,
    prefaults: Receiver<Prefault>,
}

impl<U> Tasks<U> {
    /// Waits for a unit, or for memory to touch while there is none.
    fn next(&self) -> Result<Task<U>, RecvError> {
        select_biased! {
            recv(self.units) -> unit => unit.map(Task::Work),
            recv(self.prefaults) -> prefault => match prefault {
                Ok(prefault) => Ok(Task::Prefault(prefault)),
                Err(_) => self.units.recv().map(Task::Work),
            },
        }
    }
}

/// The next task of a worker.
enum Task<U> {
    Work(U),
    Prefault(Prefault),
}

/// Works until there are no more units. After a failure it drops the remaining ones.
fn run_worker<W: Worker>(
    job: &SortJob<'_>,
    idle_timer: &StageTimer,
    worker: &mut W,
    tasks: &Tasks<W::Unit>,
    worked: &Sender<WorkedUnit<W::Product>>,
) {
    while let Ok(task) = idle_timer.time(|| tasks.next()) {
        if job.failure.is_set() {
            continue;
        }
        let unit = match task {
            Task::Work(unit) => unit,
            Task::Prefault(prefault) => {
                prefault.populate();
                continue;
            }
        };
        match worker.work(unit) {
            // After a failure the coordinator may be gone already.
            Ok(unit) => drop(worked.send(unit)),
            Err(error) => job.failure.set(error),
        }
    }
}
