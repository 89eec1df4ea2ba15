//! A sort with push and pull interfaces: records and keys of any bytes, in memory on both sides.
//! The engine in between is that of keyed records.
//!
//! ```text
//!  pusher --\                                                        blocks of
//!  pusher ---> buffers of keyed records --> stream --> sort_lines --> keyed records --> Sorted
//!  pusher --/   (the threads that push)        (the engine's threads)   (the thread that takes)
//! ```
//!
//! Both queues are bounded: pushers wait for the engine, and the engine waits for the reader. All
//! buffers are a part of the budget.
//!
//! | file | idea |
//! |---|---|
//! | `sorting`, `sorted` | the two halves as their users see them |
//! | `pusher` | a thread's own buffer of keyed records |
//! | `feed` | what all pushers share: their turns, their memory, their counts |
//! | `engine` | the thread that sorts |
//! | `stream`, `blocks` | the queues before and after the engine |
//! | `outcome`, `watch` | how the sort ends, and its ways to be stopped |
//! | `options`, `report` | the settings, and the report |

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
