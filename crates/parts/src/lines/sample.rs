//! Samples the lines of a slice at evenly spaced places: at each place the next line that begins
//! after it.

use super::Lines;
use crate::delimited::slice_inputs;
use crate::error::Error;
use crate::hex::Hex;
use crate::input_tag::check_unchanged;
use crate::job::{Slice, SliceInput};
use crate::means::Means;
use crate::places::read_places;
use crate::sample::{SampledKey, SliceSample};
use std::io::Read;
use std::path::Path;

/// Number of bytes read at each place. A line that is longer counts by its beginning.
const PLACE_BYTES: u64 = 16 << 10;
/// Maximum number of bytes read of an input that can only be read from its beginning.
const BEGINNING_BYTES: u64 = 4 << 20;

/// Returns about `keys` lines of a slice with their places. Inputs for which `is_plain` returns
/// true are sampled at any place, the others only at their beginning.
pub(crate) fn sample_lines(
    slice: &Slice,
    keys: u64,
    delimiter: u8,
    means: &Means<'_>,
    is_plain: impl Fn(&SliceInput) -> Result<bool, Error>,
) -> Result<Vec<(u64, Vec<u8>)>, Error> {
    let middle = |number: u64| {
        let twice = u128::from(2 * number + 1) * u128::from(slice.bytes);
        (twice / u128::from(2 * keys)) as u64
    };
    let mut found = Vec::new();
    let mut begin = 0;
    for input in &slice.inputs {
        check_unchanged(&*means.job.disk, Path::new(&input.path), &input.tag)?;
        let end = begin + input.bytes;
        let here: Vec<u64> =
            (0..keys).map(middle).filter(|place| (begin..end).contains(place)).collect();
        if !here.is_empty() {
            match is_plain(input)? {
                true => sample_places(input, begin, &here, delimiter, means, &mut found)?,
                false => sample_beginning(input, begin, here.len(), delimiter, means, &mut found)?,
            }
        }
        begin = end;
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found)
}

/// Samples the lines after these places of the slice, all of which lie in `input`, which begins at
/// `begin`.
fn sample_places(
    input: &SliceInput,
    begin: u64,
    places: &[u64],
    delimiter: u8,
    means: &Means<'_>,
    found: &mut Vec<(u64, Vec<u8>)>,
) -> Result<(), Error> {
    let offsets: Vec<u64> = places.iter().map(|place| place - begin + input.offset).collect();
    let take = |number: usize, bytes: &[u8]| {
        // The range's first line begins at its first byte.
        let is_first = offsets[number] == input.offset;
        let line = match memchr::memchr(delimiter, bytes) {
            _ if is_first => bytes,
            Some(end) if end + 1 < bytes.len() => &bytes[end + 1..],
            _ => return,
        };
        let end = memchr::memchr(delimiter, line).unwrap_or(line.len());
        found.push((places[number], line[..end].to_vec()));
    };
    read_places(&*means.job.disk, Path::new(&input.path), &offsets, PLACE_BYTES, take)
}

/// Samples lines at the beginning of a compressed input as if they were from all of it.
fn sample_beginning(
    input: &SliceInput,
    begin: u64,
    count: usize,
    delimiter: u8,
    means: &Means<'_>,
    found: &mut Vec<(u64, Vec<u8>)>,
) -> Result<(), Error> {
    let slice = Slice { index: 0, inputs: vec![input.clone()], bytes: input.bytes };
    let (inputs, _) = slice_inputs(&slice, means)?;
    let mut text = Vec::new();
    for opened in inputs {
        let path = opened.path.clone();
        let read = opened.into_bytes().take(BEGINNING_BYTES).read_to_end(&mut text);
        read.map_err(|error| xsort_disk::Error::of_read(path, error))?;
    }
    let lines: Vec<&[u8]> = text.split(|&byte| byte == delimiter).collect();
    let step = lines.len().div_ceil(count).max(1);
    for (number, line) in lines.iter().step_by(step).enumerate() {
        let share = u128::from(input.bytes) * number as u128 / count.max(number + 1) as u128;
        let line = &line[..line.len().min(PLACE_BYTES as usize)];
        found.push((begin + share as u64, line.to_vec()));
    }
    Ok(())
}

impl Lines {
    pub(super) fn sample_slice(
        &self,
        slice: &Slice,
        keys: u64,
        means: &Means<'_>,
    ) -> Result<SliceSample, Error> {
        let is_plain = |input: &SliceInput| match input.whole {
            true => Ok(!crate::delimited::is_compressed(Path::new(&input.path), means)?),
            false => Ok(true),
        };
        let lines = sample_lines(slice, keys, self.delimiter, means, is_plain)?;
        let key = |(offset, line)| SampledKey { key: Hex(line), offset };
        let keys = lines.into_iter().map(key).collect();
        Ok(SliceSample { slice: slice.index, bytes: slice.bytes, keys })
    }
}
