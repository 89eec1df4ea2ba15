//! What cuts an input into records, and makes their keys.

use std::io::{self, Read};

/// Where a piece of an input begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the input.
    pub input: u32,
    /// The number of its first record, from 1 on.
    pub record: u64,
    /// The offset of its first byte in the input.
    pub offset: u64,
}

/// How far bytes were cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// So many bytes are so many whole records: at least one.
    Records {
        /// Bytes.
        bytes: usize,
        /// Records.
        records: u64,
    },
    /// The first record isn't whole yet.
    Part {
        /// Most bytes that it may have.
        bytes_max: usize,
    },
}

/// Cuts the bytes of an input into records, and makes their keys.
pub trait Keying: Send + Sync + 'static {
    /// What the cut finds out about a piece, so that nobody has to look for it again.
    type Index: Default + Send + 'static;

    /// Cuts whole records off the front of `bytes`, which begin with a record and aren't empty: at
    /// most `records_max`. `is_last`: nothing comes behind them.
    ///
    /// # Errors
    /// If they are no records, or if one is too long.
    fn cut(
        &self,
        bytes: &[u8],
        is_last: bool,
        records_max: usize,
        at: Piece,
        index: &mut Self::Index,
    ) -> io::Result<Cut>;

    /// Why a record can't be sorted that isn't whole after `begun`, which is more than it may have.
    /// What comes behind that is in `rest`.
    fn too_long(&self, begun: &[u8], rest: &mut dyn Read, at: Piece) -> io::Error;

    /// Appends the keyed records of a piece, in their order.
    ///
    /// # Errors
    /// If a record has no key.
    fn key(
        &self,
        bytes: &[u8],
        index: &Self::Index,
        at: Piece,
        keyed: &mut Vec<u8>,
    ) -> io::Result<()>;
}
