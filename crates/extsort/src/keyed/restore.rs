//! Turns keyed records back into records, in place.

use super::encode::{CODE, END_BYTES, KEY_END, PLAIN, RECORD_END, key_bytes};
use super::stuffing::{Unstuffing, unstuff};
use crate::lines::{PutLine, SegmentForm};

/// Removes keys, and the stuffing of records. It starts at the beginning of a record, and takes
/// bytes in pieces of any length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Restore(State);

/// Where in a keyed record the next byte is.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Key,
    /// After the first byte of a code.
    KeyCode,
    /// After the key, at the byte that tells whether the record is stuffed.
    Kind,
    Plain,
    Stuffed(Unstuffing),
}

impl PutLine for Restore {
    #[inline]
    fn put(&mut self, keyed: &[u8], out: &mut [u8]) -> usize {
        let behind = keyed.get(key_bytes(keyed) + END_BYTES..);
        let (kind, record) = behind.and_then(<[u8]>::split_first).unwrap_or((&PLAIN, &[]));
        out[..record.len()].copy_from_slice(record);
        if *kind == PLAIN { record.len() } else { unstuff(&mut out[..record.len()]) }
    }
}

impl SegmentForm for Restore {
    fn put_piece(&mut self, out: &mut [u8], piece_bytes: usize) -> usize {
        let mut all = u64::MAX;
        self.apply(&mut out[..piece_bytes], &mut all)
    }
}

impl Restore {
    /// Replaces keyed records by the first `records_left` of the records, and decrements that count
    /// for each. Returns their length in bytes.
    pub(super) fn apply(&mut self, bytes: &mut [u8], records_left: &mut u64) -> usize {
        let (mut from, mut to) = (0, 0);
        while from < bytes.len() && *records_left > 0 {
            match &mut self.0 {
                State::Key => match memchr::memchr(CODE, &bytes[from..]) {
                    Some(at) => {
                        from += at + 1;
                        self.0 = State::KeyCode;
                    }
                    None => return to,
                },
                State::KeyCode => {
                    self.0 = if bytes[from] == KEY_END { State::Kind } else { State::Key };
                    from += 1;
                }
                State::Kind => {
                    let is_plain = bytes[from] == PLAIN;
                    let stuffed = State::Stuffed(Unstuffing::default());
                    self.0 = if is_plain { State::Plain } else { stuffed };
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
                        self.0 = State::Key;
                    }
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
                        self.0 = State::Key;
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
