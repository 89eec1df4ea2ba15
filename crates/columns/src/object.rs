//! An object in a store, read at positions by any number of threads.
//!
//! A request takes as long as many pages do, so each read takes a window of the object, from which
//! the next reads of the same column are served.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, Direction, Disk, FileId, Lease, Request};
use xsort_extsort::Error;

/// Windows for a footer and the headers of pages: their number, and the bytes of each.
pub(crate) const WINDOWS: (usize, usize) = (2, 64 << 10);

/// Bytes of a request for what is larger than a window.
const STEP_BYTES: usize = 4 << 20;

/// An object that is open on the disk.
pub(crate) struct Object {
    disk: Arc<dyn Disk>,
    file: FileId,
    path: PathBuf,
    pub(crate) bytes: u64,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Object").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Object {
    /// Opens the object at a URL.
    pub(crate) fn open(disk: &Arc<dyn Disk>, url: &Path) -> Result<Object, Error> {
        let file = disk.open_input(url)?;
        let (disk, path) = (Arc::clone(disk), url.to_owned());
        let mut object = Object { disk, file, path, bytes: 0 };
        object.bytes = object.disk.file_bytes(file)?;
        Ok(object)
    }

    /// Fails if it has changed since it was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        Ok(self.disk.check_unchanged(self.file)?)
    }

    /// Reads at least `bytes` bytes from `from` on, if it has as many.
    fn read(&self, from: u64, bytes: usize) -> io::Result<Window> {
        let alignment = ALIGNMENT as u64;
        let begin = from / alignment * alignment;
        let needed = (from + bytes as u64).min(self.bytes) - begin;
        let length = needed.next_multiple_of(alignment) as usize;
        let (reply, done) = crossbeam_channel::bounded(1);
        let lease = Lease::map(length).map_err(io::Error::other)?;
        self.disk.submit(Request {
            direction: Direction::Read,
            file: self.file,
            offset: begin,
            bytes: length,
            bytes_needed: needed as usize,
            lease,
            tag: 0,
            reply,
        });
        let done = done.recv().map_err(io::Error::other)?;
        done.result.map_err(io::Error::other)?;
        Ok(Window { begin, bytes: needed as usize, memory: done.lease })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.disk.close(self.file);
    }
}

/// A part of an object in memory.
struct Window {
    begin: u64,
    bytes: usize,
    memory: Lease,
}

impl Window {
    /// Copies bytes from `at` on, as many as the window has, and returns their number.
    fn copy(&self, buffer: &mut [u8], at: u64) -> usize {
        let from = at.checked_sub(self.begin).map_or(self.bytes, |from| from as usize);
        let own = self.memory[..self.bytes].get(from..).unwrap_or_default();
        let bytes = own.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&own[..bytes]);
        bytes
    }
}

/// The windows of one reader, the one that was used last at the end.
pub(crate) struct Windows {
    object: Arc<Object>,
    windows: Mutex<VecDeque<Window>>,
    count: usize,
    bytes: usize,
}

impl std::fmt::Debug for Windows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Windows").field("object", &self.object).finish_non_exhaustive()
    }
}

impl Windows {
    pub(crate) fn new(object: &Arc<Object>, (count, bytes): (usize, usize)) -> Windows {
        let (object, windows) = (Arc::clone(object), Mutex::default());
        Windows { object, windows, count: count.max(1), bytes }
    }

    /// Reads bytes at an offset: as many as a window has.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        if at >= self.object.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let mut windows = self.windows.lock();
        let found = windows.iter().position(|window| window.copy(&mut buffer[..1], at) > 0);
        if let Some(window) = found.and_then(|found| windows.remove(found)) {
            let bytes = window.copy(buffer, at);
            windows.push_back(window);
            return Ok(bytes);
        }
        // Its memory is free before that of the next one is taken.
        if let Some(before) = windows.iter().position(|window| self.is_before(window, at)) {
            windows.remove(before);
        } else if windows.len() == self.count {
            windows.pop_front();
        }
        let window = self.object.read(at, self.bytes)?;
        let bytes = window.copy(buffer, at);
        windows.push_back(window);
        Ok(bytes)
    }

    /// Reads `length` bytes, which the object has. What no window has room for is read past them.
    pub(crate) fn read_all(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut taken = 0;
        while taken < length {
            let (rest, from) = (&mut bytes[taken..], at + taken as u64);
            taken += match rest.len() > self.bytes {
                true => {
                    let wanted = rest.len().min(STEP_BYTES);
                    self.object.read(from, wanted)?.copy(rest, from)
                }
                false => self.read_at(rest, from)?,
            };
        }
        Ok(bytes)
    }

    /// Returns whether a window ends where a reader has come to.
    fn is_before(&self, window: &Window, at: u64) -> bool {
        window.begin + window.bytes as u64 == at
    }
}
