//! What is loaded into one area: bins that fit, or a part of one that doesn't.

use super::bin::Bin;
use super::piece::Piece;
use super::scatter::{Resident, Slice};
use crate::Error;
use crate::fixed::chunks::Extent;
use crate::fixed::fill::compact;
use crate::fixed::job::Job;
use crate::store::seal::check_seal;
use xsort_disk::{FileId, Lease};
use xsort_kernels::gather;

/// Records that are loaded in one go.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// The first bin, or the only one.
    pub(crate) bin: usize,
    /// How many bins.
    pub(crate) bins: usize,
    pub(crate) records: u64,
    /// Whether all records have the same key.
    pub(crate) is_one_key: bool,
    pub(crate) pieces: Vec<Piece>,
    /// What is in memory already; behind the pieces of the same bin in the order of the input.
    pub(crate) slices: Vec<Slice>,
}

impl Load {
    /// Takes the next bin in. Its keys are other keys, so that its pieces may come before the
    /// slices of the one before.
    pub(crate) fn join(&mut self, bin: Bin) {
        self.bins += 1;
        self.records += bin.records;
        self.is_one_key = false;
        self.pieces.extend(bin.pieces);
        self.slices.extend(bin.slices);
    }

    /// What is to be read for it: whole pages, for that is what the seals are of.
    pub(crate) fn pages(&self, record_bytes: usize) -> Vec<Extent> {
        let extent = |piece: &Piece| Extent {
            file: usize::from(piece.place.drive),
            offset: piece.place.offset,
            bytes: piece.paged_bytes(record_bytes),
        };
        self.pieces.iter().map(extent).collect()
    }

    /// Checks the pieces that were read to `pages`, moves their records together and those of the
    /// slices behind them; returns how many bytes they are, from the first one on.
    fn collect<K>(
        &self,
        job: &Job<'_, K>,
        residents: &[Resident],
        pages: &mut [u8],
    ) -> Result<usize, Error> {
        let record_bytes = job.record_bytes;
        let (mut from, mut to) = (0, 0);
        for piece in &self.pieces {
            let paged = piece.paged_bytes(record_bytes) as usize;
            check_seal(
                job.disk,
                job.scratch(),
                piece.place,
                &pages[from..from + paged],
                piece.seal,
            )?;
            let bytes = piece.records as usize * record_bytes;
            // Hot in the cache, since it has just been hashed.
            pages.copy_within(from..from + bytes, to);
            from += paged;
            to += bytes;
        }
        for slice in &self.slices {
            let resident = &residents[slice.resident];
            let bytes = slice.records() * record_bytes;
            gather(
                resident.records(),
                record_bytes,
                resident.order(slice),
                &mut pages[to..to + bytes],
            );
            to += bytes;
        }
        Ok(to)
    }
}

/// Where the records of a pass come from.
pub(crate) enum Source<'a> {
    /// The inputs, in chunks.
    Input {
        files: &'a [FileId],
        /// Size of each.
        bytes: &'a [u64],
    },
    /// Bins.
    Loads {
        loads: &'a [Load],
        residents: &'a [Resident],
        /// Areas to use for them.
        areas: usize,
    },
}

impl Source<'_> {
    /// Makes the records of chunk `number` contiguous in `pages`; returns where they begin and how
    /// many bytes they are.
    pub(crate) fn collect<K>(
        &self,
        job: &Job<'_, K>,
        number: usize,
        extents: &[Extent],
        pages: &mut Lease,
    ) -> Result<(usize, usize), Error> {
        match self {
            Source::Input { .. } => {
                let bytes = extents.iter().map(|extent| extent.bytes as usize).sum();
                Ok((compact(pages, extents), bytes))
            }
            Source::Loads { loads, residents, .. } => {
                Ok((0, loads[number].collect(job, residents, pages)?))
            }
        }
    }
}
