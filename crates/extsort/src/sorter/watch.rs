//! Adds a way to stop a sort to the caller's observer.

use super::outcome::Outcome;
use crate::{Gauges, Observer, Spans};
use std::sync::Arc;

/// Forwards to the caller's observer, and also stops when the result isn't needed.
pub(super) struct Watch {
    pub(super) observer: Arc<dyn Observer + Send + Sync>,
    pub(super) outcome: Arc<Outcome>,
}

impl Observer for Watch {
    fn phase(&self, name: &str, bytes: u64) {
        self.observer.phase(name, bytes);
    }

    fn advance(&self, bytes: u64) {
        self.observer.advance(bytes);
    }

    fn notice(&self, line: &str) {
        self.observer.notice(line);
    }

    fn is_cancelled(&self) -> bool {
        self.outcome.is_stopped() || self.observer.is_cancelled()
    }

    fn expect(&self, phases: &[(&str, u64)]) {
        self.observer.expect(phases);
    }

    fn show(&self, gauges: Gauges) {
        self.observer.show(gauges);
    }

    fn spans(&self) -> Option<Arc<Spans>> {
        self.observer.spans()
    }
}
