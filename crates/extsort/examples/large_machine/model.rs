//! What bounds a sort on a machine that isn't here: the plan says what is moved and cut, the
//! measured costs what that takes of whom, and the slowest of those who work at once sets the pace
//! of a phase.
//!
//! Not in the model: memory bandwidth, caches shared by many cores, several sockets, and locks with
//! many threads before them.

use crate::costs::{Cost, Cuts, mebibytes, transfers};
use std::fmt;
use xsort_extsort::records::{Plan, Shape};

/// Processor nanoseconds of the lanes for a MiB moved, at 1 MiB a transfer: 0.009 s a GB
/// (docs/experiments/2026-11-21-io-engine.md).
const LANES: f64 = 9_400.0;

/// Costs of the roles, in nanoseconds of processor time.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// By the name of the phase: of workers for a MiB, of the coordinator for a transfer.
    phases: Vec<(&'static str, f64, f64)>,
    /// Of sampling, for a bin.
    sample: f64,
    /// Of merging a MiB in one run, and for each doubling of their number.
    merge: (f64, f64),
    /// Of a cut in one run, and of handing out one run's share of a segment.
    search: f64,
    share: f64,
    /// For a block and each halving of their number.
    forecast: f64,
    /// Of the disk's own threads for a MiB moved.
    lanes: f64,
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Least squares: where the line through points begins, and how steep it is.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean = |part: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope =
        points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread.max(1e-9);
    (y - slope * x, slope)
}

impl Costs {
    /// Workers, searches, samples and the forecast from `sorts` on the simulated disk; the
    /// coordinator's transfers and the lanes from those `on_drive`, if there are any.
    pub(crate) fn of(sorts: &[Cost], on_drive: &[Cost]) -> Costs {
        let phase = |name| {
            let workers = sorts.iter().filter_map(|cost| Some(cost.phase(name)?.workers));
            let coordinator = if on_drive.is_empty() { sorts } else { on_drive };
            let coordinator = coordinator.iter().filter_map(|cost| cost.by_transfer(name));
            (name, median(workers), median(coordinator))
        };
        let merges = sorts.iter().filter_map(|cost| {
            Some((Cuts::of(&cost.report.plan)?.runs.log2(), cost.phase("merge")?.workers))
        });
        let lanes = on_drive.iter().map(|cost| {
            let moved = cost.report.moved.read_bytes + cost.report.moved.written_bytes;
            let disk: f64 = cost.phases.iter().map(|phase| phase.disk).sum();
            disk * cost.report.bytes as f64 / moved as f64
        });
        Costs {
            phases: ["form runs", "merge", "scatter", "gather"].map(phase).into(),
            sample: median(sorts.iter().filter_map(Cost::sample)),
            merge: line(&merges.collect::<Vec<_>>()),
            search: median(sorts.iter().filter_map(Cost::search)),
            share: median(sorts.iter().filter_map(Cost::share)),
            forecast: median(sorts.iter().filter_map(Cost::forecast)),
            lanes: if on_drive.is_empty() { LANES } else { median(lanes) },
        }
    }

    fn phase(&self, name: &str) -> (f64, f64) {
        let found = self.phases.iter().find(|phase| phase.0 == name);
        found
            .map(|&(_, workers, transfer)| (workers, transfer))
            .expect("the phases of both methods are there")
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| phase | workers, µs/MiB | coordinator, µs a transfer |\n|---|---:|---:|")?;
        for (name, workers, transfer) in &self.phases {
            writeln!(f, "| {name} | {:.0} | {:.1} |", workers / 1e3, transfer / 1e3)?;
        }
        let (base, slope) = self.merge;
        writeln!(f, "\nmerge by runs: {:.0} + {:.0} log2(runs) µs/MiB", base / 1e3, slope / 1e3)?;
        writeln!(
            f,
            "a search of a cut {:.0} ns, handing out a share {:.0} ns",
            self.search, self.share
        )?;
        writeln!(f, "the forecast {:.1} n log2(n) ns", self.forecast)?;
        writeln!(f, "the sample {:.1} µs a bin", self.sample / 1e3)?;
        write!(f, "lanes {:.1} µs for a MiB moved", self.lanes / 1e3)
    }
}

/// A machine, and how much memory a sort may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) drives: usize,
    /// Bytes per second of one drive, read and written together.
    pub(crate) drive_rate: f64,
    pub(crate) cores: usize,
    pub(crate) budget_bytes: u64,
}

/// What a phase takes of whom, in seconds for all of the input.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) name: &'static str,
    /// What no part of the phase can overlap: the forecast, the sample.
    pub(crate) before: f64,
    /// Those who work at once, with what each has to do.
    pub(crate) stages: [(&'static str, f64); 4],
    /// The last chunks, which one thread each sorts while others have nothing to do.
    pub(crate) after: f64,
}

impl Bounds {
    pub(crate) fn bound(&self) -> (&'static str, f64) {
        self.stages.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are stages")
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.before + self.bound().1 + self.after
    }
}

/// The two phases of a plan on a machine.
pub(crate) fn bounds(costs: &Costs, machine: &Machine, plan: &Plan) -> [Bounds; 2] {
    let spilled = (plan.read_bytes - plan.bytes) as f64;
    let unit = mebibytes(plan.bytes as f64);
    let chunk = mebibytes(plan.chunk_bytes as f64);
    let phase = |name, workers: f64, shares: f64, before: f64, has_tail| {
        let moved = plan.bytes as f64 + spilled;
        let coordinator = costs.phase(name).1 * transfers(plan, name) * unit + costs.share * shares;
        let lanes = costs.lanes * mebibytes(moved);
        let all = workers * unit + costs.search * shares + coordinator + lanes;
        let tail =
            if has_tail { chunk.min(unit / plan.threads as f64) * workers / 1e9 } else { 0.0 };
        Bounds {
            name,
            before: before / 1e9,
            stages: [
                ("drives", moved / (machine.drives as f64 * machine.drive_rate)),
                ("cores", all / 1e9 / machine.cores as f64),
                ("coordinator", coordinator / 1e9),
                // One lane for four cores (`DiskOptions`), two at least.
                ("lanes", lanes / 1e9 / (machine.cores / 4).clamp(2, 8) as f64),
            ],
            after: tail,
        }
    };
    match (&plan.shape, Cuts::of(plan)) {
        (Shape::Merge(_), Some(cuts)) => {
            let merge = costs.merge.0 + costs.merge.1 * cuts.runs.log2();
            let forecast = costs.forecast * cuts.blocks * cuts.blocks.log2();
            [
                phase("form runs", costs.phase("form runs").0, 0.0, 0.0, true),
                phase("merge", merge, cuts.searches(), forecast, false),
            ]
        }
        (shape, _) => {
            // One thread samples, and as many keys for each bin.
            let bins = if let Shape::Scatter(shape) = shape { shape.bins } else { 0 };
            [
                phase("scatter", costs.phase("scatter").0, 0.0, costs.sample * bins as f64, true),
                phase("gather", costs.phase("gather").0, 0.0, 0.0, true),
            ]
        }
    }
}
