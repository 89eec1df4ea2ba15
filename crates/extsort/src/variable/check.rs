//! The first line that is out of order. Only a window of the input is in memory: a line, the one
//! before it, and what was read ahead.

use std::cmp::Ordering;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use xsort_kernels::lines::LineOrder;

/// Bytes read at once, at most; the window begins with so many.
const READ_BYTES: usize = 256 << 10;
/// The most by which the window grows at once. What is added is touched, lines or not.
const STEP_BYTES_MAX: usize = 16 << 20;

/// Finds the first line that is smaller than the one before it, or with `is_unique` equal to it.
/// Returns its number, from 1 on, and its text.
///
/// # Errors
/// If `bytes` can't be read, or if two neighbouring lines don't fit in memory.
pub fn first_disorder<O: LineOrder>(
    order: &O,
    mut bytes: impl Read,
    delimiter: u8,
    is_unique: bool,
) -> io::Result<Option<(u64, Vec<u8>)>> {
    let mut scratch = O::Scratch::default();
    let mut window = vec![0; READ_BYTES];
    // How far the window is filled, where the next line begins in it, and the line before that.
    let (mut filled, mut begin, mut previous) = (0, 0, None::<Range<usize>>);
    let mut number = 0;
    loop {
        let free = filled..window.len().min(filled + READ_BYTES);
        let read_bytes = match read(&mut bytes, &mut window[free])? {
            0 if begin == filled => return Ok(None),
            0 => {
                // The last line lacks its end.
                window[filled] = delimiter;
                1
            }
            bytes => bytes,
        };
        for end in memchr::memchr_iter(delimiter, &window[filled..][..read_bytes]) {
            let line = begin..filled + end;
            number += 1;
            let by = previous.map_or(Ordering::Less, |previous| {
                order.compare(&window[previous], &window[line.clone()], &mut scratch)
            });
            if by == Ordering::Greater || (is_unique && by == Ordering::Equal) {
                // In place: a copy would be a third line in memory.
                window.truncate(line.end);
                window.drain(..line.start);
                return Ok(Some((number, window)));
            }
            begin = line.end + 1;
            previous = Some(line);
        }
        // The previous line and what was read behind it move to the front.
        let start = previous.as_ref().map_or(begin, |previous| previous.start);
        window.copy_within(start..filled + read_bytes, 0);
        (filled, begin) = (filled + read_bytes - start, begin - start);
        previous = previous.map(|previous| previous.start - start..previous.end - start);
        if window.len() - filled < READ_BYTES / 2 {
            grow(&mut window)?;
        }
    }
}

/// Makes the window a little larger, in place: the C library moves the pages of large memory to
/// another address without copying them.
fn grow(window: &mut Vec<u8>) -> io::Result<()> {
    let step = (window.len() / 8).clamp(READ_BYTES, STEP_BYTES_MAX);
    window.try_reserve_exact(step).map_err(|_| {
        let bytes = window.len();
        let what = format!(
            "two neighbouring lines of more than {bytes} bytes together don't fit in memory: \
             raise its limit (ulimit -v)"
        );
        io::Error::new(ErrorKind::OutOfMemory, what)
    })?;
    window.resize(window.len() + step, 0);
    Ok(())
}

fn read(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_kernels::lines::ByBytes;

    fn check(text: &[u8]) -> Option<(u64, Vec<u8>)> {
        first_disorder(&ByBytes, text, b'\n', false).unwrap()
    }

    #[test]
    fn windows_end_anywhere() {
        for length in [0, 1, 7, 1000, READ_BYTES - 1, READ_BYTES, 3 * READ_BYTES] {
            let lines = (2 * READ_BYTES).div_ceil(length + 2);
            let mut text = Vec::new();
            for line in 0..lines {
                text.resize(text.len() + length, b'a' + (25 * line / lines) as u8);
                text.push(b'\n');
            }
            assert_eq!(check(&text), None, "{length}");
            text.extend(b"\n!");
            // An empty line is out of order behind any but another.
            let expected = (length > 0).then(|| (lines as u64 + 1, Vec::new()));
            assert_eq!(check(&text), expected, "{length}");
        }
    }
}
