//! The checkpoint of a sort that can be resumed: its files, and whether a later process may resume
//! it.
//!
//! ```text
//! SCRATCH/.NAME.xsort-TAG.journal    finished steps, in the first scratch directory
//! SCRATCH/.NAME.xsort-TAG.scratch-N  blocks of runs, or pieces of bins, in scratch directory N
//! OUTPUT/.NAME.xsort-TAG.output      the output until it has its name, in the output's directory
//! ```
//!
//! NAME is the output's (the beginning of it, if it is long), TAG a hash of its path: so a sort is
//! found by its output, and each output has files of its own. The journal's lock is the sort's:
//! only the process that holds it may open, write and remove the other files.
//!
//! No file is trusted because it has the right name. The journal's frames are chained by their
//! hashes. Blocks of scratch have seals in the journal. What the journal says of the output is
//! compared with all of its bytes, before the sort writes behind it or says that it is finished.
//! The inputs have to be what they were.
//!
//! An output in a store has no hidden name: what is under way there has a tag of the store's, which
//! the journal keeps, and the parts that the store has taken. Of those only the ones count that the
//! store still has as the journal says.
//!
//! | file | idea |
//! |---|---|
//! | `options` | what a caller says about checkpoints |
//! | `names` | the names of the files |
//! | `header` | which sort a journal belongs to |
//! | `fingerprint` | by what an input is recognized |
//! | `open` | finding a checkpoint, and whether to resume it |
//! | `interrupted` | finding one, and leaving it as it is |
//! | `fresh` | beginning one |
//! | `saved` | reopening one |
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
