//! The shares of a memory budget that callers of the engine use, each with a name and as a function
//! of the budget. So a larger budget that an error names also has room for them.

use crate::units::Bytes;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// A share of a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Its purpose: "decoders", "write buffers".
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A line of a table, with its indentation.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {:<28} {}", self.name, Bytes(self.bytes))
    }
}

/// Shares that are reserved before an engine divides the rest of a budget.
#[derive(Clone, Default)]
pub struct Reservation(Vec<Reserved>);

#[derive(Clone)]
struct Reserved {
    name: &'static str,
    /// Bytes of a budget in bytes.
    bytes_of: Arc<dyn Fn(u64) -> u64 + Send + Sync>,
}

impl Reservation {
    /// Adds `bytes` bytes of any budget.
    #[must_use]
    pub fn with(self, name: &'static str, bytes: u64) -> Reservation {
        if bytes > 0 { self.with_share(name, move |_| bytes) } else { self }
    }

    /// Adds a share whose size is a function of the budget, both in bytes.
    #[must_use]
    pub fn with_share(
        mut self,
        name: &'static str,
        bytes_of: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Reservation {
        self.0.push(Reserved { name, bytes_of: Arc::new(bytes_of) });
        self
    }

    /// Adds the shares of another reservation.
    #[must_use]
    pub fn and(mut self, other: Reservation) -> Reservation {
        self.0.extend(other.0);
        self
    }

    /// Removes the shares of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Reservation {
        self.0.retain(|share| share.name != name);
        self
    }

    /// The sum of all shares of a budget, both in bytes.
    #[must_use]
    pub fn of(&self, budget_bytes: u64) -> u64 {
        self.0.iter().map(|share| (share.bytes_of)(budget_bytes)).sum()
    }

    /// The shares of a budget in bytes, in the order in which they were added, without empty ones.
    #[must_use]
    pub fn shares(&self, budget_bytes: u64) -> Vec<Share> {
        let share = |reserved: &Reserved| Share {
            name: reserved.name,
            bytes: (reserved.bytes_of)(budget_bytes),
        };
        self.0.iter().map(share).filter(|share| share.bytes > 0).collect()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|share| share.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_added_up_for_any_budget() {
        let reservation = Reservation::default()
            .with("names", 5)
            .with("none", 0)
            .and(Reservation::default().with_share("decoders", |budget| budget / 8));
        assert_eq!((reservation.of(80), reservation.of(8)), (15, 6));
        let names: Vec<_> = reservation.shares(80).iter().map(|share| share.name).collect();
        assert_eq!(names, ["names", "decoders"]);
        assert_eq!(reservation.shares(1).len(), 1);
        assert_eq!(reservation.without("names").of(80), 10);
    }
}
