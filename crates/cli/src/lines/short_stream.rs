//! Standard input that may be short: a few lines from a pipe are read here, before anything is set
//! up for more. Then they are sorted as a small file is.

use super::inputs::STANDARD;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::{Errno, read};
use std::io::{self, Cursor, Read};
use std::time::{Duration, Instant};
use xsort_extsort::variable::{Content, LinesInput, SMALL_INPUT_BYTES};

/// How long to wait for the end. Whoever watches a job sees it only after that.
const PATIENCE: Duration = Duration::from_millis(200);
/// Memory for the first read.
const FIRST_BYTES: usize = 16 << 10;

/// Reads the first of `inputs` to its end, if it is standard input of unknown size and the end
/// comes soon. Its size is known then. Otherwise it is still whole.
pub(super) fn read_if_short(inputs: &mut [LinesInput]) {
    let Some(LinesInput { path, bytes, content: Content::Stream(stream) }) = inputs.first_mut()
    else {
        return;
    };
    if bytes.is_some() || path.as_os_str() != STANDARD {
        return;
    }
    let (head, is_all) = read_for_a_moment();
    if is_all {
        *bytes = Some(head.len() as u64);
        *stream = Box::new(Cursor::new(head));
    } else {
        let rest = std::mem::replace(stream, Box::new(io::empty()));
        *stream = Box::new(Cursor::new(head).chain(rest));
    }
}

/// Reads standard input for a moment, or until there is more of it than is little. Returns the
/// bytes, and whether these are all. An error is left to the next read.
fn read_for_a_moment() -> (Vec<u8>, bool) {
    let begun = Instant::now();
    let stdin = io::stdin();
    let (mut head, mut filled) = (vec![0; FIRST_BYTES], 0);
    let is_all = loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        let timeout = Timespec::try_from(left).expect("it is short");
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => continue,
            Ok(0) | Err(_) => break false,
            Ok(_) => {}
        }
        if filled == head.len() {
            head.resize(2 * filled, 0);
        }
        match read(&stdin, &mut head[filled..]) {
            Ok(0) => break true,
            Ok(bytes) => filled += bytes,
            Err(Errno::INTR) => {}
            Err(_) => break false,
        }
        if filled as u64 > SMALL_INPUT_BYTES {
            break false;
        }
    };
    head.truncate(filled);
    (head, is_all)
}
