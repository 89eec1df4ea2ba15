//! What is loaded into one area: bins that fit, or a part of one that doesn't.

use super::bin::Bin;
use super::piece::Piece;
use super::slices::{BinSlice, BinnedChunk};
use crate::Error;
use crate::fixed::chunks::Extent;
use crate::fixed::job::SortJob;
use crate::store::seal::check_seal;
use xsort_kernels::gather;

/// Records that are loaded together.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The first bin, or the only one.
    pub(crate) bin: usize,
    /// How many bins.
    pub(crate) bins: usize,
    pub(crate) records: u64,
    /// How many of them come before each bin but the first.
    pub(crate) seams: Vec<u64>,
    /// Whether all records have the same key.
    pub(crate) is_one_key: bool,
    pub(crate) pieces: Vec<Piece>,
    /// Records that are in memory already. They come after the pieces of the same bin in the order
    /// of the input.
    pub(crate) slices: Vec<BinSlice>,
}

impl Load {
    /// Adds the next bin. It has other keys, so its pieces may come before the slices of the bin
    /// before.
    pub(crate) fn join(&mut self, bin: Bin) {
        self.bins += 1;
        self.seams.push(self.records);
        self.records += bin.records;
        self.is_one_key = false;
        self.pieces.extend(bin.pieces);
        self.slices.extend(bin.slices);
    }

    /// What is to be read for it: whole pages, since the seals are of these.
    pub(crate) fn pages(&self, record_bytes: usize) -> Vec<Extent> {
        let extent = |piece: &Piece| Extent {
            file: usize::from(piece.address.drive),
            offset: piece.address.offset,
            bytes: piece.paged_bytes(record_bytes),
        };
        self.pieces.iter().map(extent).collect()
    }
}

/// Loads, and the chunks in memory that some of their records are in.
#[derive(Clone, Copy)]
pub(crate) struct Loads<'a> {
    pub(crate) loads: &'a [Load],
    pub(crate) residents: &'a [BinnedChunk],
}

impl Loads<'_> {
    /// Whether load `number` may have the key of the one before: they are of one bin.
    pub(crate) fn goes_on(&self, number: usize) -> bool {
        let load = &self.loads[number];
        let before = number.checked_sub(1).map(|before| &self.loads[before]);
        before.is_some_and(|before| load.is_one_key && before.is_one_key && load.bin == before.bin)
    }

    /// Checks the pieces of load `number`, which were read to `pages`, moves their records together
    /// and those of its slices behind them. Returns how many bytes they are, from the first one on.
    pub(crate) fn collect<K>(
        &self,
        job: &SortJob<'_, K>,
        number: usize,
        pages: &mut [u8],
    ) -> Result<usize, Error> {
        let record_bytes = job.record_bytes;
        let load = &self.loads[number];
        let (mut from, mut to) = (0, 0);
        for piece in &load.pieces {
            let paged = piece.paged_bytes(record_bytes) as usize;
            let read = &pages[from..from + paged];
            check_seal(job.disk, job.scratch(), piece.address, read, piece.seal)?;
            let bytes = piece.records as usize * record_bytes;
            // Hot in the cache, since it has just been hashed.
            pages.copy_within(from..from + bytes, to);
            from += paged;
            to += bytes;
        }
        for slice in &load.slices {
            let records = self.residents[slice.resident].chunk.records(record_bytes);
            let bytes = slice.records() * record_bytes;
            let out = &mut pages[to..to + bytes];
            gather(records, record_bytes, slice.order(self.residents), out);
            to += bytes;
        }
        Ok(to)
    }
}
