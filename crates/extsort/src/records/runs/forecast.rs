//! The order in which a merge needs the blocks of its runs, known before it starts.
//!
//! Knuth's forecasting (vol. 3, 5.4.9) uses the last key of each block in memory to predict which
//! run will be empty first. With the smallest key of *every* block in memory, the whole sequence of
//! reads is known, and any number of drives can be kept busy ahead of the merge.

use super::run::Run;

/// A block of a run in a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunBlock {
    pub(crate) run: u32,
    pub(crate) block: u32,
}

/// All blocks of `runs`, sorted by (smallest key, run, block).
pub(crate) fn forecast(runs: &[Run]) -> Vec<RunBlock> {
    let count = runs.iter().map(|run| run.index.blocks().len()).sum();
    let mut forecast = Vec::with_capacity(count);
    for (number, run) in runs.iter().enumerate() {
        let blocks = 0..run.index.blocks().len() as u32;
        forecast.extend(blocks.map(|block| RunBlock { run: number as u32, block }));
    }
    forecast.sort_unstable_by(|a, b| {
        let key = |block: &RunBlock| runs[block.run as usize].index.key(block.block as usize);
        key(a).cmp(key(b)).then(a.run.cmp(&b.run)).then(a.block.cmp(&b.block))
    });
    forecast
}
