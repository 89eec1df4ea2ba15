//! A record of any bytes without the byte 0: consistent overhead byte stuffing (S. Cheshire and M.
//! Baker, SIGCOMM 1997).
//!
//! ```text
//!  record   11 22 00 33        00 00         254 bytes but 0
//!  stuffed  03 11 22 02 33     01 01 01      ff and the 254 bytes, 01
//! ```
//!
//! A code byte tells the distance to the next one. Each code byte replaces a zero, except the first
//! and one after ff, which stands for 254 bytes and no zero. The overhead is at most one byte in
//! 254, whatever the record.

/// The code of the most bytes that a code can stand for, without a zero.
const FULL: u8 = 0xff;

/// Appends the codes and bytes of a record, which is `record` followed by `more`.
pub(super) fn push_stuffed(out: &mut Vec<u8>, record: &[u8], more: &[u8]) {
    let mut stuffing = Stuffing::new(record);
    let last;
    if !more.is_empty() {
        // A code depends only on the bytes it can stand for, so only the last part is copied.
        while stuffing.rest.is_some_and(|rest| rest.len() >= FULL as usize) {
            stuffing.push_code(out);
        }
        last = [stuffing.rest.unwrap_or_default(), more].concat();
        stuffing = Stuffing::new(&last);
    }
    while stuffing.push_code(out) {}
}

/// A record whose codes aren't all appended yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuffing<'r> {
    /// `None` after the last code.
    rest: Option<&'r [u8]>,
}

impl<'r> Stuffing<'r> {
    /// Most bytes of a code and the bytes it stands for.
    pub(super) const CODE_BYTES_MAX: usize = FULL as usize;

    pub(super) fn new(record: &'r [u8]) -> Stuffing<'r> {
        Stuffing { rest: Some(record) }
    }

    /// True if all codes are appended.
    pub(super) fn is_over(&self) -> bool {
        self.rest.is_none()
    }

    /// Appends the next code and its bytes. Returns false if there are no more.
    #[inline]
    pub(super) fn push_code(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(rest) = self.rest else { return false };
        let part = &rest[..rest.len().min(FULL as usize - 1)];
        let end = memchr::memchr(0, part);
        let own = end.unwrap_or(part.len());
        out.push(own as u8 + 1);
        out.extend_from_slice(&rest[..own]);
        self.rest = match end {
            Some(zero) => Some(&rest[zero + 1..]),
            None if own + 1 == FULL as usize => Some(&rest[own..]),
            None => None,
        };
        true
    }
}

/// Where in a stuffed record the next byte is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unstuffing {
    /// Bytes up to the next code.
    pub(super) left: u8,
    /// True if the next code replaces a zero.
    is_zero: bool,
}

impl Unstuffing {
    /// Takes a code, which isn't 0. Returns true if a zero comes before the bytes it stands for.
    pub(super) fn code(&mut self, code: u8) -> bool {
        let is_zero = self.is_zero;
        *self = Unstuffing { left: code.wrapping_sub(1), is_zero: code < FULL };
        is_zero
    }
}

/// Removes a stuffed record's codes, in place. Returns the record's length in bytes.
pub(super) fn unstuff(stuffed: &mut [u8]) -> usize {
    let (mut unstuffing, mut from, mut to) = (Unstuffing::default(), 0, 0);
    while from < stuffed.len() {
        if unstuffing.code(stuffed[from]) {
            stuffed[to] = 0;
            to += 1;
        }
        from += 1;
        let own = usize::from(unstuffing.left).min(stuffed.len() - from);
        stuffed.copy_within(from..from + own, to);
        from += own;
        to += own;
    }
    to
}
