//! Choosing between the methods, and finding the least budget that has a plan.

use super::shape::{Facts, Plan, Shape};
use super::sizes::PAGE;
use super::{bins, inputs, runs};
use crate::Error;
use crate::job::least_budget::least_budget;
use crate::records::options::Method;

/// With more runs than this, scattering takes a quarter less processor time than merging
/// (docs/experiments/2026-11-21-large-machine.md).
const MANY_RUNS: usize = 1000;
/// With fewer threads than this, processor time doesn't matter: the threads wait for the drives
/// anyway.
const MANY_THREADS: usize = 8;

/// Plans a sort.
///
/// # Errors
/// [`Error::Memory`] with the least budget that has a plan.
pub fn plan(facts: &Facts) -> Result<Plan, Error> {
    if let Some(plan) = best_plan(facts) {
        return Ok(plan);
    }
    // A slightly larger budget can be too small again, since it is divided into other blocks and
    // areas. The budget in the error is known to have a plan.
    let has_plan = |budget_bytes| best_plan(&Facts { budget_bytes, ..facts.clone() }).is_some();
    let needed_bytes = least_budget(facts.budget_bytes, PAGE, has_plan).unwrap_or(u64::MAX);
    Err(Error::Memory { budget_bytes: facts.budget_bytes, needed_bytes })
}

/// The maximum size in bytes of input number `stream`, whose size isn't known yet, for which
/// everything can be sorted in memory.
pub(crate) fn resident_bytes_max(facts: &Facts, stream: usize) -> u64 {
    let mut tried = facts.clone();
    let mut fits = |records: u64| {
        tried.input_bytes[stream] = records * facts.record_bytes;
        best_plan(&tried).is_some_and(|plan| plan.spilled_chunks == 0 && plan.scratch_bytes == 0)
    };
    let (mut low, mut high) = (0, facts.budget_bytes / facts.record_bytes);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low * facts.record_bytes
}

/// The best plan within the budget, if there is one.
fn best_plan(facts: &Facts) -> Option<Plan> {
    match facts.method {
        Method::Merge => runs::best_plan(facts),
        Method::Scatter => best_bins(facts),
        Method::MergeInputs => inputs::best_plan(facts),
        Method::Auto => {
            let merge = runs::best_plan(facts);
            // Bins are never compressed.
            let is_compressed = facts.codec.is_some_and(|codec| !codec.is_auto())
                && merge.as_ref().is_some_and(|plan| plan.compression_bytes > 0);
            let is_better = |scatter: &Plan, merge: &Plan| match &scatter.shape {
                Shape::Scatter(shape) => {
                    let is_better = bins::is_good_in_place(scatter) || is_slow_to_merge(merge);
                    shape.levels == 1 && is_better
                }
                Shape::Merge(_) | Shape::MergeInputs(_) => false,
            };
            let may_scatter = |merge: &Plan| {
                let may_be_in_place = facts.in_place && merge.spilled_chunks > 0;
                !is_compressed && (may_be_in_place || is_slow_to_merge(merge))
            };
            let scatter = merge
                .as_ref()
                .filter(|merge| may_scatter(merge))
                .and_then(|merge| best_bins(facts).filter(|scatter| is_better(scatter, merge)));
            scatter.or(merge)
        }
    }
}

/// The best plan of bins, in the output's file if possible.
fn best_bins(facts: &Facts) -> Option<Plan> {
    bins::best_plan(facts).or_else(|| {
        // Bins in place take slightly more memory.
        bins::best_plan(&Facts { in_place: false, ..facts.clone() })
    })
}

/// True if a merge has too many runs: it then takes much more processor time than scattering, on a
/// machine whose processor can be the bottleneck.
fn is_slow_to_merge(plan: &Plan) -> bool {
    plan.spilled_chunks > MANY_RUNS && plan.threads >= MANY_THREADS
}
