//! Memory for chunks: areas of one size. The part of an area that a chunk doesn't need stays free
//! for the next chunk.

use xsort_disk::Lease;

/// Free memory: whole areas and parts of them.
pub(super) struct Areas {
    /// Sorted by address. No two leases are adjacent.
    free: Vec<Lease>,
    area_bytes: usize,
}

impl Areas {
    /// Creates areas from leases of one size.
    pub(super) fn new(areas: Vec<Lease>) -> Areas {
        let area_bytes = areas.iter().map(|area| area.len()).max().unwrap_or(0);
        let mut all = Areas { free: Vec::with_capacity(areas.len()), area_bytes };
        areas.into_iter().for_each(|area| all.give(area));
        all
    }

    /// Number of chunks that there is memory for.
    pub(super) fn count(&self) -> usize {
        let enough = self.free.iter().filter(|lease| self.is_enough(lease));
        enough.map(|lease| (lease.len() / self.area_bytes).max(1)).sum()
    }

    /// Takes the smallest free lease of at least a third of an area. From a lease of two areas or
    /// more it takes one area.
    pub(super) fn take(&mut self) -> Option<Lease> {
        let enough = (0..self.free.len()).filter(|&at| self.is_enough(&self.free[at]));
        let at = enough.min_by_key(|&at| self.free[at].len())?;
        if self.free[at].len() >= 2 * self.area_bytes {
            return Some(self.free[at].split_off_front(self.area_bytes));
        }
        Some(self.free.remove(at))
    }

    /// Takes `bytes` bytes from the smallest free lease that has them. `bytes` must be a multiple
    /// of the alignment and not 0.
    pub(super) fn take_bytes(&mut self, bytes: usize) -> Option<Lease> {
        let enough = (0..self.free.len()).filter(|&at| self.free[at].len() >= bytes);
        let at = enough.min_by_key(|&at| self.free[at].len())?;
        let taken = self.free[at].split_off_front(bytes);
        if self.free[at].is_empty() {
            self.free.remove(at);
        }
        Some(taken)
    }

    /// Returns memory, and joins it with adjacent free leases.
    pub(super) fn give(&mut self, lease: Lease) {
        if lease.is_empty() {
            return;
        }
        let at = self.free.partition_point(|other| other.as_ptr() < lease.as_ptr());
        self.free.insert(at, lease);
        if at + 1 < self.free.len() && self.free[at].is_followed_by(&self.free[at + 1]) {
            let next = self.free.remove(at + 1);
            self.free[at].join(next);
        }
        if at > 0 && self.free[at - 1].is_followed_by(&self.free[at]) {
            let next = self.free.remove(at);
            self.free[at - 1].join(next);
        }
    }

    /// Moves the first `bytes` bytes of `area` to a larger area of `wanted` bytes. Returns `area`
    /// as an error if there is no such area.
    pub(super) fn grow(
        &mut self,
        area: Lease,
        bytes: usize,
        wanted: usize,
    ) -> Result<Lease, Lease> {
        let (from, whole) = (area.as_ptr() as usize, area.len());
        self.give(area);
        let joined = |lease: &Lease| {
            (lease.as_ptr() as usize..lease.as_ptr() as usize + lease.len()).contains(&from)
        };
        let at = self.free.iter().position(joined).expect("it was given back");
        let offset = from - self.free[at].as_ptr() as usize;
        let mut larger = self.free.remove(at);
        if larger.len() >= wanted {
            larger.copy_within(offset..offset + bytes, 0);
            let own = larger.split_off_front(wanted);
            self.give(larger);
            return Ok(own);
        }
        let before = larger.split_off_front(offset);
        let area = larger.split_off_front(whole);
        self.give(before);
        self.give(larger);
        let Some(mut own) = self.take_bytes(wanted) else { return Err(area) };
        own[..bytes].copy_from_slice(&area[..bytes]);
        self.give(area);
        Ok(own)
    }

    pub(super) fn into_leases(self) -> Vec<Lease> {
        self.free
    }

    /// Sizes of the free leases in bytes.
    pub(super) fn sizes(&self) -> impl Iterator<Item = usize> {
        self.free.iter().map(|lease| lease.len())
    }

    fn is_enough(&self, lease: &Lease) -> bool {
        lease.len() >= self.area_bytes / 3
    }
}
