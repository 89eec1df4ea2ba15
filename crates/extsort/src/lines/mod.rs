//! Sorting lines of text: records of varying length, from files or streams whose size may be
//! unknown.
//!
//! ```text
//!  inputs --> areas of memory --> sorted runs --(only when memory is needed)--> scratch
//!                                      \                                          /
//!                                       `--------------> merge <-----------------'
//!                                                          |
//!                                              segments, in order --> output
//! ```
//!
//! The modules form three layers. Each layer imports only those below it:
//!
//! | file | idea |
//! |---|---|
//! | `sort`, `resumable` | the outlines: plan, form runs, merge; also with a checkpoint |
//! | `sequential` | the plain merge: for little data, and for inputs that may not be in order |
//! | `check` | the first line out of order |
//! | `compressed_output` | the output, compressed by several threads |
//! | `output_codec` | how an output is compressed, by its name |
//! | `position_index` | the index of positions in the output, built as it is written |
//! | `output_index` | the index as a file beside the output |
//! | `counted_output` | equal lines, counted when they are written |
//! | `file_output` | a new file, for stages that change lines after the merge |
//! | `shuffle` | a random order, by keys added before the sort and removed after it |
//! | `incremental` | lines that are nearly in order, sorted as they come |
//! | | |
//! | `form` | phase one: read, sort, spill when memory is needed |
//! | `merge` | phase two: runs become the output |
//! | `spill` | writes a run to scratch |
//! | `job` | state that all threads of a sort share |
//! | `balance` | no line is lost or changed |
//! | | |
//! | `input` | the inputs of lines |
//! | `bgzf`, `codec_threads` | blocks of gzip that can be read alone; threads for codecs |
//! | `run`, `chunk`, `block` | sorted lines: a run, in memory as a chunk, on scratch in blocks |
//! | `areas` | memory for chunks |
//! | `plan`, `line_limits` | how the budget is divided, and how long lines may be |
//! | `options`, `report`, `dry_run` | the settings, the report, and the plan's resources |
//! | `reservation` | the shares of any budget that callers use |

mod areas;
mod balance;
mod bgzf;
mod block;
mod check;
mod chunk;
mod codec_threads;
mod compressed_output;
mod counted_output;
mod dry_run;
mod file_output;
mod form;
mod incremental;
mod input;
mod job;
mod line_limits;
mod merge;
mod options;
mod output;
mod output_codec;
mod output_index;
mod plan;
mod position_index;
mod report;
mod reservation;
mod resumable;
mod run;
mod sequential;
mod shuffle;
mod sort;
mod spill;

pub use check::first_disorder;
pub use codec_threads::CompressionThreads;
pub use compressed_output::CompressedOutput;
pub use counted_output::CountedOutput;
pub use dry_run::{LinesDryRun, dry_run_lines};
pub use file_output::{FileOutput, FinishedOutput};
pub use incremental::{
    BadWithin, Incremental, LineNumber, Presorted, SortBatch, Within, sort_incrementally,
};
pub(crate) use input::rest_of_line;
pub use input::{
    Content, Decoders, Header, InputBytes, LinesInput, MapAgain, MapInput, MapLines, MapPart,
    MapParts, OpenInput, PackingError, RangeRead, Recognised, UrlFile, recognise, take_header,
    total_bytes, unreadable, urls_at_once,
};
pub use job::{LineSums, OutputForm, PIECE_ROOM, SegmentForm, SegmentForms};
pub use line_limits::stream_line_bytes_max;
pub use options::{LinesCheckpoint, LinesOptions};
pub use output::SortedOutput;
pub use output_codec::OutputCodec;
pub use output_index::FinishedIndex;
pub use plan::SMALL_INPUT_BYTES;
pub use position_index::{
    BadIndexColumns, BadIndexForm, IndexColumns, IndexForm, IndexOptions, PositionIndex,
};
pub use report::{LinesReport, Summary};
pub use reservation::{Reservation, Share};
pub use sequential::{
    PassError, TemporaryFiles, merge_passes, merge_sequential, sequential_inputs_max,
};
pub use shuffle::{Shuffle, WithoutKeys};
pub use sort::{merge_formed, merge_lines, sort_formed, sort_lines, sort_lines_to};
pub use xsort_kernels::lines::{
    ByBytes, ByBytesReversed, LineComparer, LineKernels, LineOrder, PutLine, Words,
};
