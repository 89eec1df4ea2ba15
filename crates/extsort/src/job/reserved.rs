//! The named shares of a memory budget that are not for data.

use serde::Serialize;

/// A share of a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Its purpose: "decoders", "write buffers".
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The shares of a budget that are reserved before an engine divides the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved(Vec<Share>);

impl Reserved {
    /// Adds a share, or replaces the one of this name. Leaves out a share of 0 bytes.
    #[must_use]
    pub fn with(&self, name: &'static str, bytes: u64) -> Reserved {
        let others = self.0.iter().filter(|share| share.name != name).cloned();
        let added = Some(Share { name, bytes }).filter(|share| share.bytes > 0);
        Reserved(others.chain(added).collect())
    }

    /// Returns the sum of all shares in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|share| share.bytes).sum()
    }

    /// Returns the shares, in the order in which they were added.
    pub fn shares(&self) -> &[Share] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_there_once_and_only_if_it_has_bytes() {
        let reserved = Reserved::default().with("names", 1).with("decoders", 2).with("keys", 0);
        assert_eq!((reserved.bytes(), reserved.shares().len()), (3, 2));
        let reserved = reserved.with("names", 5);
        assert_eq!((reserved.bytes(), reserved.shares().last().unwrap().name), (7, "names"));
    }
}
