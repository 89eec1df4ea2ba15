//! A sort that is pushed to and pulled from: records of any bytes with keys of any bytes, which are
//! in memory on both sides. The engine in between is that of keyed records.
//!
//! ```text
//!  pusher --\                                                        blocks of
//!  pusher ---> buffers of keyed records --> stream --> sort_lines --> keyed records --> Sorted
//!  pusher --/   (the threads that push)        (the engine's threads)   (the thread that takes)
//! ```
//!
//! Both ways are bounded: who pushes waits for the engine, and the engine for whoever takes. All
//! buffers are a part of the budget.
//!
//! | file | idea |
//! |---|---|
//! | `sorting`, `sorted` | the two halves as their users see them |
//! | `pusher` | a thread's own buffer of keyed records |
//! | `feed` | what all pushers share: their turns, their memory, their counts |
//! | `engine` | the thread that sorts |
//! | `stream`, `blocks` | the way in and the way out |
//! | `outcome`, `watch` | how the sort ends, and who may stop it |
//! | `options`, `report` | what is asked for, and what was done |

mod blocks;
mod engine;
mod feed;
mod options;
mod outcome;
mod pusher;
mod report;
mod sorted;
mod sorting;
mod stream;
mod watch;

pub use options::SorterOptions;
pub use pusher::Pusher;
pub use report::SorterReport;
pub use sorted::{KeyAndRecord, Sorted};
pub use sorting::Sorting;
