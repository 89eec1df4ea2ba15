//! The loser tree: finds the run with the smallest head, which is the run's first unmerged record.
//!
//! Knuth, The Art of Computer Programming, vol. 3, 5.4.1: an inner node keeps the loser of its
//! match, the winner goes up, and replacing the winner's head replays only the matches on its own
//! path. A head is one 128-bit number,
//!
//! ```text
//!   127 ........................... 32    31    30      29 ....... 0
//!   twelve bytes of its normalised key    end   whole   number of its run
//! ```
//!
//! so that most matches are one comparison, ties go to the earlier run, and the merge is stable.
//! Only keys longer than twelve bytes can tie; for these the caller supplies a full comparison. The
//! path is walked without branches on the outcome of a match: half of such branches are
//! mispredicted, at 15 cycles each. Only the check for a tie is a branch, if ties are possible.
//!
//! The tree knows nothing about records. The outcome of a match, right or wrong, only changes the
//! order in which runs win. The runs in the tree are always those that were put in, and an
//! exhausted run never beats a live one.
//!
//! ```text
//!            [1]              k = 4 leaves; the leaf of run r would be 4 + r, and is not stored
//!          /     \            [0] is not used: the caller holds the winner
//!        [2]     [3]
//!       /  \     /  \
//!      r0  r1   r2  r3
//! ```

use std::hint::select_unpredictable;

/// Set if the run is exhausted, so that it loses against every key.
const EXHAUSTED: u64 = 1 << 31;
/// Set if the twelve bytes are known to be the whole key, so that equal ones don't tie. For equal
/// bytes, either both heads have it set or neither.
const WHOLE: u64 = 1 << 30;
/// Number of bits for the run's number, `EXHAUSTED` and `WHOLE`.
const RUN_BITS: u32 = 32;
/// Maximum number of runs in one merge.
pub(crate) const RUNS_MAX: usize = WHOLE as usize;
/// Number of key bytes that a match compares.
pub(crate) const KEY_BYTES: usize = 12;

/// The number that a match compares: the two halves of the number drawn above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeadKey {
    high: u64,
    low: u64,
}

impl HeadKey {
    /// The head of `run`. Its key starts with the eight bytes of `first`, then the first four of
    /// `second`.
    #[inline(always)]
    pub(crate) fn new(first: u64, second: u64, run: usize) -> Self {
        HeadKey { high: first, low: second >> RUN_BITS << RUN_BITS | run as u64 }
    }

    /// Sets `WHOLE` if the twelve bytes end with a zero. Only for orders whose keys contain no zero
    /// byte before their end.
    #[inline(always)]
    pub(crate) fn with_end(self) -> Self {
        let is_whole = (self.low >> RUN_BITS) as u8 == 0;
        HeadKey { low: self.low | if is_whole { WHOLE } else { 0 }, ..self }
    }

    /// True if the twelve bytes are known to be the whole key.
    #[inline(always)]
    pub(crate) fn is_whole(self) -> bool {
        self.low & WHOLE != 0
    }

    /// The head key of a run without a head. It loses against all live runs.
    #[inline(always)]
    pub(crate) fn exhausted(run: usize) -> Self {
        HeadKey { high: u64::MAX, low: u64::MAX << RUN_BITS | EXHAUSTED | run as u64 }
    }

    /// The first eight bytes of the key.
    #[inline(always)]
    pub(crate) fn first(self) -> u64 {
        self.high
    }

    #[inline(always)]
    pub(crate) fn run(self) -> usize {
        (self.low & (WHOLE - 1)) as usize
    }

    /// True if `self` comes before `other`, provided that their twelve bytes differ or are whole
    /// keys.
    #[inline(always)]
    fn is_before(self, other: HeadKey) -> bool {
        let rank = |head_key: HeadKey| u128::from(head_key.high) << 64 | u128::from(head_key.low);
        rank(self) < rank(other)
    }

    /// True if both have the same twelve bytes, which may not be whole keys, and neither run is
    /// exhausted.
    #[inline(always)]
    fn ties(self, other: HeadKey) -> bool {
        let is_settled = self.low & (EXHAUSTED | WHOLE);
        (self.high ^ other.high) | (self.low ^ other.low) >> (RUN_BITS - 1) | is_settled == 0
    }
}

/// A node of the tree, and the cursor of a run. (They share an array only because there is one of
/// each for every run.)
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<C> {
    pub(crate) loser: HeadKey,
    pub(crate) cursor: C,
}

/// Compares two live runs whose heads tie: returns true if the first comes before the second.
pub(crate) trait FirstWins<C>: Fn(&[Node<C>], usize, usize) -> bool {}
impl<C, F: Fn(&[Node<C>], usize, usize) -> bool> FirstWins<C> for F {}

/// True if `a` comes before `b`. `TIES` means that twelve bytes may not be whole keys.
#[inline(always)]
fn beats<C, const TIES: bool>(
    nodes: &[Node<C>],
    a: HeadKey,
    b: HeadKey,
    first_wins: &impl FirstWins<C>,
) -> bool {
    if TIES && a.ties(b) { first_wins(nodes, a.run(), b.run()) } else { a.is_before(b) }
}

/// Plays all matches. `nodes.len()` must be a power of two. `head_key` returns the head key of each
/// run below that number. Returns the winner.
pub(crate) fn build<C, const TIES: bool>(
    nodes: &mut [Node<C>],
    head_key: impl Fn(&[Node<C>], usize) -> HeadKey,
    first_wins: impl FirstWins<C>,
) -> HeadKey {
    let leaves = nodes.len();
    assert!(leaves.is_power_of_two() && leaves <= RUNS_MAX, "a tree of leaves");
    let mut winner = HeadKey::exhausted(0);
    for leaf in 0..leaves {
        winner = head_key(nodes, leaf);
        // Leaves come in order: a left child waits at its parent, and the right child finds it
        // there.
        let mut child = leaves + leaf;
        while child % 2 == 1 && child > 1 {
            child /= 2;
            let waiting = nodes[child].loser;
            if !beats::<C, TIES>(nodes, winner, waiting, &first_wins) {
                nodes[child].loser = winner;
                winner = waiting;
            }
        }
        if child > 1 {
            nodes[child / 2].loser = winner;
        }
    }
    winner
}

/// Replays the matches on the path of the last winner's run, whose new head is `head_key`. Returns
/// the new winner.
#[inline(always)]
pub(crate) fn replay<C, const TIES: bool>(
    nodes: &mut [Node<C>],
    head_key: HeadKey,
    first_wins: impl FirstWins<C>,
) -> HeadKey {
    let mut winner = head_key;
    let mut place = (nodes.len() + head_key.run()) / 2;
    while place > 0 {
        let waiting = nodes[place].loser;
        let stays = beats::<C, TIES>(nodes, winner, waiting, &first_wins);
        nodes[place].loser = HeadKey {
            high: select_unpredictable(stays, waiting.high, winner.high),
            low: select_unpredictable(stays, waiting.low, winner.low),
        };
        winner = HeadKey {
            high: select_unpredictable(stays, winner.high, waiting.high),
            low: select_unpredictable(stays, winner.low, waiting.low),
        };
        place /= 2;
    }
    winner
}
