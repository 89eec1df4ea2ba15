//! Settings of a sort of prefixed records.

use xsort_records::{KeyField, Prefix};

/// Settings of a sort of prefixed records.
#[derive(Clone, Debug)]
pub struct PrefixedOptions {
    /// The prefix that records begin with.
    pub prefix: Prefix,
    /// The fields of the key, the most significant first. Offsets count from the end of the prefix.
    /// Without fields, all bytes after the prefix are the key.
    ///
    /// A record may have only a part of a field of bytes, or nothing of it; it then compares as a
    /// shorter text. Every record must have all fields that are numbers.
    pub fields: Vec<KeyField>,
    /// True if each input is in order already: the inputs are merged. One that isn't in order is an
    /// error.
    pub merges: bool,
}
