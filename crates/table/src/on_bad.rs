//! What becomes of a value that isn't of its column's type.

use crate::key::Place;

/// What becomes of a value that isn't of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBad {
    /// The sort fails.
    Refuse,
    /// Its row goes to this end.
    Put(Place),
}
