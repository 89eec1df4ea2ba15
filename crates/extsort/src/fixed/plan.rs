//! The planner: sizes and a budget in, the whole shape of a sort out, or the least budget that
//! would do.
//!
//! Pure: it touches no disk and no clock, so that `--dry-run` prints exactly what a run does and
//! tests can ask about machines that aren't here. All of a sort's memory that grows with the data
//! is laid out here, for every phase, and adds up to the budget. How the budget is divided is each
//! method's own matter: `runs/plan.rs`, `bins/plan.rs`.

use super::options::Method;
use super::{bins, runs};
use crate::Error;
use serde::{Deserialize, Serialize};
use xsort_disk::ALIGNMENT;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const PAGE: u64 = ALIGNMENT as u64;

/// Transfers of 1 MiB reach a drive's rate; larger ones measured no better.
pub(crate) const BLOCK_BYTES_MAX: u64 = MIB;
/// Chunks beyond this size don't sort faster; they only make the pipeline coarser.
pub(crate) const CHUNK_BYTES_EASY: u64 = 128 * MIB;
/// Least chunk that is worth a thread of its own.
pub(crate) const CHUNK_BYTES_MIN: u64 = 256 * KIB;
/// Bytes in flight that keep a drive busy, for read-ahead and for writing behind.
pub(crate) const FLIGHT_BYTES: u64 = 8 * MIB;

/// Runs of a merge beyond which scattering takes a quarter less of the processor, and threads from
/// which on that can matter: fewer wait for the drives anyway
/// (docs/experiments/2026-11-21-large-machine.md).
const MANY_RUNS: usize = 1000;
const MANY_THREADS: usize = 8;

/// What the planner knows.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Size of each input in bytes; multiples of `record_bytes`.
    pub input_bytes: Vec<u64>,
    /// Size of a record in bytes.
    pub record_bytes: u64,
    /// Size of a normalised key in bytes.
    pub key_bytes: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Threads asked for.
    pub threads: usize,
    /// The method asked for.
    pub method: Method,
    /// Whether chunks may stay in memory. If not, all go to scratch, so that nothing is only in
    /// memory once the inputs are read.
    pub may_keep: bool,
}

/// The shape of a sort.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How it is done, and what only this method has.
    #[serde(flatten)]
    pub shape: Shape,
    /// Records to sort.
    pub records: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Size of one in bytes.
    pub record_bytes: u64,
    /// Size of a normalised key in bytes.
    pub key_bytes: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Threads used: fewer than asked for if the budget is too small to feed them.
    pub threads: usize,
    /// Bytes mapped for the pool; with `index_bytes` at most the budget.
    pub pool_bytes: u64,
    /// Bytes set aside for the index of what is on scratch.
    pub index_bytes: u64,
    /// Most record bytes in one chunk of the input.
    pub chunk_bytes: u64,
    /// Most extents in one chunk.
    pub extents_max: usize,
    /// Chunks of the input.
    pub chunks: usize,
    /// Chunks, from the first on, that go to scratch; the others stay in memory.
    pub spilled_chunks: usize,
    /// Chunks that are in memory at once while the input is read.
    pub areas: usize,
    /// Bytes of one area: the chunk, slack for alignment, and its order.
    pub area_bytes: u64,
    /// Bytes of spare room for sorting that each thread has.
    pub spare_bytes: u64,
    /// Size of a block on scratch in bytes.
    pub block_bytes: u64,
    /// Blocks for gathering and writing what is spilled.
    pub spill_blocks: usize,
    /// Size of a block of the output in bytes.
    pub output_block_bytes: u64,
    /// Blocks for writing the output.
    pub output_blocks: usize,
    /// Pages for the seams of the output.
    pub seam_pages: usize,
    /// Most bytes of scratch in use at any time.
    pub scratch_bytes: u64,
    /// Bytes read from inputs and scratch in all.
    pub read_bytes: u64,
    /// Bytes written to scratch and output in all.
    pub write_bytes: u64,
}

/// What only one of the methods has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum Shape {
    /// Runs, each of them a sorted chunk, and a merge of them.
    Merge(runs::MergeShape),
    /// Bins, each of them a range of keys, and each sorted by itself.
    Scatter(bins::ScatterShape),
}

impl Plan {
    /// The phases that a sort by this plan goes through, as far as is known before, and how many
    /// bytes each deals with.
    pub(crate) fn phases(&self) -> Vec<(&'static str, u64)> {
        let (first, again, times, last) = match &self.shape {
            Shape::Merge(shape) => ("form runs", "reduce", shape.merge_passes, "merge"),
            Shape::Scatter(shape) => ("scatter", "split", shape.levels, "gather"),
        };
        let between = self.bytes * times.saturating_sub(1) as u64;
        let phases = [(first, self.bytes), (again, between), (last, self.bytes)];
        phases.into_iter().filter(|(_, bytes)| *bytes > 0).collect()
    }

    /// Chunks that stay in memory.
    pub fn resident_chunks(&self) -> usize {
        self.chunks - self.spilled_chunks
    }

