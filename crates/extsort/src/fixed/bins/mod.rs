//! Scatter and gather: every record goes to the bin of its key on scratch, then each bin is sorted
//! by itself.
//!
//! The outline (`phases`): sample the keys, scatter the input into bins, split the bins that don't
//! fit in memory until all do, gather bin after bin into the output.
//!
//! ```text
//! input -- chunks --> | bin | bin | bin | ...   pieces on scratch; the last chunks stay in memory
//!                        |     |     `-- too large: the same again, with splitters of its own
//!                        v     v
//!                     load, sort, write         one bin a thread, in the order of the output
//! ```
//!
//! This is how Rustbucket sorts (A. Asleson), but with the splitters of a samplesort instead of key
//! prefixes. A key that is so frequent that it fills a bin has a bin to itself, which needs no sort
//! and may have any size: so neither skew nor equal keys can exceed the budget. Pieces keep the
//! order of the chunks and records that of their chunk, so the sort is stable.
//!
//! | file | idea |
//! |---|---|
//! | `phases` | the two phases |
//! | `sample` | keys from all over the data |
//! | `scatter`, `piece` | records on their way into bins |
//! | `bin`, `slices` | what is in a bin, on scratch and in memory |
//! | `load`, `limits` | what is loaded at once, and how much that can be |
//! | `places`, `in_place` | bins in the output's own file, and what is in the way of others there |
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
