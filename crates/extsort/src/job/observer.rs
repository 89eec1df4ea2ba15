//! Progress reports of a running job, and cancelling it.

use crate::{Gauges, Spans};
use std::sync::Arc;

/// Watches a job. Methods are called from any thread, about once per block: they must be cheap and
/// must never block.
pub trait Observer: Sync {
    /// A new phase begins, which will process `bytes` bytes ("form runs", "merge", "generate",
    /// "verify").
    fn phase(&self, name: &str, bytes: u64);

    /// The phase has processed `bytes` more bytes.
    fn advance(&self, bytes: u64);

    /// A line for the user: a fallback or a risk.
    fn notice(&self, line: &str);

    /// True if the job should stop and clean up. Checked between blocks.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// The planned phases in order, each with the bytes that it will process. The job may run
    /// others in between.
    fn expect(&self, _phases: &[(&str, u64)]) {}

    /// The job's figures, which any thread may read at any time from now on. A later call replaces
    /// them.
    fn show(&self, _gauges: Gauges) {}

    /// Where the job records what each thread does when; `None` if nothing asks for that.
    fn spans(&self) -> Option<Arc<Spans>> {
        None
    }
}

/// Watches nothing and never cancels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn phase(&self, _name: &str, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn notice(&self, _line: &str) {}
}
