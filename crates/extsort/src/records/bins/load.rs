//! Loads: the bins, or a part of a bin, loaded into one area.

use super::bin::Bin;
use super::piece::Piece;
use super::slices::{BinSlice, BinnedChunk};
use crate::Error;
use crate::records::chunks::Extent;
use crate::records::job::SortJob;
use crate::store::seal::check_seal;
use xsort_kernels::gather;

/// Records that are loaded and sorted together.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Number of the first or only bin.
    pub(crate) bin: usize,
    /// Number of bins.
    pub(crate) bins: usize,
    pub(crate) records: u64,
    /// For each bin except the first, the number of records in the preceding bins.
    pub(crate) seams: Vec<u64>,
    /// True if all records have the same key.
    pub(crate) is_one_key: bool,
    pub(crate) pieces: Vec<Piece>,
    /// Records that are already in memory. In the order of the input, they follow the same bin's
    /// pieces.
    pub(crate) slices: Vec<BinSlice>,
}

impl Load {
    /// Adds the next bin. Its keys differ from all earlier ones, so its pieces may precede the
    /// slices of the bins before it.
    pub(crate) fn join(&mut self, bin: Bin) {
        self.bins += 1;
        self.seams.push(self.records);
        self.records += bin.records;
        self.is_one_key = false;
        self.pieces.extend(bin.pieces);
        self.slices.extend(bin.slices);
    }

    /// The extents to read: whole pages, because seals cover pages.
    pub(crate) fn pages(&self, record_bytes: usize) -> Vec<Extent> {
        let extent = |piece: &Piece| Extent {
            file: usize::from(piece.address.drive),
            offset: piece.address.offset,
            bytes: piece.paged_bytes(record_bytes),
        };
        self.pieces.iter().map(extent).collect()
    }
}

/// Loads, and the resident chunks that hold some of their records.
#[derive(Clone, Copy)]
pub(crate) struct Loads<'a> {
    pub(crate) loads: &'a [Load],
    pub(crate) residents: &'a [BinnedChunk],
}

impl Loads<'_> {
    /// True if load `number` may share a key with the preceding load, because both are parts of one
    /// bin.
    pub(crate) fn goes_on(&self, number: usize) -> bool {
        let load = &self.loads[number];
        let before = number.checked_sub(1).map(|before| &self.loads[before]);
        before.is_some_and(|before| load.is_one_key && before.is_one_key && load.bin == before.bin)
    }

    /// Checks the pieces of load `number`, which were read into `pages`. Moves their records to the
    /// front of `pages`, and appends the records of the load's slices. Returns the total size in
    /// bytes.
    pub(crate) fn collect(
        &self,
        job: &SortJob<'_>,
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
            // In the cache, since it has just been hashed.
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
