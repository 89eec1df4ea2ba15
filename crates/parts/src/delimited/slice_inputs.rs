//! The ranges of a slice as inputs of the engine.

use crate::error::Error;
use crate::job::{JobInput, Slice, SliceInput};
use crate::means::Means;
use crate::places::read_places;
use std::io::Read;
use std::path::Path;
use xsort_extsort::Reservation;
use xsort_extsort::lines::{Content, LinesInput, RangeRead, Recognised, recognise, unreadable};
use xsort_records::Compression;

/// Number of blocks with which a range is read, and the size of each in bytes. Files at URLs use
/// the same values.
const BLOCKS: (usize, usize) = (8, 512 << 10);
/// Number of bytes that are first searched for the end of a line.
const LOOK_BYTES: u64 = 64 << 10;
/// Number of bytes at a file's beginning that are needed to recognise its compression.
const HEAD_BYTES: u64 = 64;

/// The inputs of a slice, decompressed where they are compressed, and what this takes of the
/// budget.
pub(crate) fn slice_inputs(
    slice: &Slice,
    means: &Means<'_>,
) -> Result<(Vec<LinesInput>, Reservation), Error> {
    let open = |input: &SliceInput| -> Result<LinesInput, Error> {
        let path = Path::new(&input.path);
        if input.whole {
            return Ok(LinesInput::on(&means.job.disk, path)?);
        }
        let read = RangeRead::open(&means.job.disk, path, (input.offset, input.bytes), BLOCKS)?;
        let content = Content::Stream(Box::new(read));
        Ok(LinesInput { path: input.name(), bytes: Some(input.bytes), content })
    };
    let mut inputs = Vec::with_capacity(slice.inputs.len());
    let mut all = Reservation::default();
    for input in &slice.inputs {
        let opened = open(input)?;
        if !input.whole {
            // Only a file's beginning can show that it is compressed.
            inputs.push(opened);
            continue;
        }
        let Recognised { inputs: mut plain, reservation, .. } =
            recognise(vec![opened], false, || means.job.budget_and_threads())
                .map_err(|(path, error)| unreadable(path, error))?;
        // They are read one after the other.
        if reservation.of(means.job.budget_bytes()) > all.of(means.job.budget_bytes()) {
            all = reservation;
        }
        inputs.append(&mut plain);
    }
    Ok((inputs, all))
}

/// Returns whether a file is compressed. If so, it can't be cut at lines.
pub(crate) fn is_compressed(path: &Path, means: &Means<'_>) -> Result<bool, Error> {
    let mut is_compressed = false;
    read_places(&*means.job.disk, path, &[0], HEAD_BYTES, |_, head| {
        is_compressed = Compression::detect(head).is_some();
    })?;
    Ok(is_compressed)
}

/// Returns the first offset at or after `at` where a line begins, or the file's length if there is
/// none. `at` must be more than 0.
pub(crate) fn line_begin(
    input: &JobInput,
    at: u64,
    delimiter: u8,
    means: &Means<'_>,
) -> Result<u64, Error> {
    let path = Path::new(&input.path);
    let mut near = None;
    read_places(&*means.job.disk, path, &[at - 1], LOOK_BYTES, |_, bytes| {
        near = memchr::memchr(delimiter, bytes);
    })?;
    if let Some(found) = near {
        return Ok((at + found as u64).min(input.bytes));
    }
    let mut from = (at - 1 + LOOK_BYTES).min(input.bytes);
    let rest = (from, input.bytes - from);
    let mut read = RangeRead::open(&means.job.disk, path, rest, BLOCKS)?;
    let mut memory = vec![0; BLOCKS.1];
    loop {
        let bytes =
            read.read(&mut memory).map_err(|error| xsort_disk::Error::of_read(path, error))?;
        if bytes == 0 {
            return Ok(input.bytes);
        }
        if let Some(found) = memchr::memchr(delimiter, &memory[..bytes]) {
            return Ok((from + found as u64 + 1).min(input.bytes));
        }
        from += bytes as u64;
    }
}
