//! The order in which a merge needs the blocks of its runs, known before it starts.
//!
//! Knuth's forecasting (vol. 3, 5.4.9) looks at the last key of each block in memory to tell which
//! run will be dry first; with the smallest key of *every* block at hand the whole sequence of
//! reads is known, and any number of drives can be kept busy ahead of the merge.

use super::run::Run;

/// A block of a run in a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) run: u32,
    pub(crate) block: u32,
}

/// All blocks of `runs` by (smallest key, run, block).
pub(crate) fn forecast(runs: &[Run]) -> Vec<Entry> {
    let blocks = runs.iter().map(|run| run.index.blocks().len()).sum();
    let mut entries = Vec::with_capacity(blocks);
    for (run, blocks) in runs.iter().enumerate() {
        let blocks = 0..blocks.index.blocks().len() as u32;
        entries.extend(blocks.map(|block| Entry { run: run as u32, block }));
    }
    entries.sort_unstable_by(|a, b| {
        let key = |entry: &Entry| runs[entry.run as usize].index.key(entry.block as usize);
        key(a).cmp(key(b)).then(a.run.cmp(&b.run)).then(a.block.cmp(&b.block))
    });
    entries
}
