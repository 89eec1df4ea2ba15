//! Keys from a terminal's bytes.
//!
//! Not crossterm's events: its wait reads again and again where a read answers 0 because the
//! terminal is gone, at full speed and for ever.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const ESCAPE: u8 = 0x1b;
const CONTROL_C: u8 = 0x03;

/// What somebody pressed, of that which means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    Quit,
}

/// What came from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Keys(Vec<Key>),
    /// Nothing within the time, or a signal.
    Nothing,
    /// The terminal is gone.
    HungUp,
}

/// The keyboard of a terminal in raw mode.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    /// The beginning of a sequence whose end is still to come.
    begun: Vec<u8>,
}

impl Keyboard {
    /// Waits for keys, no longer than that.
    ///
    /// # Errors
    /// If the terminal can't be read, though it is there.
    pub(super) fn listen(&mut self, terminal: impl AsFd, longest: Duration) -> io::Result<Heard> {
        let deadline = Instant::now() + longest;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).expect("a frame is short");
            let mut looked = [PollFd::new(&terminal, PollFlags::IN)];
            match poll(&mut looked, Some(&left)) {
                Ok(0) => {
                    return Ok(self.pause().map_or(Heard::Nothing, |key| Heard::Keys(vec![key])));
                }
                Ok(_) => {}
                Err(Errno::INTR) => return Ok(Heard::Nothing),
                Err(error) => return Err(error.into()),
            }
            if looked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return Ok(Heard::HungUp);
            }
            let mut bytes = [0; 256];
            match read(&terminal, &mut bytes) {
                // Hung up between the two calls. EIO also says that nobody brings this process to
                // the foreground again.
                Ok(0) | Err(Errno::IO) => return Ok(Heard::HungUp),
                Ok(count) => match self.take(&bytes[..count]) {
                    keys if keys.is_empty() => {}
                    keys => return Ok(Heard::Keys(keys)),
                },
                Err(Errno::INTR | Errno::AGAIN) => return Ok(Heard::Nothing),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The keys of these bytes, of which the last may be the beginning of one.
    fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.push(*byte)).collect()
    }

    fn push(&mut self, byte: u8) -> Option<Key> {
        match (self.begun.as_slice(), byte) {
            ([], ESCAPE) => self.begun.push(ESCAPE),
            ([], b'q' | CONTROL_C) => return Some(Key::Quit),
            ([], b'j') => return Some(Key::Down),
            ([], b'k') => return Some(Key::Up),
            ([], _) => {}
            ([_], ESCAPE) => return Some(Key::Quit),
            ([_], b'[' | b'O') => self.begun.push(byte),
            // A letter pressed together with Alt.
            ([_], _) => self.begun.clear(),
            // Parameters of a sequence, which tell of Shift and the like.
            ([_, _], b'0'..=b'?' | b' '..=b'/') => {}
            ([_, _], _) => {
                self.begun.clear();
                return match byte {
                    b'A' => Some(Key::Up),
                    b'B' => Some(Key::Down),
                    _ => None,
                };
            }
            _ => self.begun.clear(),
        }
        None
    }

    /// Nothing came for a while: a single escape was the key of that name.
    fn pause(&mut self) -> Option<Key> {
        let is_escape = self.begun == [ESCAPE];
        self.begun.clear();
        is_escape.then_some(Key::Quit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn keys_are_told_from_sequences() {
        let mut keyboard = Keyboard::default();
        assert_eq!(
            keyboard.take(b"jk\x1b[A\x1bOBq\x03x\xc3\xa4"),
            [Key::Down, Key::Up, Key::Up, Key::Down, Key::Quit, Key::Quit]
        );
        // In pieces, with parameters, and of other keys.
        assert_eq!(keyboard.take(b"\x1b"), []);
        assert_eq!(keyboard.take(b"["), []);
        assert_eq!(keyboard.take(b"1;2B\x1b[3~\x1b[15~\x1bq"), [Key::Down]);
        assert_eq!((keyboard.take(b"\x1b"), keyboard.pause()), (vec![], Some(Key::Quit)));
        assert_eq!(
            (keyboard.take(b"\x1b["), keyboard.pause(), keyboard.pause()),
            (vec![], None, None)
        );
        assert_eq!(keyboard.take(b"j"), [Key::Down]);
    }

    /// Such a file is always ready, and every read answers 0: a terminal that hangs up between the
    /// two calls is no other.
    #[test]
    fn a_read_of_nothing_is_the_end_of_the_terminal() {
        let gone = File::open("/dev/null").unwrap();
        let heard = Keyboard::default().listen(&gone, Duration::from_secs(3600)).unwrap();
        assert_eq!(heard, Heard::HungUp);
    }
}
