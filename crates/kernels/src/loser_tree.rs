//! The loser tree: which run has the smallest head, its first record that is not merged yet.
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
//! so that most matches are one comparison, ties fall to the earlier run, and the merge is stable.
//! Only keys with more than twelve bytes can be equal there and need more, which the caller
//! supplies. The path is walked without branches on the outcome of a match: half of such branches
//! are mispredicted, at 15 cycles each. Only whether it is a tie is one, where there may be any.
//!
//! It knows nothing of records. The outcome of a match, right or wrong, changes the order in which
//! runs win and nothing else: the runs in the tree are always those that were put in, and an
//! exhausted run never beats one that is not.
//!
//! ```text
//!            [1]              k = 4 leaves; the leaf of run r would be 4 + r, and is not stored
//!          /     \            [0] is not used: the caller holds the winner
//!        [2]     [3]
//!       /  \     /  \
//!      r0  r1   r2  r3
//! ```

use std::hint::select_unpredictable;

/// Set when the run is exhausted, so that it loses against every key.
const EXHAUSTED: u64 = 1 << 31;
/// Set when the twelve bytes are known to be the whole key, so that equal ones are no tie. Equal
/// bytes have it both or neither.
const WHOLE: u64 = 1 << 30;
/// Bits of the run's number, of `EXHAUSTED` and of `WHOLE`.
const RUN_BITS: u32 = 32;
/// Most runs of one merge.
pub(crate) const RUNS_MAX: usize = WHOLE as usize;
/// Key bytes that a match compares.
pub(crate) const KEY_BYTES: usize = 12;

/// What a match compares: the two halves of the number drawn above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeadKey {
    high: u64,
    low: u64,
}

impl HeadKey {
    /// The head of `run`, whose key starts with the eight bytes `first`, then the first four of
    /// `second`.
    #[inline(always)]
    pub(crate) fn new(first: u64, second: u64, run: usize) -> Self {
        HeadKey { high: first, low: second >> RUN_BITS << RUN_BITS | run as u64 }
    }

    /// The same of an order whose keys have a zero byte only behind their end.
    #[inline(always)]
    pub(crate) fn with_end(self) -> Self {
        let is_whole = (self.low >> RUN_BITS) as u8 == 0;
        HeadKey { low: self.low | if is_whole { WHOLE } else { 0 }, ..self }
    }

    /// Whether its twelve bytes are known to be the whole key.
    #[inline(always)]
    pub(crate) fn is_whole(self) -> bool {
        self.low & WHOLE != 0
    }

    /// For a run without a head: it loses against all that have one.
    #[inline(always)]
    pub(crate) fn exhausted(run: usize) -> Self {
        HeadKey { high: u64::MAX, low: u64::MAX << RUN_BITS | EXHAUSTED | run as u64 }
    }

    /// The first eight bytes of its key.
    #[inline(always)]
    pub(crate) fn first(self) -> u64 {
        self.high
    }

    #[inline(always)]
    pub(crate) fn run(self) -> usize {
        (self.low & (WHOLE - 1)) as usize
    }

    /// Whether `self` comes before `other`, if their twelve bytes differ or are all there is.
    #[inline(always)]
    fn is_before(self, other: HeadKey) -> bool {
        let rank = |head_key: HeadKey| u128::from(head_key.high) << 64 | u128::from(head_key.low);
        rank(self) < rank(other)
    }

    /// Whether both have the same twelve bytes, which may not be all, and neither run is exhausted.
    #[inline(always)]
    fn ties(self, other: HeadKey) -> bool {
        let is_settled = self.low & (EXHAUSTED | WHOLE);
        (self.high ^ other.high) | (self.low ^ other.low) >> (RUN_BITS - 1) | is_settled == 0
    }
}

/// One node of the tree, and the cursor of one run. (They have nothing to do with each other but
/// that there is one of each for a run.)
#[derive(Clone, Copy, Debug, Default)]
pub struct Node<C> {
    pub(crate) loser: HeadKey,
    pub(crate) cursor: C,
}

/// Decides between two live runs whose heads tie: whether the first goes before the second.
pub(crate) trait FirstWins<C>: Fn(&[Node<C>], usize, usize) -> bool {}
impl<C, F: Fn(&[Node<C>], usize, usize) -> bool> FirstWins<C> for F {}

/// Whether `a` goes before `b`; `TIES` says that twelve bytes may not be whole keys.
#[inline(always)]
fn beats<C, const TIES: bool>(
    nodes: &[Node<C>],
    a: HeadKey,
    b: HeadKey,
    first_wins: &impl FirstWins<C>,
) -> bool {
    if TIES && a.ties(b) { first_wins(nodes, a.run(), b.run()) } else { a.is_before(b) }
}

/// Plays all matches. `nodes.len()` is a power of two, and `head_key` returns the head key of each
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
        // Leaves come in order, so that a left child waits at its parent and a right child finds it
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

/// The last winner's run has the new head `head_key`: replays the matches on its path. Returns the
/// new winner.
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
