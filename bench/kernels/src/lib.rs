//! xsort's kernels beside their rivals: the same job, the same data, every result checked.
//!
//! Two drivers share these contests. `cargo bench` gives each contender to criterion; `cargo run
//! --release` lets all contenders of a contest take turns and prints their ratios, which is what to
//! read on a machine that others use too.
//!
//! With `--features vqsort` Highway's sort takes part, which needs a C++ compiler and the library.
//! The rivals allocate their scratch anew in each turn; `GLIBC_TUNABLES` as in the Makefile lets
//! them have it in huge pages and without new page faults.
//!
//! It is not part of xsort's workspace, so that no test of xsort compiles a rival.

mod contest;
mod gathers;
mod input;
mod merges;
mod pieces;
mod sorts;

// The source of private pieces of xsort, of which not all is used here; they call each other by
// these names.
#[allow(dead_code, unreachable_pub)]
#[path = "../../../crates/kernels/src/caches.rs"]
mod caches;
#[allow(dead_code, unreachable_pub)]
#[path = "../../../crates/kernels/src/extract.rs"]
mod extract;
#[allow(dead_code)]
#[path = "../../../crates/kernels/src/partition.rs"]
mod partition;
#[allow(dead_code)]
#[path = "../../../crates/kernels/src/prefetch.rs"]
mod prefetch;
#[path = "../../../crates/kernels/src/words.rs"]
mod words;

pub use contest::{Contender, Contest};

/// All contests, one after the other; `tiny` ones for a test.
pub fn contests(tiny: bool, visit: &mut dyn FnMut(Contest<'_>)) {
    sorts::contests(tiny, visit);
    pieces::contests(tiny, visit);
    gathers::contests(tiny, visit);
    merges::contests(tiny, visit);
}
