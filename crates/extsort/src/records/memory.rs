//! The pool's memory, passed from phase to phase: leases are joined and cut again.
//!
//! ```text
//! |  area  |  area  |  area  |  area  |  the rest: sort buffers, blocks, pages    |
//!            stays    free     stays  '- whole again at the end of each phase
//! ```
//!
//! Only areas stay in use from one phase to the next. A phase takes its areas first, from low
//! addresses to high. So each free area is a hole of an area's size, and the remaining memory is
//! one lease. Plans rely on this.

use xsort_disk::Lease;

/// The free part of the pool: leases of one mapping, which are cut into blocks.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Sorted by address; no two are adjacent.
    leases: Vec<Lease>,
}

impl Memory {
    /// Joins neighbouring leases of one mapping.
    pub(crate) fn new(leases: impl IntoIterator<Item = Lease>) -> Memory {
        let mut sorted: Vec<Lease> = leases.into_iter().filter(|lease| !lease.is_empty()).collect();
        sorted.sort_unstable_by_key(|lease| lease.as_ptr().addr());
        let mut leases: Vec<Lease> = Vec::new();
        for lease in sorted {
            match leases.last_mut() {
                Some(last) if last.is_followed_by(&lease) => last.join(lease),
                _ => leases.push(lease),
            }
        }
        Memory { leases }
    }

    /// Takes `count` blocks of `bytes` bytes, lowest addresses first.
    ///
    /// # Panics
    /// If there are fewer. The plan has counted them.
    pub(crate) fn take(&mut self, count: usize, bytes: usize) -> Vec<Lease> {
        let mut blocks = Vec::with_capacity(count);
        for lease in &mut self.leases {
            while blocks.len() < count && lease.len() >= bytes {
                blocks.push(lease.split_off_front(bytes));
            }
        }
        assert_eq!(blocks.len(), count, "the plan's blocks of {bytes} bytes fit its pool");
        blocks
    }

    /// The number of blocks of `bytes` bytes that fit.
    pub(crate) fn fitting(&self, bytes: usize) -> usize {
        self.leases.iter().map(|lease| lease.len() / bytes).sum()
    }

    /// Gives leases back.
    pub(crate) fn give(&mut self, leases: impl IntoIterator<Item = Lease>) {
        let all = std::mem::take(&mut self.leases).into_iter().chain(leases);
        *self = Memory::new(all);
    }

    /// Takes all remaining memory.
    pub(crate) fn take_rest(&mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = xsort_disk::ALIGNMENT;

    /// Found by a soak test: two areas of two pages were free before one that stayed, and three
    /// pages after it. An area was cut from the three pages, the smaller piece. Then there was no
    /// room for the planned blocks.
    #[test]
    fn areas_come_from_holes_of_their_size() {
        let mut pool = Lease::map(9 * PAGE).unwrap();
        let hole = pool.split_off_front(4 * PAGE);
        let _stays = pool.split_off_front(2 * PAGE);
        let mut memory = Memory::new([hole, pool]);
        assert_eq!(memory.take(2, 2 * PAGE).len(), 2);
        assert_eq!(memory.take(1, 3 * PAGE).len(), 1);
        assert_eq!(memory.fitting(PAGE), 0);
    }

    #[test]
    fn what_fits_is_counted_piece_by_piece() {
        let mut pool = Lease::map(9 * PAGE).unwrap();
        let hole = pool.split_off_front(2 * PAGE);
        let _stays = pool.split_off_front(3 * PAGE);
        let mut memory = Memory::new([pool, hole]);
        assert_eq!((memory.fitting(3 * PAGE), memory.fitting(2 * PAGE)), (1, 3));
        assert_eq!(memory.take(3, 2 * PAGE).len(), 3);
    }
}
