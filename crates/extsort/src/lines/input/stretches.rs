//! Sorted stretches of inputs: where each of them begins, and each as an input of its own.
//!
//! ```text
//!  lines    a c d f h k p t | b e g i n s | q d m a z
//!           sorted          | sorted      | the rest: in any order
//! ```
//!
//! A merge reads the stretches where they are, so that only the rest is sorted. Several files of
//! appended logs look like this, or a sorted file with new lines at its end.

use super::file_part::FilePart;
use super::sampled_file::{PLACE_BYTES, SampledFile};
use super::{Content, LinesInput};
use std::fs;
use std::io;
use xsort_kernels::lines::{LineComparer, last_line, line_end};

/// Most stretches. A sort of more of them forms runs, which are as large as half of the memory.
pub(super) const STRETCHES_MAX: usize = 24;

/// A place in the files that is read.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Number of the file.
    pub(super) file: usize,
    pub(super) offset: u64,
}

/// Two places between which a sorted stretch ends.
pub(super) struct Break {
    pub(super) before: Place,
    /// The last line at the first place.
    pub(super) line: Vec<u8>,
    pub(super) at: Place,
}

/// Parts of the inputs, in their order.
pub(crate) struct Stretches {
    /// Each of these is sorted.
    pub(crate) sorted: Vec<LinesInput>,
    /// What follows, in any order.
    pub(crate) rest: Vec<LinesInput>,
}

/// Cuts inputs at `breaks`. With `has_rest`, what follows the last one is in any order. `None` if
/// there are too many stretches, or if the inputs can't be read in parts.
///
/// # Errors
///
/// If a file can't be read.
pub(super) fn cut(
    files: &[SampledFile<'_>],
    breaks: &[Break],
    has_rest: bool,
    comparer: &mut dyn LineComparer,
    delimiter: u8,
) -> io::Result<Option<Stretches>> {
    let mut begins: Vec<(usize, u64)> = (0..files.len()).map(|file| (file, 0)).collect();
    for found in breaks {
        let Break { before, at, .. } = found;
        let begin = match before.file == at.file {
            true => Search { file: &files[at.file], comparer, delimiter }.end_of(found)?,
            false => Some(0),
        };
        let Some(begin) = begin else { return Ok(None) };
        begins.push((at.file, begin));
    }
    let rest = begins.last().copied().filter(|_| has_rest);
    begins.sort_unstable();
    begins.dedup();
    if begins.len() > STRETCHES_MAX + files.len() {
        return Ok(None);
    }
    let mut stretches = Stretches { sorted: Vec::new(), rest: Vec::new() };
    for (number, file) in files.iter().enumerate() {
        let own = begins.iter().filter(|(of, _)| *of == number).map(|(_, begin)| *begin);
        let begins: Vec<u64> = own.collect();
        let Some(parts) = parts(file, &begins, files.len())? else { return Ok(None) };
        for (part, begin) in parts.into_iter().zip(begins) {
            match rest.is_some_and(|rest| (number, begin) >= rest) {
                true => stretches.rest.push(part),
                false => stretches.sorted.push(part),
            }
        }
    }
    let is_enough = !stretches.sorted.is_empty() && stretches.sorted.len() <= STRETCHES_MAX;
    Ok(is_enough.then_some(stretches))
}

/// The parts of a file that begin at `begins`, each as an input. `None` if it can't be read in
/// parts beside the other files.
fn parts(
    file: &SampledFile<'_>,
    begins: &[u64],
    files: usize,
) -> io::Result<Option<Vec<LinesInput>>> {
    let LinesInput { path, content, .. } = file.input;
    let map = match content {
        Content::Mapped { again: Some(again), .. } if files == 1 => {
            let Some(map) = (again.parts)(begins.len()) else { return Ok(None) };
            Some(map)
        }
        Content::File(_) => None,
        _ => return Ok(None),
    };
    let found = fs::metadata(path)?;
    if found.len() != file.bytes {
        return Ok(None);
    }
    let ends = begins.iter().skip(1).map(|end| Some(*end)).chain([None]);
    let opened = begins.iter().zip(ends).map(|(&begin, end)| {
        let part = Box::new(FilePart::open(path, &found, (begin, end), file.delimiter)?);
        let bytes = map.is_none().then(|| end.unwrap_or(file.bytes).saturating_sub(begin));
        let content = match &map {
            Some(map) => Content::Stream(map(begin == 0)(part)),
            None => Content::Stream(part),
        };
        Ok(LinesInput { path: path.clone(), bytes, content })
    });
    opened.collect::<io::Result<Vec<_>>>().map(Some)
}

/// A search for the end of a sorted stretch of a file.
struct Search<'s, 'i> {
    file: &'s SampledFile<'i>,
    comparer: &'s mut dyn LineComparer,
    delimiter: u8,
}

impl Search<'_, '_> {
    /// Returns the offset behind the last line of the stretch; `None` if lines can't be read.
    fn end_of(&mut self, found: &Break) -> io::Result<Option<u64>> {
        let (mut low, mut high) = (found.before.offset, found.at.offset);
        let mut line = found.line.clone();
        while high - low > PLACE_BYTES as u64 {
            let middle = low + (high - low) / 2;
            let Some(text) = self.file.lines_at(middle)? else { return Ok(None) };
            if self.goes_on(&line, &text) {
                (low, line) = (middle, text[last_line(&text, self.delimiter)].to_vec());
            } else {
                high = middle;
            }
        }
        let Some(raw) = self.file.raw_lines(low, 2 * PLACE_BYTES)? else { return Ok(None) };
        let ends = self.file.line_ends(&raw.bytes);
        let Some(lines) = self.sorted_lines(&raw.bytes, &ends) else { return Ok(None) };
        let end = self.end_of_lines(&raw.bytes, &ends, lines);
        Ok(end.map(|end| raw.offset + end as u64))
    }

    /// True if the lines of `text` are in order and not before `line`.
    fn goes_on(&mut self, line: &[u8], text: &[u8]) -> bool {
        let first = &text[..line_end(text, self.delimiter)];
        self.comparer.compare(line, first).is_le()
            && self.comparer.check(text, self.delimiter, false).disorder.is_none()
    }

    /// Number of lines at the beginning of `raw` that are in order. `ends` are the ends of its
    /// lines, the last of which may be a part of a record.
    fn sorted_lines(&mut self, raw: &[u8], ends: &[usize]) -> Option<usize> {
        let wholes = ends.iter().rev().take(4);
        let text = wholes.into_iter().find_map(|end| self.file.transformed(&raw[..*end]))?;
        let checked = self.comparer.check(&text, self.delimiter, false);
        Some(checked.lines as usize - usize::from(checked.disorder.is_some()))
    }

    /// The end of the first `lines` lines. Where a record has line ends, a line of the input is
    /// several of the file's.
    fn end_of_lines(&self, raw: &[u8], ends: &[usize], lines: usize) -> Option<usize> {
        let first = ends.iter().skip(lines.checked_sub(1)?).take(PLACE_BYTES / 256);
        first.copied().find(|end| {
            let text = self.file.transformed(&raw[..*end]);
            text.is_some_and(|text| memchr::memchr_iter(self.delimiter, &text).count() == lines)
        })
    }
}
