//! The treatment of values that aren't of their column's type.

use crate::key::Place;

/// The treatment of a value that isn't of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The sort fails.
    Refuse,
    /// The row is sorted to this end.
    Put(Place),
}
