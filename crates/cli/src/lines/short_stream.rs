//! Streams that may be short. A few lines from pipes are read here, before anything is set up for
//! more, and then sorted like small files. `sort <(command)` is such a stream, too: the shell
//! passes the name of a pipe that is already open.

use super::inputs::STANDARD;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use rustix::io::{Errno, read};
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};
use xsort_extsort::lines::{Content, LinesInput, SMALL_INPUT_BYTES};

/// The time limit for reading all streams to their ends. The status shows a job only after that.
const PATIENCE: Duration = Duration::from_millis(200);
/// Bytes of memory for the first read.
const FIRST_BYTES: usize = 16 << 10;

/// Reads open streams of unknown size among `inputs` to their ends, one after the other, as long as
/// the ends come soon and the total is small. Their sizes are then known. The first stream that is
/// longer stays complete, and the inputs after it are not touched.
pub(super) fn read_if_short(inputs: &mut [LinesInput]) {
    let (begun, mut most) = (Instant::now(), SMALL_INPUT_BYTES as usize);
    for LinesInput { path, bytes, content } in inputs {
        let Content::Stream(stream) = content else { continue };
        if bytes.is_some() {
            continue;
        }
        let file = if path.as_os_str() == STANDARD {
            None
        } else if is_open_already(path) {
            // A file that can't be opened is reported when it is read.
            let Ok(file) = File::open(&*path) else { return };
            Some(file)
        } else {
            return;
        };
        let stdin = io::stdin();
        let from = file.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
        let (head, is_all) = read_for_a_moment(from, begun, most);
        if !is_all {
            let mut rest = std::mem::replace(stream, Box::new(io::empty()));
            if let Some(file) = file {
                rest = Box::new(file);
            }
            *stream = Box::new(Cursor::new(head).chain(rest));
            return;
        }
        most -= head.len();
        *bytes = Some(head.len() as u64);
        *stream = Box::new(Cursor::new(head));
    }
}

/// True if opening the path doesn't wait for another process, as opening a named pipe does.
fn is_open_already(path: &Path) -> bool {
    path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd") || path == "/dev/null"
}

/// Reads a stream until `PATIENCE` has passed since `begun`, or until it exceeds `most` bytes.
/// Returns the bytes, and true if they are the whole stream. An error is left to the next read.
fn read_for_a_moment(from: BorrowedFd<'_>, begun: Instant, most: usize) -> (Vec<u8>, bool) {
    let (mut head, mut filled) = (vec![0; FIRST_BYTES], 0);
    let is_all = loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        let timeout = Timespec::try_from(left).expect("it is short");
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], Some(&timeout)) {
            Err(Errno::INTR) => continue,
            Ok(0) | Err(_) => break false,
            Ok(_) => {}
        }
        if filled == head.len() {
            head.resize(2 * filled, 0);
        }
        match read(from, &mut head[filled..]) {
            Ok(0) => break true,
            Ok(bytes) => filled += bytes,
            Err(Errno::INTR) => {}
            Err(_) => break false,
        }
        if filled > most {
            break false;
        }
    };
    head.truncate(filled);
    (head, is_all)
}
