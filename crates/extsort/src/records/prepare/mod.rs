//! Checks before a sort starts: inputs, output, scratch, and their space.
//!
//! | file | idea |
//! |---|---|
//! | `begin` | a sort from the beginning |
//! | `resume` | a sort that an earlier process began |
//! | `inputs` | the inputs, opened and measured |
//! | `in_place` | whether scratch is in the output's file |
//! | `space` | whether everything fits on the drives |
//! | `prepared` | a sort that can run |

mod begin;
mod in_place;
mod inputs;
mod prepared;
mod resume;
mod space;

pub(crate) use prepared::{Preparation, Prepared, PublishedSort};

use super::options::{Method, SortOptions};
use super::spool::Stream;
use crate::store::checkpoint::{CheckpointNames, OpenedCheckpoint, open_checkpoint};
use crate::{Error, Observer, scratch_directories};
use begin::begin;
use prepared::{meaning, request};
use resume::resume;
use xsort_disk::{Disk, is_standard_output};

/// Prepares a sort. Opens and measures the inputs, reads a stream, plans, and checks the space. If
/// an earlier process left a checkpoint to resume, reopens that instead.
pub(crate) fn prepare<'a>(
    options: &SortOptions,
    stream: Option<Stream>,
    disk: &'a dyn Disk,
    observer: &'a dyn Observer,
) -> Result<Preparation<'a>, Error> {
    let is_stream = is_standard_output(&options.output);
    if is_stream && (options.checkpoint.is_some() || options.remove_input) {
        return Err(Error::Settings(
            "standard output (-o -) can't be written a second time: a sort to it can't be \
             resumed (--checkpoint) and must not remove its inputs (--remove-input); write to a \
             file"
                .into(),
        ));
    }
    if options.codec.is_some() && options.method == Method::Scatter {
        return Err(Error::Settings(
            "bins can't be compressed (--compress): leave out --method scatter".into(),
        ));
    }
    if options.method == Method::MergeInputs && (options.checkpoint.is_some() || stream.is_some()) {
        return Err(Error::Settings(
            "a merge (--merge) reads its inputs where they are, so that none can be a stream, and \
             it can't be resumed (--checkpoint): if one is a stream, write it to a file, or leave \
             out --merge"
                .into(),
        ));
    }
    let Some(checkpoint) = options.checkpoint else {
        return begin(options, stream, None, disk, observer);
    };
    if stream.is_some() {
        return Err(Error::Settings(
            "a stream can't be read again, so its sort can't be resumed: write it to a file first"
                .into(),
        ));
    }
    let names = CheckpointNames::of(
        &options.output,
        &scratch_directories(&options.scratch, &options.output),
    );
    let meaning = meaning(options);
    match open_checkpoint(checkpoint, names, &request(options, &meaning), disk, observer)? {
        OpenedCheckpoint::Saved(saved) => resume(options, *saved, disk, observer),
        OpenedCheckpoint::Fresh(fresh) => begin(options, None, Some(*fresh), disk, observer),
    }
}
