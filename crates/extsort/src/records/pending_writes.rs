//! Tracks which units of work are finished: the worker is done, and all writes have completed.
//!
//! Completions come in any order, some before the worker reports the number of writes.

use crate::store::scratch::unit_of;
use std::collections::HashMap;

/// Units that are in work or partly written.
#[derive(Debug)]
pub(crate) struct PendingWrites<T> {
    units: HashMap<usize, PendingUnit<T>>,
}

#[derive(Debug)]
struct PendingUnit<T> {
    /// Number of completed writes.
    written: usize,
    /// Total number of writes, and the product, once the worker is done.
    worked: Option<(usize, T)>,
}

impl<T> Default for PendingWrites<T> {
    fn default() -> Self {
        PendingWrites { units: HashMap::new() }
    }
}

impl<T> PendingWrites<T> {
    /// Called when a worker is done with a unit and has started `writes` writes. Returns the
    /// product if all of them have completed.
    pub(crate) fn worked(&mut self, number: usize, writes: usize, product: T) -> Option<T> {
        self.unit(number).worked = Some((writes, product));
        self.finish(number)
    }

    /// Called when a write with this tag has completed. Returns the unit's number and product if it
    /// was the unit's last write.
    pub(crate) fn written(&mut self, tag: u64) -> Option<(usize, T)> {
        let number = unit_of(tag);
        self.unit(number).written += 1;
        self.finish(number).map(|product| (number, product))
    }

    /// True if all units that were begun are finished.
    pub(crate) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    fn unit(&mut self, number: usize) -> &mut PendingUnit<T> {
        self.units.entry(number).or_insert(PendingUnit { written: 0, worked: None })
    }

    fn finish(&mut self, number: usize) -> Option<T> {
        let unit = self.units.get(&number)?;
        if unit.worked.as_ref().is_none_or(|(writes, _)| *writes != unit.written) {
            return None;
        }
        self.units.remove(&number)?.worked.map(|(_, product)| product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::scratch::write_tag;

    #[test]
    fn a_unit_is_finished_when_all_its_writes_are() {
        let mut pending = PendingWrites::default();
        assert_eq!(pending.written(write_tag(3, 1)), None);
        assert_eq!(pending.worked(3, 2, 'a'), None);
        assert_eq!(pending.worked(4, 0, 'b'), Some('b'));
        assert!(!pending.is_empty());
        assert_eq!(pending.written(write_tag(3, 1)), Some((3, 'a')));
        assert!(pending.is_empty());
    }
}
