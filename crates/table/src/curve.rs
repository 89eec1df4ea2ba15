//! Space-filling curves as sort keys: rows that are near in several columns come near each other.
//!
//! ```text
//!  hilbert(lon:num,lat:num)     zorder(customer,day:date,price:num)
//!
//!  values --> ranks among a sample, 16 bits each --> place on the curve, 2 bytes per column
//! ```
//!
//! A value counts by its rank, not by its distance from the least and the largest one: a single
//! value far away would leave all others in one cell.
//!
//! The curve of Hilbert is computed as in John Skilling, "Programming the Hilbert curve" (AIP
//! Conference Proceedings 707, 2004), here without branches.

/// Bits of a rank.
const BITS: u32 = 16;

/// The shape of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveShape {
    /// That of Hilbert: neighbours on the curve are neighbours in all columns.
    Hilbert,
    /// That of Morton, which takes a bit of each column in turn. It jumps, and is simpler.
    ZOrder,
}

impl CurveShape {
    /// All shapes.
    pub(crate) const ALL: [CurveShape; 2] = [CurveShape::Hilbert, CurveShape::ZOrder];

    /// The word that begins a curve in a key.
    pub fn name(self) -> &'static str {
        match self {
            CurveShape::Hilbert => "hilbert",
            CurveShape::ZOrder => "zorder",
        }
    }

    /// Returns the place on the curve of a point with these ranks, at most eight, which are
    /// overwritten. It has 16 bits for each.
    #[must_use]
    pub fn place(self, ranks: &mut [u16]) -> u128 {
        if self == CurveShape::Hilbert {
            along_hilbert(ranks);
        }
        match ranks {
            [a, b] => u128::from(spread(*a) << 1 | spread(*b)),
            ranks => interleaved(ranks),
        }
    }
}

/// Bits of each rank in turn.
fn interleaved(ranks: &[u16]) -> u128 {
    let mut place = 0;
    for bit in (0..BITS).rev() {
        for rank in ranks {
            place = place << 1 | u128::from(rank >> bit & 1);
        }
    }
    place
}

/// Puts a zero before each bit.
fn spread(rank: u16) -> u32 {
    let halves = (u32::from(rank) | u32::from(rank) << 8) & 0x00ff_00ff;
    let quarters = (halves | halves << 4) & 0x0f0f_0f0f;
    let pairs = (quarters | quarters << 2) & 0x3333_3333;
    (pairs | pairs << 1) & 0x5555_5555
}

/// Turns ranks into coordinates whose bits, taken in turn, are the place on Hilbert's curve.
fn along_hilbert(ranks: &mut [u16]) {
    let Some(last) = ranks.len().checked_sub(1) else { return };
    // What turned the curve in larger cubes is undone in smaller ones.
    for bit in (1..BITS).rev() {
        let below = (1 << bit) - 1;
        for at in 0..=last {
            let is_set = 0_u16.wrapping_sub(ranks[at] >> bit & 1);
            let swapped = (ranks[0] ^ ranks[at]) & below & !is_set;
            ranks[0] ^= swapped | below & is_set;
            ranks[at] ^= swapped;
        }
    }
    // Gray's code.
    for at in 1..=last {
        ranks[at] ^= ranks[at - 1];
    }
    let turned = (1..BITS).fold(0, |turned, bit| {
        turned ^ (((1 << bit) - 1) & 0_u16.wrapping_sub(ranks[last] >> bit & 1))
    });
    ranks.iter_mut().for_each(|rank| *rank ^= turned);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All cells of a small cube, by their places on a curve.
    fn cells(shape: CurveShape, columns: usize, bits: u32) -> Vec<Vec<u16>> {
        let count = 1_usize << (bits as usize * columns);
        let cell = |number: usize| -> Vec<u16> {
            let rank = |at: usize| number >> (at * bits as usize) & ((1 << bits) - 1);
            (0..columns).map(|at| (rank(at) as u16) << (BITS - bits)).collect()
        };
        let mut all: Vec<Vec<u16>> = (0..count).map(cell).collect();
        all.sort_by_key(|cell| shape.place(&mut cell.clone()));
        all
    }

    #[test]
    fn neighbours_on_hilberts_curve_differ_by_one_in_one_column() {
        for (columns, bits) in [(1, 8), (2, 4), (3, 3), (4, 2), (8, 1)] {
            let cells = cells(CurveShape::Hilbert, columns, bits);
            for pair in cells.windows(2) {
                let steps = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.abs_diff(*b));
                let sum: u32 = steps.map(u32::from).sum();
                assert_eq!(sum, 1 << (BITS - bits), "{pair:?} of {columns} columns");
            }
        }
    }

    #[test]
    fn z_order_takes_a_bit_of_each_column_in_turn() {
        assert_eq!(CurveShape::ZOrder.place(&mut [0xffff, 0]), 0xaaaa_aaaa);
        assert_eq!(CurveShape::ZOrder.place(&mut [0b10, 0b01, 0b11]), 0b101_011);
        assert_eq!(CurveShape::ZOrder.place(&mut [7]), 7);
    }

    proptest! {
        #[test]
        fn two_ranks_are_interleaved_as_others(a in any::<u16>(), b in any::<u16>()) {
            prop_assert_eq!(CurveShape::ZOrder.place(&mut [a, b]), interleaved(&[a, b]));
        }

        #[test]
        fn different_points_have_different_places(
            a in proptest::collection::vec(any::<u16>(), 3),
            b in proptest::collection::vec(any::<u16>(), 3),
        ) {
            for shape in CurveShape::ALL {
                let places = [shape.place(&mut a.clone()), shape.place(&mut b.clone())];
                prop_assert_eq!(places[0] == places[1], a == b);
            }
        }
    }
}
