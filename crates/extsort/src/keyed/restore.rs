//! Keyed records on their way out: records as they were, in place.

use super::encode::{CODE, KEY_END, LINE, PLAIN, RECORD_END, ZERO};
use super::stuffing::Unstuffing;

/// Takes keys away, and the stuffing of records. It begins before a record, and takes bytes in
/// pieces of any length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restore {
    state: State,
    /// Ends lines.
    delimiter: u8,
}

/// Where in a keyed record the next byte is.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Key,
    /// Behind the first byte of a code.
    KeyCode,
    /// Behind the key: whether the record is stuffed.
    Kind,
    Plain,
    Line,
    /// In a line, behind the first byte of a code.
    LineCode,
    Stuffed(Unstuffing),
}

impl Restore {
    /// Restores lines that end with `delimiter`.
    pub(super) fn lines(delimiter: u8) -> Restore {
        Restore { state: State::Key, delimiter }
    }

    /// Replaces keyed records by the first `records_left` of the records, and counts these down.
    /// Returns how many bytes they have.
    pub(super) fn apply(&mut self, bytes: &mut [u8], records_left: &mut u64) -> usize {
        let (mut from, mut to) = (0, 0);
        while from < bytes.len() && *records_left > 0 {
            match &mut self.state {
                State::Key => match memchr::memchr(CODE, &bytes[from..]) {
                    Some(at) => {
                        from += at + 1;
                        self.state = State::KeyCode;
                    }
                    None => return to,
                },
                State::KeyCode => {
                    self.state = if bytes[from] == KEY_END { State::Kind } else { State::Key };
                    from += 1;
                }
                State::Kind => {
                    self.state = match bytes[from] {
                        PLAIN => State::Plain,
                        LINE => State::Line,
                        _ => State::Stuffed(Unstuffing::default()),
                    };
                    from += 1;
                }
                State::Plain => {
                    let end = memchr::memchr(RECORD_END, &bytes[from..]);
                    let own = end.unwrap_or(bytes.len() - from);
                    bytes.copy_within(from..from + own, to);
                    to += own;
                    from += own;
                    if end.is_some() {
                        from += 1;
                        *records_left -= 1;
                        self.state = State::Key;
                    }
                }
                State::Line => {
                    let end = memchr::memchr2(RECORD_END, CODE, &bytes[from..]);
                    let own = end.unwrap_or(bytes.len() - from);
                    bytes.copy_within(from..from + own, to);
                    to += own;
                    from += own;
                    if end.is_some() {
                        if bytes[from] == RECORD_END {
                            bytes[to] = self.delimiter;
                            to += 1;
                            *records_left -= 1;
                            self.state = State::Key;
                        } else {
                            self.state = State::LineCode;
                        }
                        from += 1;
                    }
                }
                State::LineCode => {
                    bytes[to] = bytes[from].wrapping_sub(ZERO);
                    to += 1;
                    from += 1;
                    self.state = State::Line;
                }
                State::Stuffed(unstuffing) if unstuffing.left > 0 => {
                    let own = usize::from(unstuffing.left).min(bytes.len() - from);
                    bytes.copy_within(from..from + own, to);
                    to += own;
                    from += own;
                    unstuffing.left -= own as u8;
                }
                State::Stuffed(unstuffing) => {
                    let code = bytes[from];
                    from += 1;
                    if code == RECORD_END {
                        *records_left -= 1;
                        self.state = State::Key;
                    } else if unstuffing.code(code) {
                        bytes[to] = 0;
                        to += 1;
                    }
                }
            }
        }
        to
    }
}
