//! The tree of losers: which run has the smallest head.
//!
//! Knuth, The Art of Computer Programming, vol. 3, 5.4.1: an inner node keeps the loser of its match, the winner goes up, and replacing the
//! winner's head replays only the matches on its own path. A match compares (key word, run), so that a tie of whole keys falls to the earlier run and
//! the merge is stable; only equal words of longer keys need more, which the caller supplies. The path is walked
//! without branches on the outcome of a match: half of such branches are mispredicted, at 15 cycles each.
//!
//! It knows nothing of records. What a match answers, right or wrong, changes the order in which runs win and nothing else: the runs in
//! the tree are always those that were put in, and a dry run never beats one that is not.
//!
//! ```text
//!            [1]              k = 4 leaves; the leaf of run r would be 4 + r, and is not stored
//!          /     \            [0] is not used: the winner is the caller's
//!        [2]     [3]
//!       /  \     /  \
//!      r0  r1   r2  r3
//! ```

use crate::merge::Cursor;
use std::hint::select_unpredictable;

/// Added to the run number when the run is dry, so that it loses against every word.
const DRY: u64 = 1 << 63;

/// The head of a run, as matches see it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entrant {
    word: u64,
    run: u64,
}

impl Entrant {
    #[inline(always)]
    pub(crate) fn new(word: u64, run: usize) -> Self {
        Entrant { word, run: run as u64 }
    }

    /// The place of a run without a head: it loses against all that have one.
    #[inline(always)]
    pub(crate) fn dry(run: usize) -> Self {
        Entrant { word: u64::MAX, run: run as u64 | DRY }
    }

    #[inline(always)]
    pub(crate) fn is_dry(self) -> bool {
        self.run & DRY != 0
    }

    #[inline(always)]
    pub(crate) fn run(self) -> usize {
        (self.run & !DRY) as usize
    }

    #[inline(always)]
    fn rank(self) -> u128 {
        u128::from(self.word) << 64 | u128::from(self.run)
    }
}

/// The memory of one run's place in a merge; lent to [`Merge::new`](crate::Merge::new).
#[derive(Clone, Copy, Debug, Default)]
pub struct Node {
    pub(crate) loser: Entrant,
    pub(crate) cursor: Cursor,
}

/// Whether `a` goes before `b`. `first_wins` is asked when the words are equal, neither is dry, and `TIES` says that words are not whole keys.
#[inline(always)]
fn beats<const TIES: bool>(
    nodes: &[Node],
    a: Entrant,
    b: Entrant,
    first_wins: &impl Fn(&[Node], usize, usize) -> bool,
) -> bool {
    if TIES && a.word == b.word && !a.is_dry() && !b.is_dry() {
        return first_wins(nodes, a.run(), b.run());
    }
    a.rank() < b.rank()
}

/// Plays all matches. `nodes.len()` is a power of two, and `entrant` gives the head of each run below it. Returns the winner.
pub(crate) fn play_all<const TIES: bool>(
    nodes: &mut [Node],
    entrant: impl Fn(&[Node], usize) -> Entrant,
    first_wins: impl Fn(&[Node], usize, usize) -> bool,
) -> Entrant {
    let leaves = nodes.len();
    assert!(leaves.is_power_of_two());
    let mut winner = Entrant::dry(0);
    for leaf in 0..leaves {
        winner = entrant(nodes, leaf);
        // Leaves come in order, so that a left child waits at its parent and a right child finds it there.
        let mut child = leaves + leaf;
        while child % 2 == 1 && child > 1 {
            child /= 2;
            let waiting = nodes[child].loser;
            if !beats::<TIES>(nodes, winner, waiting, &first_wins) {
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

/// The head of the last winner's run has become `entrant`: replays the matches on its path and returns the new winner.
#[inline(always)]
pub(crate) fn replay<const TIES: bool>(
    nodes: &mut [Node],
    entrant: Entrant,
    first_wins: impl Fn(&[Node], usize, usize) -> bool,
) -> Entrant {
    let mut winner = entrant;
    let mut place = (nodes.len() + entrant.run()) / 2;
    while place > 0 {
        let waiting = nodes[place].loser;
        let stays = beats::<TIES>(nodes, winner, waiting, &first_wins);
        nodes[place].loser = Entrant {
            word: select_unpredictable(stays, waiting.word, winner.word),
            run: select_unpredictable(stays, waiting.run, winner.run),
        };
        winner = Entrant {
            word: select_unpredictable(stays, winner.word, waiting.word),
            run: select_unpredictable(stays, winner.run, waiting.run),
        };
        place /= 2;
    }
    winner
}
