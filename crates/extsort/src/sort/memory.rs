//! Handing the pool's memory from phase to phase: pieces are put together again and cut anew.

use xsort_disk::Lease;

/// The free part of the pool: pieces of one mapping, to be cut into blocks.
#[derive(Debug)]
pub(crate) struct Memory {
    /// By address; no two are adjacent.
    pieces: Vec<Lease>,
}

impl Memory {
    /// Joins pieces of one mapping that lie side by side.
    pub(crate) fn new(pieces: impl IntoIterator<Item = Lease>) -> Memory {
        let mut sorted: Vec<Lease> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        sorted.sort_unstable_by_key(|piece| piece.as_ptr().addr());
        let mut pieces: Vec<Lease> = Vec::new();
        for piece in sorted {
            match pieces.last_mut() {
                Some(last) if last.is_followed_by(&piece) => last.join(piece),
                _ => pieces.push(piece),
            }
        }
        Memory { pieces }
    }

    /// Takes `count` blocks of `bytes` bytes, from the smallest pieces first so that the large ones stay whole. Panics if there are fewer: the
    /// plan has counted them.
    pub(crate) fn take(&mut self, count: usize, bytes: usize) -> Vec<Lease> {
        self.pieces.sort_unstable_by_key(|piece| piece.len());
        let mut blocks = Vec::with_capacity(count);
        for piece in &mut self.pieces {
            while blocks.len() < count && piece.len() >= bytes {
                blocks.push(piece.split_off_front(bytes));
            }
        }
        assert_eq!(blocks.len(), count, "the plan's blocks of {bytes} bytes fit its pool");
        blocks
    }

    /// Bytes that are free.
    pub(crate) fn free_bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// Gives pieces back.
    pub(crate) fn give(&mut self, pieces: impl IntoIterator<Item = Lease>) {
        let all = std::mem::take(&mut self.pieces).into_iter().chain(pieces);
        *self = Memory::new(all);
    }

    /// Takes everything that is left.
    pub(crate) fn take_rest(&mut self) -> Vec<Lease> {
        std::mem::take(&mut self.pieces)
    }
}
