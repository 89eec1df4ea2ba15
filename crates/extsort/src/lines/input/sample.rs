//! Whether inputs look sorted already: a few dozen places in their files are read, and their lines
//! compared.
//!
//! ```text
//!  files     |----x---------x---------x-----|---x---------x---------x|
//!            lines of each place are in order, and not before those of the place before
//! ```
//!
//! The first place of random lines has disorder, so the answer for them takes one small read. What
//! was appended to sorted lines may be in any order, if it belongs behind them. Inputs may also be
//! some sorted stretches one after the other, with a rest in any order at the end. All answers are
//! guesses: the sort must check all lines.

use super::LinesInput;
use super::sampled_file::{PLACE_BYTES, SampledFile};
use super::stretches::{Break, Place, STRETCHES_MAX, Stretches, cut};
use std::io;
use xsort_kernels::lines::{LineComparer, LineKernels, last_line};

/// Number of places, besides the end of the last file.
const PLACES: u64 = 64;
/// Most files that are sampled.
const FILES_MAX: usize = 1024;
/// At most this share of the places may be in disorder, as a divisor: those at the end.
const APPENDED_SHARE: usize = 4;

/// What inputs look like.
pub(crate) enum Looks {
    /// In order, but perhaps for what was appended and follows.
    Sorted,
    /// Sorted stretches, and perhaps a rest in any order.
    InStretches(Stretches),
    /// In any order; or they can't be read at any place, or only once.
    Unsorted,
}

/// Says what the lines of `inputs`, one input after the other, look like. They end with
/// `delimiter`.
pub(crate) fn look(inputs: &[LinesInput], order: &dyn LineKernels, delimiter: u8) -> Looks {
    if inputs.len() > FILES_MAX {
        return Looks::Unsorted;
    }
    let files: Option<Vec<SampledFile<'_>>> =
        inputs.iter().map(|input| SampledFile::of(input, delimiter)).collect();
    let looks = files.map(|files| judge(&files, order, delimiter));
    inputs.iter().for_each(LinesInput::forget);
    looks.and_then(Result::ok).unwrap_or(Looks::Unsorted)
}

/// Compares the lines of all places.
fn judge(files: &[SampledFile<'_>], order: &dyn LineKernels, delimiter: u8) -> io::Result<Looks> {
    let mut comparer = order.comparer();
    let (count, mut is_sorted, mut has_rest) = (places(files).count(), true, false);
    // The last place in order, and its last line.
    let mut last: Option<(Place, Vec<u8>)> = None;
    let mut breaks: Vec<Break> = Vec::new();
    for (number, place) in places(files).enumerate() {
        let Some(text) = files[place.file].lines_at(place.offset)? else { continue };
        let in_order = lines_in_order(&mut *comparer, &text, delimiter);
        let (text, is_in_order) = (in_order.unwrap_or(&text), in_order.is_some());
        let is_too_early = number < count - count / APPENDED_SHARE;
        if !is_in_order && is_too_early {
            return Ok(Looks::Unsorted);
        }
        let line = last.as_ref().map(|(_, line)| &**line);
        let follows = follow(&mut *comparer, line, text, delimiter, is_in_order && !has_rest);
        is_sorted &= follows;
        if let Some((before, line)) = &last
            && !has_rest
            && !(follows && is_in_order)
        {
            breaks.push(Break { before: *before, line: line.clone(), at: place });
        }
        has_rest |= !is_in_order;
        if breaks.len() >= STRETCHES_MAX {
            return Ok(Looks::Unsorted);
        }
        if has_rest && !is_sorted {
            break;
        }
        if !has_rest {
            last = Some((place, text[last_line(text, delimiter)].to_vec()));
        }
    }
    if is_sorted {
        return Ok(if last.is_some() { Looks::Sorted } else { Looks::Unsorted });
    }
    let stretches = cut(files, &breaks, has_rest, &mut *comparer, delimiter)?;
    Ok(stretches.map_or(Looks::Unsorted, Looks::InStretches))
}

/// The lines of a place, or those before the only one that is not in order: a stretch may end
/// there. `None` if there are more of these.
fn lines_in_order<'t>(
    comparer: &mut dyn LineComparer,
    text: &'t [u8],
    delimiter: u8,
) -> Option<&'t [u8]> {
    let Some(line) = comparer.check(text, delimiter, false).disorder else { return Some(text) };
    let (before, rest) = text.split_at(line.start);
    comparer.check(rest, delimiter, false).disorder.is_none().then_some(before)
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

/// The places that are read: at equal distances in all files, at least one in each, and the end of
/// the last file. They don't overlap.
fn places(files: &[SampledFile<'_>]) -> impl Iterator<Item = Place> {
    let place_bytes = PLACE_BYTES as u64;
    let step = (files.iter().map(|file| file.bytes).sum::<u64>() / PLACES).max(place_bytes);
    let last = files.len() - usize::from(!files.is_empty());
    files.iter().enumerate().flat_map(move |(number, file)| {
        let end = file.bytes.saturating_sub(place_bytes);
        let at_end = (number == last && end >= place_bytes).then_some(end);
        // Nothing of these is in the place at the end.
        let before = (0..end.saturating_sub(place_bytes).max(1)).step_by(step as usize);
        before.chain(at_end).map(move |offset| Place { file: number, offset })
    })
}
