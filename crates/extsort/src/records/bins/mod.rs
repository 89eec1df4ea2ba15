//! Scatter and gather: each record goes to the bin of its key on scratch, then each bin is sorted
//! on its own.
//!
//! The outline (`phases`): sample the keys, scatter the input into bins, split bins that don't fit
//! in memory until all fit, gather one bin after another into the output.
//!
//! ```text
//! input -- chunks --> | bin | bin | bin | ...   pieces on scratch; the last chunks stay in memory
//!                        |     |     `-- too large: the same again, with splitters of its own
//!                        v     v
//!                     load, sort, write         one bin a thread, in the order of the output
//! ```
//!
//! Rustbucket (A. Asleson) sorts this way, but with key prefixes instead of a samplesort's
//! splitters. A key that is frequent enough to fill a bin gets its own bin, which needs no sort and
//! may have any size. So neither skew nor equal keys can exceed the budget. Pieces keep the order
//! of chunks, and records keep their order within a chunk, so the sort is stable.
//!
//! | file | idea |
//! |---|---|
//! | `phases` | the two phases |
//! | `sample` | keys from all parts of the data |
//! | `scatter`, `piece` | records on their way into bins |
//! | `bin`, `slices` | a bin's records, on scratch and in memory |
//! | `load`, `limits` | the records loaded at once, and the limits on their number |
//! | `places`, `in_place` | bins in the output's own file, and moving pieces out of the way there |
//! | `gather` | bins on their way into the output |

mod bin;
mod gather;
mod in_place;
mod limits;
mod load;
mod phases;
mod piece;
mod places;
mod sample;
mod scatter;
mod slices;

pub(crate) use phases::{gather_bins, scatter_input};
pub use sample::first_sampled;
pub(crate) use sample::sample_reads;
pub(crate) use scatter::Scattered;
