//! The checkpoint of a sort that can be resumed: its files, and whether a later process may resume
//! it.
//!
//! ```text
//! SCRATCH/.NAME.xsort-TAG.journal    finished steps, in the first scratch directory
//! SCRATCH/.NAME.xsort-TAG.scratch-N  blocks of runs, or pieces of bins, in scratch directory N
//! OUTPUT/.NAME.xsort-TAG.output      the output until it has its name, in the output's directory
//! ```
//!
//! NAME is the output's name, shortened if it is long. TAG is a hash of the output's path. So a
//! sort is found by its output, and each output has its own files. The journal's lock locks the
//! whole checkpoint: only the process that holds it may open, write or remove the other files.
//!
//! A file's name alone proves nothing. The journal's frames are chained by their hashes. Blocks of
//! scratch have seals in the journal. The output's recorded prefix is compared with all of its
//! bytes before the sort appends to it or reports that it is finished. The inputs must be
//! unchanged.
//!
//! An output in a store has no hidden name: its upload has a tag from the store. The journal keeps
//! this tag and the parts that the store has accepted. A part counts only if the store still has it
//! as recorded.
//!
//! | file | idea |
//! |---|---|
//! | `options` | the caller's choices about checkpoints |
//! | `names` | the names of the files |
//! | `header` | the sort that a journal belongs to |
//! | `fingerprint` | how an input is recognized |
//! | `open` | finding a checkpoint, and deciding whether to resume it |
//! | `interrupted` | finding a checkpoint and leaving it as it is |
//! | `fresh` | beginning a checkpoint |
//! | `saved` | reopening a checkpoint |
//! | `files` | the files while the sort runs |

mod files;
mod fingerprint;
mod fresh;
mod header;
mod interrupted;
mod names;
mod open;
mod options;
mod saved;

pub(crate) use files::CheckpointFiles;
pub(crate) use fingerprint::InputFingerprint;
pub(crate) use fresh::FreshCheckpoint;
pub(crate) use header::SortRequest;
pub use interrupted::{InterruptedSort, interrupted_sort};
pub(crate) use names::CheckpointNames;
pub(crate) use open::{OpenedCheckpoint, open_checkpoint};
pub use options::{Begin, Checkpoint};
pub(crate) use saved::{ReopenedInput, ReopenedSort, SavedCheckpoint};