    /// Whether anything can go to scratch: if not by the plan, then because a bin comes out too
    /// large for its area.
    pub(crate) fn may_spill(&self) -> bool {
        self.spilled_chunks > 0 || matches!(self.shape, Shape::Scatter(_)) && self.chunks > 1
    }
}

/// Plans a sort, or says how large the budget must be.
pub fn plan(facts: &Facts) -> Result<Plan, Error> {
    if let Some(plan) = within(facts) {
        return Ok(plan);
    }
    let fits = |budget_bytes| within(&Facts { budget_bytes, ..facts.clone() }).is_some();
    let mut high = facts.budget_bytes.max(64 * KIB);
    while !fits(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while high - low > PAGE {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    // A little more can be too little again, for blocks and areas are divided otherwise: what is
    // named has been tried.
    let mut needed_bytes = high.next_multiple_of(PAGE);
    while !fits(needed_bytes) {
        needed_bytes += PAGE;
    }
    Err(Error::Memory { budget_bytes: facts.budget_bytes, needed_bytes })
}

/// The most bytes that input number `stream`, whose size isn't known yet, can have for all to be
/// sorted in memory.
pub(crate) fn resident_bytes_max(facts: &Facts, stream: usize) -> u64 {
    let mut asked = facts.clone();
    let mut fits = |records: u64| {
        asked.input_bytes[stream] = records * facts.record_bytes;
        within(&asked).is_some_and(|plan| plan.spilled_chunks == 0 && plan.scratch_bytes == 0)
    };
    let (mut low, mut high) = (0, facts.budget_bytes / facts.record_bytes);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low * facts.record_bytes
}

/// The best plan within the budget, if there is any.
fn within(facts: &Facts) -> Option<Plan> {
    match facts.method {
        Method::Merge => runs::within(facts),
        Method::Scatter => bins::within(facts),
        Method::Auto => {
            let merge = runs::within(facts);
            let is_dear = merge.as_ref().is_some_and(is_dear_to_merge);
            let scatter = if is_dear { bins::within(facts) } else { None };
            scatter
                .filter(|plan| matches!(&plan.shape, Shape::Scatter(shape) if shape.levels == 1))
                .or(merge)
        }
    }
}

/// Whether a merge has so many runs that it takes much more of the processor than scattering, on a
/// machine where the processor can be the bound.
fn is_dear_to_merge(plan: &Plan) -> bool {
    plan.spilled_chunks > MANY_RUNS && plan.threads >= MANY_THREADS
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = crate::job::units::Bytes;
        let (name, chunks, form) = match self.shape {
            Shape::Merge(_) => ("runs and merge", "runs", "form"),
            Shape::Scatter(_) => ("scatter and gather", "chunks", "scatter"),
        };
        let line = |f: &mut std::fmt::Formatter<'_>, name: &str, value: &dyn std::fmt::Display| {
            writeln!(f, "{name:<16} {value}")
        };
        let many = |count: usize, bytes: u64| format!("{count} x {}", size(bytes));
        line(f, "method", &format_args!("{name} ({} threads)", self.threads))?;
        let records = format!(
            "{} records of {} bytes, {}",
            self.records,
            self.record_bytes,
            size(self.bytes)
        );
        line(f, "input", &records)?;
        line(f, chunks, &format_args!("{} of {} at most", self.chunks, size(self.chunk_bytes)))?;
        line(f, "  to scratch", &self.spilled_chunks)?;
        line(f, "  stay in memory", &self.resident_chunks())?;
        match &self.shape {
            Shape::Merge(shape) => {
                let passes =
                    format!("{} (fan-in at most {})", shape.merge_passes, shape.fan_in_max);
                line(f, "merge passes", &passes)?;
            }
            Shape::Scatter(shape) => {
                line(f, "bins", &format_args!("{}, by {} levels", shape.bins, shape.levels))?;
            }
        }
        let memory =
            format!("{} of {}", size(self.pool_bytes + self.index_bytes), size(self.budget_bytes));
        line(f, "memory", &memory)?;
        line(f, "  index", &size(self.index_bytes))?;
        line(f, &format!("  {form}: areas"), &many(self.areas, self.area_bytes))?;
        line(f, &format!("  {form}: spare"), &many(self.threads, self.spare_bytes))?;
        let spill_blocks = if self.spilled_chunks > 0 { self.spill_blocks } else { 0 };
        line(f, &format!("  {form}: spill"), &many(spill_blocks, self.block_bytes))?;
        match &self.shape {
            Shape::Merge(shape) => {
                line(f, "  merge: runs", &many(self.resident_chunks(), self.area_bytes))?;
                line(f, "  merge: read", &many(shape.read_blocks, self.block_bytes))?;
            }
            Shape::Scatter(shape) => {
                line(f, "  gather: stay", &many(self.resident_chunks(), self.area_bytes))?;
                line(f, "  gather: areas", &many(shape.gather_areas, self.area_bytes))?;
            }
        }
        line(f, "  output", &many(self.output_blocks, self.output_block_bytes))?;
        line(f, "scratch", &size(self.scratch_bytes))?;
        line(f, "bytes read", &size(self.read_bytes))?;
        write!(f, "{:<16} {}", "bytes written", size(self.write_bytes))
    }
}
