//! Bins, and how much of them fits in memory at once.

use super::load::Load;
use super::piece::Piece;
use super::plan::{PIECE_BYTES_EASY, ScatterShape, fan_out, levels, root};
use super::scatter::Slice;
use crate::fixed::plan::Plan;
use serde::{Deserialize, Serialize};
use xsort_disk::align_down;

/// All records in a range of keys.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Bin {
    /// Its number among all bins of the scatter that made it.
    pub(crate) number: usize,
    /// Records in it.
    pub(crate) records: u64,
    /// Whether all of them have the same key.
    pub(crate) is_one_key: bool,
    /// What of it is on scratch, in the order of the input.
    pub(crate) pieces: Vec<Piece>,
    /// What of it is in chunks that stayed in memory, which all come after. Not for a journal:
    /// memory is gone with the process.
    #[serde(skip)]
    pub(crate) slices: Vec<Slice>,
}

/// How much can be loaded at once.
pub(crate) struct Limits {
    record_bytes: usize,
    /// Bytes of an area for pages of records.
    pages_bytes: u64,
    /// Records of an area for which there is room for their order.
    records: u64,
    /// Record bytes of a bin that are aimed at.
    bin_bytes: u64,
    fan_out: usize,
    /// Bins at once whose pieces are of an easy size.
    easy: usize,
}

impl Limits {
    pub(crate) fn of(plan: &Plan, shape: &ScatterShape) -> Limits {
        let records = plan.chunk_bytes / plan.record_bytes;
        let order_bytes = xsort_disk::align_up(records * 8);
        Limits {
            record_bytes: plan.record_bytes as usize,
            pages_bytes: align_down(plan.area_bytes - order_bytes),
            records,
            bin_bytes: shape.bin_bytes,
            fan_out: fan_out(plan.chunk_bytes),
            easy: (plan.chunk_bytes / PIECE_BYTES_EASY) as usize,
        }
    }

    /// Into how many bins to scatter `bytes` bytes now: as many as are needed, or, if those are too
    /// many, the root that makes all levels alike. If pieces stay large enough, up to four times as
    /// many: small bins are packed together again, and one that comes out larger than it should is
    /// still small. At least three, so that splitting always makes a bin smaller.
    pub(crate) fn bins_at_once(&self, bytes: u64) -> usize {
        let needed = bytes.div_ceil(self.bin_bytes).max(1);
        let levels = levels(needed, self.fan_out as u64);
        let needed = root(needed, levels) as usize;
        needed.max(self.easy.min(4 * needed)).max(3)
    }

    /// What a part of a bin takes of an area: bytes of pages, and records.
    fn piece_takes(&self, piece: &Piece) -> (u64, u64) {
        (piece.paged_bytes(self.record_bytes), u64::from(piece.records))
    }

    fn slice_takes(&self, slice: &Slice) -> (u64, u64) {
        let records = slice.records() as u64;
        (records * self.record_bytes as u64, records)
    }

    fn takes(&self, bin: &Bin) -> (u64, u64) {
        let parts = bin.pieces.iter().map(|piece| self.piece_takes(piece));
        let parts = parts.chain(bin.slices.iter().map(|slice| self.slice_takes(slice)));
        parts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    fn fits(&self, (bytes, records): (u64, u64)) -> bool {
        bytes <= self.pages_bytes && records <= self.records
    }

    /// Whether a bin has to be sorted but can't be loaded.
    pub(crate) fn must_split(&self, bin: &Bin) -> bool {
        !bin.is_one_key && !self.fits(self.takes(bin))
    }

    /// Cuts a bin of any size into loads, in the order of the input.
    pub(crate) fn parts(&self, bin: Bin) -> Vec<Load> {
        let mut loads = Vec::new();
        let fresh =
            || Load { bin: bin.number, bins: 1, is_one_key: bin.is_one_key, ..Load::default() };
        let (mut load, mut taken) = (fresh(), (0, 0));
        let mut make_room = |load: &mut Load, (bytes, records): (u64, u64)| {
            if !self.fits((taken.0 + bytes, taken.1 + records)) {
                loads.push(std::mem::replace(load, fresh()));
                taken = (0, 0);
            }
            taken = (taken.0 + bytes, taken.1 + records);
        };
        for piece in bin.pieces {
            make_room(&mut load, self.piece_takes(&piece));
            load.records += u64::from(piece.records);
            load.pieces.push(piece);
        }
        for slice in bin.slices {
            make_room(&mut load, self.slice_takes(&slice));
            load.records += slice.records() as u64;
            load.slices.push(slice);
        }
        loads.push(load);
        loads
    }

    /// Packs bins into loads that can be sorted: small neighbours together, large bins of one key
    /// in parts.
    pub(crate) fn pack(&self, bins: Vec<Bin>) -> Vec<Load> {
        let mut loads: Vec<Load> = Vec::new();
        let mut taken = (0, 0);
        let mut is_open = false;
        for bin in bins.into_iter().filter(|bin| bin.records > 0) {
            let takes = self.takes(&bin);
            // A bin of one key that is large enough to be worth it is written without a sort.
            let stands_alone = bin.is_one_key && takes.0 > self.pages_bytes / 4;
            let together = (taken.0 + takes.0, taken.1 + takes.1);
            match loads.last_mut() {
                Some(load) if is_open && !stands_alone && self.fits(together) => {
                    load.join(bin);
                    taken = together;
                }
                _ => {
                    loads.extend(self.parts(bin));
                    taken = takes;
                    is_open = !stands_alone;
                }
            }
        }
        loads
    }
}
