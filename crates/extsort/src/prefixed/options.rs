//! What a sort of prefixed records is asked for.

use xsort_records::{KeyField, Prefix};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct PrefixedOptions {
    /// What records begin with.
    pub prefix: Prefix,
    /// The fields of the key, the most significant first, at offsets behind the prefix. Without
    /// any, all bytes behind it are the key.
    ///
    /// Of a field of bytes a record may have a part or nothing, which compares as a shorter text
    /// does. Every record must have the fields that are numbers.
    pub fields: Vec<KeyField>,
}
