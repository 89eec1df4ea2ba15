//! What each role of a sort costs, in processor time: of real sorts, phase by phase. The threads of
//! the disk are counted apart, so that those of a simulated one don't count.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::fs;
use std::sync::{Mutex, PoisonError};
use xsort_disk::Disk;
use xsort_extsort::records::{MergeShape, Plan, Shape};
use xsort_extsort::{Observer, SortOptions, SortReport, sort};

/// Processor time so far by role, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    process: f64,
    coordinator: f64,
    disk: f64,
}

impl Clocks {
    /// To be called by the thread that sorts, for that is the one that coordinates.
    fn now() -> Clocks {
        let clock = |id| {
            let time = clock_gettime(id);
            time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
        };
        Clocks {
            process: clock(ClockId::ProcessCPUTime),
            coordinator: clock(ClockId::ThreadCPUTime),
            disk: disk_nanoseconds(),
        }
    }
}

/// What the threads of the disk have used, simulated or not, from the scheduler's books.
fn disk_nanoseconds() -> f64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let used = |task: fs::DirEntry| {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).ok();
        let is_disk = ["xsort-sim", "xsort-uring"].contains(&read("comm")?.trim());
        is_disk.then(|| read("schedstat")?.split(' ').next()?.parse::<f64>().ok())?
    };
    tasks.filter_map(used).sum()
}

/// Notes the clocks at the beginning of every phase.
#[derive(Default)]
struct Stopwatch(Mutex<Vec<(String, Clocks)>>);

impl Observer for Stopwatch {
    fn phase(&self, name: &str, _bytes: u64) {
        let mut phases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        phases.push((name.to_owned(), Clocks::now()));
    }
    fn advance(&self, _bytes: u64) {}
    fn notice(&self, _line: &str) {}
}

/// Processor time of a phase by role, in nanoseconds for each MiB of the input.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseCost {
    pub(crate) name: String,
    /// Without the cuts.
    pub(crate) workers: f64,
    /// Without the forecast and the handing out of segments.
    pub(crate) coordinator: f64,
    pub(crate) disk: f64,
}

/// What a sort cost.
pub(crate) struct Cost {
    pub(crate) report: SortReport,
    pub(crate) phases: Vec<PhaseCost>,
    stages: serde_json::Value,
}

impl Cost {
    /// Of the phase `name`, if there was one.
    pub(crate) fn phase(&self, name: &str) -> Option<&PhaseCost> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Nanoseconds of a stage by the report's account, for each MiB of the input.
    pub(crate) fn stage(&self, name: &str) -> f64 {
        let seconds = self.stages[name].as_f64().expect("the report has an account of this name");
        seconds * 1e9 / mebibytes(self.report.plan.bytes as f64)
    }

    /// Nanoseconds of the coordinator for each transfer of the phase `name`.
    pub(crate) fn by_transfer(&self, name: &str) -> Option<f64> {
        Some(self.phase(name)?.coordinator / transfers(&self.report.plan, name))
    }

    /// Nanoseconds of sampling, for each bin.
    pub(crate) fn sample(&self) -> Option<f64> {
        let Shape::Scatter(shape) = &self.report.plan.shape else { return None };
        let mebibytes = mebibytes(self.report.plan.bytes as f64);
        Some(self.phase("sample")?.coordinator * mebibytes / shape.bins as f64)
    }

    /// Nanoseconds of one search of a cut in one run.
    pub(crate) fn search(&self) -> Option<f64> {
        self.by_search("cut_busy")
    }

    /// Nanoseconds of handing out one run's share of a segment.
    pub(crate) fn share(&self) -> Option<f64> {
        self.by_search("hand_out_busy")
    }

    fn by_search(&self, stage: &str) -> Option<f64> {
        let searches = Cuts::of(&self.report.plan)?.searches();
        Some(self.stage(stage) * mebibytes(self.report.plan.bytes as f64) / searches)
    }

    /// Nanoseconds of the forecast for one block and each halving of their number.
    pub(crate) fn forecast(&self) -> Option<f64> {
        let Cuts { blocks, .. } = Cuts::of(&self.report.plan)?;
        let mebibytes = mebibytes(self.report.plan.bytes as f64);
        Some(self.stage("forecast_busy") * mebibytes / (blocks * blocks.log2()))
    }
}

pub(crate) fn mebibytes(bytes: f64) -> f64 {
    bytes / (1u64 << 20) as f64
}

/// Transfers of a phase for each MiB of the input, if all but pieces of bins are of 1 MiB.
pub(crate) fn transfers(plan: &Plan, phase: &str) -> f64 {
    match &plan.shape {
        Shape::Scatter(shape) if phase == "gather" => {
            // A piece of each bin a chunk, and one more for each block that ends inside one.
            let pieces = shape.bins as f64 + mebibytes(plan.chunk_bytes as f64);
            1.0 + plan.spilled_chunks as f64 * pieces / mebibytes(plan.bytes as f64)
        }
        _ => 1.0 + plan.spilled_chunks as f64 / plan.chunks.max(1) as f64,
    }
}

/// Sorts and counts. The output is removed.
pub(crate) fn measure(disk: &dyn Disk, options: &SortOptions) -> Result<Cost, Box<dyn Error>> {
    let watch = Stopwatch::default();
    let report = sort(options, disk, &watch)?;
    let mut begun = watch.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    begun.push((String::new(), Clocks::now()));
    let output = disk.open_input(&options.output)?;
    disk.remove_input(output)?;
    disk.close(output);
    let stages = serde_json::to_value(&report.stages)?;
    let mut cost = Cost { report, phases: Vec::new(), stages };
    let unit = mebibytes(cost.report.plan.bytes as f64);
    for pair in begun.windows(2) {
        let [(name, before), (_, after)] = pair else { unreachable!("windows of two") };
        let all = (after.process - before.process) / unit;
        let coordinator = (after.coordinator - before.coordinator) / unit;
        let disk = (after.disk - before.disk) / unit;
        let apart = |stages: &[&str]| {
            let is_merge = name == "merge";
            stages.iter().filter(|_| is_merge).map(|stage| cost.stage(stage)).sum::<f64>()
        };
        cost.phases.push(PhaseCost {
            name: name.clone(),
            workers: all - coordinator - disk - apart(&["cut_busy"]),
            coordinator: coordinator - apart(&["forecast_busy", "hand_out_busy"]),
            disk,
        });
    }
    Ok(cost)
}

/// How a merge is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuts {
    pub(crate) runs: f64,
    pub(crate) blocks: f64,
    pub(crate) segment_blocks: f64,
}

impl Cuts {
    /// Of a plan, if it has a merge.
    pub(crate) fn of(plan: &Plan) -> Option<Cuts> {
        let Shape::Merge(MergeShape { segment_blocks, read_blocks, .. }) = plan.shape else {
            return None;
        };
        // As the merge does: within what is left beside a block for each run.
        let room = read_blocks.saturating_sub(plan.spilled_chunks) / (plan.threads + 3);
        let segment_blocks =
            if plan.spilled_chunks == 0 { segment_blocks } else { segment_blocks.min(room).max(1) };
        let blocks =
            (plan.bytes as f64 / plan.block_bytes as f64).ceil() + plan.chunks as f64 / 2.0;
        Some(Cuts { runs: plan.chunks as f64, blocks, segment_blocks: segment_blocks as f64 })
    }

    /// Every cut looks for its place in every run.
    pub(crate) fn searches(&self) -> f64 {
        (self.blocks / self.segment_blocks).ceil() * self.runs
    }
}
