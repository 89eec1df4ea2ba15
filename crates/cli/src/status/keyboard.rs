//! Reads keys from the bytes of a terminal.
//!
//! crossterm's events are not used: if the terminal is gone and a read returns 0, crossterm reads
//! again forever, without a pause.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const ESCAPE: u8 = 0x1b;
const CONTROL_C: u8 = 0x03;

/// A key with a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    /// Clears the chosen job.
    Clear,
    /// Clears all dead jobs.
    ClearAll,
    /// Shows the keys, or hides them.
    Help,
    Quit,
}

/// An event from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyboardEvent {
    Keys(Vec<Key>),
    /// No key within the timeout, or a signal.
    Nothing,
    /// The terminal is gone.
    HungUp,
}

/// The keyboard of a terminal in raw mode.
#[derive(Debug, Default)]
pub(super) struct Keyboard {
    /// The beginning of an escape sequence whose end hasn't arrived yet.
    sequence: Vec<u8>,
}

impl Keyboard {
    /// Waits for keys, at most for the timeout.
    ///
    /// # Errors
    /// If the terminal can't be read, although it is there.
    pub(super) fn next_event(
        &mut self,
        terminal: impl AsFd,
        timeout: Duration,
    ) -> io::Result<KeyboardEvent> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).expect("a frame is short");
            let mut polled = [PollFd::new(&terminal, PollFlags::IN)];
            match poll(&mut polled, Some(&left)) {
                Ok(0) => {
                    return Ok(self
                        .end_of_sequence()
                        .map_or(KeyboardEvent::Nothing, |key| KeyboardEvent::Keys(vec![key])));
                }
                Ok(_) => {}
                Err(Errno::INTR) => return Ok(KeyboardEvent::Nothing),
                Err(error) => return Err(error.into()),
            }
            if polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return Ok(KeyboardEvent::HungUp);
            }
            let mut bytes = [0; 256];
            match read(&terminal, &mut bytes) {
                // Hung up between the two calls. EIO also means that this process is in the
                // background permanently.
                Ok(0) | Err(Errno::IO) => return Ok(KeyboardEvent::HungUp),
                Ok(count) => match self.take(&bytes[..count]) {
                    keys if keys.is_empty() => {}
                    keys => return Ok(KeyboardEvent::Keys(keys)),
                },
                Err(Errno::INTR | Errno::AGAIN) => return Ok(KeyboardEvent::Nothing),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The keys in these bytes. The last bytes may begin an escape sequence.
    fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.push(*byte)).collect()
    }

    fn push(&mut self, byte: u8) -> Option<Key> {
        match (self.sequence.as_slice(), byte) {
            ([], ESCAPE) => self.sequence.push(ESCAPE),
            ([], b'q' | CONTROL_C) => return Some(Key::Quit),
            ([], b'j') => return Some(Key::Down),
            ([], b'k') => return Some(Key::Up),
            ([], b'c') => return Some(Key::Clear),
            ([], b'C') => return Some(Key::ClearAll),
            ([], b'?' | b'h') => return Some(Key::Help),
            ([], _) => {}
            ([_], ESCAPE) => return Some(Key::Quit),
            ([_], b'[' | b'O') => self.sequence.push(byte),
            // A character pressed together with Alt.
            ([_], _) => self.sequence.clear(),
            // Parameters of a sequence, such as those for Shift.
            ([_, _], b'0'..=b'?' | b' '..=b'/') => {}
            ([_, _], _) => {
                self.sequence.clear();
                return match byte {
                    b'A' => Some(Key::Up),
                    b'B' => Some(Key::Down),
                    _ => None,
                };
            }
            _ => self.sequence.clear(),
        }
        None
    }

    /// Ends a sequence after a pause: a single escape byte was the Escape key.
    fn end_of_sequence(&mut self) -> Option<Key> {
        let is_escape = self.sequence == [ESCAPE];
        self.sequence.clear();
        is_escape.then_some(Key::Quit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn keys_are_recognised_within_sequences() {
        let mut keyboard = Keyboard::default();
        assert_eq!(
            keyboard.take(b"jk\x1b[A\x1bOBq\x03x\xc3\xa4"),
            [Key::Down, Key::Up, Key::Up, Key::Down, Key::Quit, Key::Quit]
        );
        // In pieces, with parameters, and of other keys.
        assert_eq!(keyboard.take(b"\x1b"), []);
        assert_eq!(keyboard.take(b"["), []);
        assert_eq!(keyboard.take(b"1;2B\x1b[3~\x1b[15~\x1bq"), [Key::Down]);
        assert_eq!((keyboard.take(b"\x1b"), keyboard.end_of_sequence()), (vec![], Some(Key::Quit)));
        assert_eq!(
            (keyboard.take(b"\x1b["), keyboard.end_of_sequence(), keyboard.end_of_sequence()),
            (vec![], None, None)
        );
        assert_eq!(keyboard.take(b"jcC?"), [Key::Down, Key::Clear, Key::ClearAll, Key::Help]);
    }

    /// /dev/null is always ready, and every read returns 0, like a terminal that hangs up between
    /// the two calls.
    #[test]
    fn a_read_of_nothing_is_the_end_of_the_terminal() {
        let gone = File::open("/dev/null").unwrap();
        let event = Keyboard::default().next_event(&gone, Duration::from_secs(3600)).unwrap();
        assert_eq!(event, KeyboardEvent::HungUp);
    }
}
