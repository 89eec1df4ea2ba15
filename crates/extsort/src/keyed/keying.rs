//! The trait that cuts an input into records and builds their keys.

use std::io::{self, Read};

/// The position of a piece in an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the input.
    pub input: u32,
    /// The number of its first record, from 1.
    pub record: u64,
    /// The offset of its first byte in the input, in bytes.
    pub offset: u64,
}

/// The result of cutting records off some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The bytes begin with whole records, at least one.
    Records {
        /// Length of the whole records.
        bytes: usize,
        /// Number of the whole records.
        records: u64,
    },
    /// The first record isn't complete yet.
    Part {
        /// Most bytes that the record may have.
        bytes_max: usize,
    },
}

/// Cuts the bytes of an input into records, and builds their keys.
pub trait Keying: Send + Sync + 'static {
    /// What the cut learns about a piece and the key building reuses.
    type Index: Default + Send + 'static;

    /// Cuts at most `records_max` whole records off the front of `bytes`, which begin with a record
    /// and aren't empty. `is_last` is true if no bytes follow.
    ///
    /// # Errors
    ///
    /// If the bytes are no records, or if a record is too long.
    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        at: Piece,
        index: &mut Self::Index,
    ) -> io::Result<Cut>;

    /// Returns the error for a record that isn't complete after `begun`, which already exceeds the
    /// limit. `rest` reads what follows `begun`.
    fn too_long(&self, begun: &[u8], rest: &mut dyn Read, at: Piece) -> io::Error;

    /// Appends the keyed records of a piece, in their order.
    ///
    /// # Errors
    ///
    /// If a record has no key.
    fn key(
        &self,
        bytes: &[u8],
        index: &Self::Index,
        at: Piece,
        keyed: &mut Vec<u8>,
    ) -> io::Result<()>;
}
