//! How a running job tells of itself, and how it is told to stop: the only way out of this room
//! besides results.

use crate::Gauges;

/// Someone who watches a job. Called from any thread, about once a block; must be cheap and never
/// block.
pub trait Observer: Sync {
    /// A new phase begins, in which `bytes` bytes will be dealt with ("form runs", "merge",
    /// "generate", "verify").
    fn phase(&self, name: &str, bytes: u64);

    /// So many more bytes of the phase are done.
    fn advance(&self, bytes: u64);

    /// A line that the user should see: a fallback that was taken, a risk.
    fn notice(&self, line: &str);

    /// Whether the job should give up and clean up. Looked at between blocks.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// The phases that are foreseen, in their order, and how many bytes each will deal with. Others
    /// may turn up between them.
    fn expect(&self, _phases: &[(&str, u64)]) {}

    /// What can be read of the job from now on, by any thread at any time. A later one replaces it.
    fn show(&self, _gauges: Gauges) {}
}

/// Watches nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn notice(&self, _line: &str) {}
}
