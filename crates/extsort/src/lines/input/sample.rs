//! Whether inputs look sorted already: a few dozen places in their files are read, and their lines
//! compared.
//!
//! ```text
//!  files     |----x---------x---------x-----|---x---------x---------x|
//!            lines of each place are in order, and not before those of the place before
//! ```
//!
//! The first place of random lines has disorder, so the answer for them takes one small read. What
//! was appended to sorted lines may be in any order, if it belongs behind them. The answer "sorted"
//! is a guess: the sort must check all lines.

use super::{Content, LinesInput, MapInput};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use xsort_kernels::lines::{LineComparer, LineKernels, line_end, whole_lines_bytes};

/// Number of places, besides the end of the last file.
const PLACES: u64 = 64;
/// Bytes that are read at each place.
const PLACE_BYTES: usize = 64 << 10;
/// Most files that are sampled.
const FILES_MAX: usize = 1024;
/// At most this share of the places may be in disorder, as a divisor: those at the end.
const APPENDED_SHARE: usize = 4;

/// A file that is sampled.
struct SampledFile<'i> {
    input: &'i LinesInput,
    bytes: u64,
    /// The byte that ends a line of the file.
    delimiter: u8,
    map: Option<&'i Arc<dyn Fn() -> MapInput + Send + Sync>>,
}

impl<'i> SampledFile<'i> {
    /// The file of an input; `None` if it can't be read at any place.
    fn of(input: &'i LinesInput, delimiter: u8) -> Option<SampledFile<'i>> {
        let (open, bytes, delimiter, map) = match &input.content {
            Content::File(open) => (open, input.bytes?, delimiter, None),
            Content::Mapped { open, file_bytes, again, .. } => {
                let again = again.as_ref()?;
                (open, *file_bytes, again.delimiter, Some(&again.sample))
            }
            Content::Url(_) | Content::Stream(_) => return None,
        };
        open.is_plain.then_some(SampledFile { input, bytes, delimiter, map })
    }

    /// The whole lines within the bytes at `offset`, transformed as the input is. `None` if there
    /// are none, or if they can't be transformed on their own.
    fn lines_at(&self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        let mut read = vec![0; PLACE_BYTES];
        let bytes = File::open(&self.input.path)?.read_at(&mut read, offset)?;
        read.truncate(bytes);
        let begin = match offset {
            // The first lines of a file may be a header.
            0 if self.map.is_none() => 0,
            _ => line_end(&read, self.delimiter) + 1,
        };
        let end = whole_lines_bytes(&read, self.delimiter);
        if begin >= end {
            return Ok(None);
        }
        let lines = read[begin..end].to_vec();
        let Some(map) = self.map else { return Ok(Some(lines)) };
        let mut mapped = Vec::new();
        let is_mapped = map()(Box::new(Cursor::new(lines))).read_to_end(&mut mapped).is_ok();
        Ok((is_mapped && !mapped.is_empty()).then_some(mapped))
    }
}

/// Returns true if the lines of `inputs`, one input after the other, look sorted. Their lines end
/// with `delimiter`. Returns false if an input can't be read at any place, or more than once.
pub(crate) fn look_sorted(inputs: &[LinesInput], order: &dyn LineKernels, delimiter: u8) -> bool {
    if inputs.len() > FILES_MAX {
        return false;
    }
    let files: Option<Vec<SampledFile<'_>>> =
        inputs.iter().map(|input| SampledFile::of(input, delimiter)).collect();
    let found = files.map(|files| are_places_sorted(&files, order, delimiter));
    inputs.iter().for_each(LinesInput::forget);
    matches!(found, Some(Ok(true)))
}

/// Compares the lines of all places. Returns true if they are in order, or all but some at the end,
/// which belong behind the others; and if there are any.
fn are_places_sorted(
    files: &[SampledFile<'_>],
    order: &dyn LineKernels,
    delimiter: u8,
) -> io::Result<bool> {
    let mut comparer = order.comparer();
    let mut last: Option<Vec<u8>> = None;
    let (count, mut is_sorted) = (places(files).count(), true);
    for (number, (file, offset)) in places(files).enumerate() {
        let Some(text) = file.lines_at(offset)? else { continue };
        is_sorted &= comparer.check(&text, delimiter, false).disorder.is_none();
        let is_too_early = number < count - count / APPENDED_SHARE;
        if !is_sorted && is_too_early
            || !follow(&mut *comparer, last.as_deref(), &text, delimiter, is_sorted)
        {
            return Ok(false);
        }
        if is_sorted {
            last = Some(last_line(&text, delimiter).to_vec());
        }
    }
    Ok(last.is_some())
}

/// True if no line of `text` is before the line `last`. With `is_sorted` the first one tells.
fn follow(
    comparer: &mut dyn LineComparer,
    last: Option<&[u8]>,
    text: &[u8],
    delimiter: u8,
    is_sorted: bool,
) -> bool {
    let Some(last) = last else { return true };
    let lines_max = if is_sorted { 1 } else { usize::MAX };
    let mut lines = text.split(|&byte| byte == delimiter);
    // After the last delimiter there is no line.
    let _ = lines.next_back();
    lines.take(lines_max).all(|line| comparer.compare(last, line).is_le())
}

/// The last of some whole lines, without its delimiter.
fn last_line(text: &[u8], delimiter: u8) -> &[u8] {
    let text = &text[..text.len() - 1];
    &text[memchr::memrchr(delimiter, text).map_or(0, |end| end + 1)..]
}

/// The places that are read: at equal distances in all files, at least one in each, and the end of
/// the last file. They don't overlap.
fn places<'f, 'i>(
    files: &'f [SampledFile<'i>],
) -> impl Iterator<Item = (&'f SampledFile<'i>, u64)> {
    let place_bytes = PLACE_BYTES as u64;
    let step = (files.iter().map(|file| file.bytes).sum::<u64>() / PLACES).max(place_bytes);
    let last = files.len() - usize::from(!files.is_empty());
    files.iter().enumerate().flat_map(move |(number, file)| {
        let end = file.bytes.saturating_sub(place_bytes);
        let at_end = (number == last && end >= place_bytes).then_some(end);
        // Nothing of these is in the place at the end.
        let before = (0..end.saturating_sub(place_bytes).max(1)).step_by(step as usize);
        before.chain(at_end).map(move |offset| (file, offset))
    })
}
