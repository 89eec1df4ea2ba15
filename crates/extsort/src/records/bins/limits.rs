//! The capacity of an area, and how bins are cut and packed into loads that fit.

use super::bin::Bin;
use super::load::Load;
use super::piece::Piece;
use super::slices::BinSlice;
use crate::records::plan::{PIECE_BYTES_EASY, Plan, ScatterShape, bins_per_level, fan_out, levels};
use xsort_disk::{align_down, align_up};

/// The limits on what can be loaded at once.
pub(crate) struct Limits {
    record_bytes: usize,
    /// The capacity of an area.
    area: AreaSpace,
    /// Target size of a bin, in bytes of records.
    bin_bytes: u64,
    /// Maximum number of bins in one scatter.
    fan_out: usize,
    /// Number of bins in one scatter for which pieces keep an easy size.
    easy_bins: usize,
}

/// Space in an area.
#[derive(Clone, Copy, Default)]
struct AreaSpace {
    /// Bytes of pages.
    bytes: u64,
    /// Number of records, whose order needs memory too.
    records: u64,
}

impl std::ops::Add for AreaSpace {
    type Output = AreaSpace;

    fn add(self, other: AreaSpace) -> AreaSpace {
        AreaSpace { bytes: self.bytes + other.bytes, records: self.records + other.records }
    }
}

impl Limits {
    pub(crate) fn of(plan: &Plan, shape: &ScatterShape) -> Limits {
        let records = plan.chunk_bytes / plan.record_bytes;
        let bytes = align_down(plan.area_bytes - align_up(records * 8));
        Limits {
            record_bytes: plan.record_bytes as usize,
            area: AreaSpace { bytes, records },
            bin_bytes: shape.bin_bytes,
            fan_out: fan_out(plan.chunk_bytes),
            easy_bins: (plan.chunk_bytes / PIECE_BYTES_EASY) as usize,
        }
    }

    /// The number of bins into which to scatter `bytes` bytes. This is the number needed, or, if
    /// one scatter can't make that many, the root that makes all levels equal. If pieces stay large
    /// enough, it is up to four times as many: small bins are packed together again, and a bin that
    /// turns out too large is still small. It is at least three, so that splitting always makes a
    /// bin smaller.
    pub(crate) fn bins_at_once(&self, bytes: u64) -> usize {
        let needed = bytes.div_ceil(self.bin_bytes).max(1);
        let levels = levels(needed, self.fan_out as u64);
        let needed = bins_per_level(needed, levels) as usize;
        needed.max(self.easy_bins.min(4 * needed)).max(3)
    }

    fn piece_space(&self, piece: &Piece) -> AreaSpace {
        AreaSpace { bytes: piece.paged_bytes(self.record_bytes), records: u64::from(piece.records) }
    }

    fn slice_space(&self, slice: &BinSlice) -> AreaSpace {
        let records = slice.records() as u64;
        AreaSpace { bytes: records * self.record_bytes as u64, records }
    }

    fn bin_space(&self, bin: &Bin) -> AreaSpace {
        let pieces = bin.pieces.iter().map(|piece| self.piece_space(piece));
        let slices = bin.slices.iter().map(|slice| self.slice_space(slice));
        pieces.chain(slices).fold(AreaSpace::default(), |sum, space| sum + space)
    }

    fn fits(&self, space: AreaSpace) -> bool {
        space.bytes <= self.area.bytes && space.records <= self.area.records
    }

    /// True if a bin must be sorted but doesn't fit in an area.
    pub(crate) fn must_split(&self, bin: &Bin) -> bool {
        !bin.is_one_key && !self.fits(self.bin_space(bin))
    }

    /// Cuts a bin of any size into loads, in the order of the input.
    pub(crate) fn cut(&self, bin: Bin) -> Vec<Load> {
        let mut loads = Vec::new();
        let empty =
            || Load { bin: bin.number, bins: 1, is_one_key: bin.is_one_key, ..Load::default() };
        let (mut load, mut used) = (empty(), AreaSpace::default());
        let mut make_room = |load: &mut Load, space: AreaSpace| {
            if !self.fits(used + space) {
                loads.push(std::mem::replace(load, empty()));
                used = AreaSpace::default();
            }
            used = used + space;
        };
        for piece in bin.pieces {
            make_room(&mut load, self.piece_space(&piece));
            load.records += u64::from(piece.records);
            load.pieces.push(piece);
        }
        for slice in bin.slices {
            make_room(&mut load, self.slice_space(&slice));
            load.records += slice.records() as u64;
            load.slices.push(slice);
        }
        loads.push(load);
        loads
    }

    /// Packs bins into loads that can be sorted. Joins small neighbours, and cuts large bins of one
    /// key.
    pub(crate) fn pack(&self, bins: Vec<Bin>) -> Vec<Load> {
        let mut loads: Vec<Load> = Vec::new();
        let mut used = AreaSpace::default();
        let mut is_open = false;
        for bin in bins.into_iter().filter(|bin| bin.records > 0) {
            let space = self.bin_space(&bin);
            // A bin of one key is written without a sort. This pays if the bin is large enough.
            let stands_alone = bin.is_one_key && space.bytes > self.area.bytes / 4;
            match loads.last_mut() {
                Some(load) if is_open && !stands_alone && self.fits(used + space) => {
                    load.join(bin);
                    used = used + space;
                }
                _ => {
                    loads.extend(self.cut(bin));
                    used = space;
                    is_open = !stands_alone;
                }
            }
        }
        loads
    }
}
