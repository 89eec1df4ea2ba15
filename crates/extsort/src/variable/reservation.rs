//! Memory that a caller uses beside a sort, as a function of the budget: a larger budget that is
//! named as enough has room for what the caller uses of that one.

use std::fmt;
use std::sync::Arc;

/// Bytes of a budget that a caller of the engine uses itself: for names, decoders, keys.
#[derive(Clone, Default)]
pub struct Reservation {
    /// The same of any budget.
    bytes: u64,
    /// Each says how much of a budget of so many bytes.
    shares: Vec<Arc<dyn Fn(u64) -> u64 + Send + Sync>>,
}

impl Reservation {
    /// What `share` returns for a budget, both in bytes.
    pub fn share(share: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Reservation {
        Reservation { bytes: 0, shares: vec![Arc::new(share)] }
    }

    /// This one and another one together.
    #[must_use]
    pub fn and(mut self, other: impl Into<Reservation>) -> Reservation {
        let Reservation { bytes, shares } = other.into();
        self.bytes += bytes;
        self.shares.extend(shares);
        self
    }

    /// Bytes of a budget of so many bytes.
    #[must_use]
    pub fn of(&self, budget_bytes: u64) -> u64 {
        self.bytes + self.shares.iter().map(|share| share(budget_bytes)).sum::<u64>()
    }
}

impl From<u64> for Reservation {
    /// So many bytes of any budget.
    fn from(bytes: u64) -> Reservation {
        Reservation { bytes, shares: Vec::new() }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("bytes", &self.bytes)
            .field("shares", &self.shares.len())
            .finish()
    }
}
