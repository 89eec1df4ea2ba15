//! Finds the first line that is out of order. Only windows of the input are in memory: a line, the
//! one before it, and the bytes read ahead.
//!
//! A window that one read filled goes to a thread, except the first windows. Small reads are
//! checked as they come, because their writer may wait for the answer.
//!
//! | file | idea |
//! |---|---|
//! | `window` | a part of the input in memory |
//! | `piece` | the check of its lines, each with the one before |
//! | `threads` | several windows at a time |

mod piece;
mod threads;
mod window;

use piece::LineCheck;
use std::io::{self, Read};
use threads::WindowThreads;
use window::{Brought, READ_BYTES, WholeLines, Window};
use xsort_kernels::lines::{CheckedLines, LineComparer, LineKernels};

/// Large windows that the reading thread checks itself before it starts other threads.
const WINDOWS_BEFORE_THREADS: usize = 2;
/// Most threads: these check faster than one thread reads.
const THREADS_MAX: usize = 16;

/// A line out of order: its number, from 1, and its text.
type Disorder = (u64, Vec<u8>);

/// Finds the first line that is smaller than the line before it, or with `is_unique` equal to it.
/// Returns its number, from 1, and its text. `threads` returns the number of threads, and is called
/// for large inputs only.
///
/// # Errors
///
/// If `bytes` can't be read, or if two adjacent lines don't fit in memory.
pub fn first_disorder(
    order: &dyn LineKernels,
    bytes: impl Read,
    delimiter: u8,
    is_unique: bool,
    threads: impl FnOnce() -> usize,
) -> io::Result<Option<(u64, Vec<u8>)>> {
    let check = LineCheck { order, delimiter, is_unique };
    let outcomes = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let start = || {
            let threads = Some(threads().min(THREADS_MAX)).filter(|&threads| threads > 1)?;
            WindowThreads::start(scope, threads, check, &outcomes)
        };
        let comparer = order.comparer();
        let run = Run { check, comparer, threads: None, lines: 0, is_first: true };
        run.check_all(bytes, Window::new(delimiter), start)
    })
}

/// The state of a check.
struct Run<'c, 's> {
    check: LineCheck<'c>,
    comparer: Box<dyn LineComparer + 'c>,
    threads: Option<WindowThreads<'s>>,
    /// Number of lines in the windows found in order.
    lines: u64,
    /// True until a window has been checked.
    is_first: bool,
}

impl<'s> Run<'_, 's> {
    fn check_all(
        mut self,
        mut bytes: impl Read,
        mut window: Window,
        start: impl FnOnce() -> Option<WindowThreads<'s>>,
    ) -> io::Result<Option<Disorder>> {
        let (mut start, mut large_windows) = (Some(start), 0);
        loop {
            let lines = match window.read(&mut bytes)? {
                Brought::Lines(lines) => lines,
                Brought::Part => continue,
                Brought::End => return self.take_findings(true),
            };
            let is_large = lines.bytes > READ_BYTES / 2 && !window.has_grown();
            large_windows += usize::from(is_large);
            if large_windows > WINDOWS_BEFORE_THREADS
                && let Some(start) = start.take()
            {
                self.threads = start();
            }
            let found = match &mut self.threads {
                Some(threads) if is_large => {
                    let text = window.pass_to(threads.memory(READ_BYTES), lines);
                    threads.give(text, lines.bytes);
                    self.take_findings(false)?
                }
                _ => self.check_here(&mut window, lines)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Checks lines on this thread, after waiting for all earlier windows.
    fn check_here(
        &mut self,
        window: &mut Window,
        lines: WholeLines,
    ) -> io::Result<Option<Disorder>> {
        let mut found = self.take_findings(true)?;
        if found.is_none() {
            let checked = self.check.check(&window.text[..lines.bytes], &mut *self.comparer);
            found = self.conclude(checked, &mut window.text);
        }
        if found.is_none() {
            window.pass(lines);
        }
        Ok(found)
    }

    /// Takes the threads' results, up to a line out of order. With `all` it waits for them.
    fn take_findings(&mut self, all: bool) -> io::Result<Option<Disorder>> {
        let Some(mut threads) = self.threads.take() else { return Ok(None) };
        let mut found = None;
        while found.is_none()
            && let Some((checked, mut text)) = threads.take(all)?
        {
            found = self.conclude(checked, &mut text);
            threads.recycle(text);
        }
        self.threads = Some(threads);
        Ok(found)
    }

    /// Counts the lines of a window. A line out of order is cut out of the window's text in place,
    /// since a copy would be a third line in memory.
    fn conclude(&mut self, checked: CheckedLines, text: &mut Vec<u8>) -> Option<Disorder> {
        // The first line was the last one of the window before.
        self.lines += checked.lines - u64::from(!self.is_first);
        self.is_first = false;
        let line = checked.disorder?;
        let mut text = std::mem::take(text);
        text.truncate(line.end);
        text.drain(..line.start);
        Some((self.lines, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_kernels::lines::ByBytes;

    fn check(text: &[u8]) -> Option<(u64, Vec<u8>)> {
        first_disorder(&ByBytes, text, b'\n', false, || 3).unwrap()
    }

    #[test]
    fn windows_end_anywhere() {
        for length in [0, 1, 7, 1000, READ_BYTES - 1, READ_BYTES, 3 * READ_BYTES] {
            let lines = (9 * READ_BYTES).div_ceil(length + 2);
            let mut text = Vec::new();
            for line in 0..lines {
                text.resize(text.len() + length, b'a' + (25 * line / lines) as u8);
                text.push(b'\n');
            }
            assert_eq!(check(&text), None, "{length}");
            text.extend(b"\n!");
            // An empty line is out of order after any line except an empty one.
            let expected = (length > 0).then(|| (lines as u64 + 1, Vec::new()));
            assert_eq!(check(&text), expected, "{length}");
        }
    }
}
