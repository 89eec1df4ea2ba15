//! A record of any bytes without the byte 0: consistent overhead byte stuffing (S. Cheshire and
//! M. Baker, SIGCOMM 1997).
//!
//! ```text
//!  record   11 22 00 33        00 00         254 bytes but 0
//!  stuffed  03 11 22 02 33     01 01 01      ff and the 254 bytes, 01
//! ```
//!
//! A code byte says where the next one is. There was a zero at its place, unless the code before
//! it is ff, which stands for 254 bytes and no zero. It takes a byte in 254, whatever the record.

/// The code of as many bytes as one can stand for, and no zero.
const FULL: u8 = 0xff;

/// Appends the codes and bytes of a record, which is in two parts.
pub(super) fn push_stuffed(out: &mut Vec<u8>, record: &[u8], more: &[u8]) {
    let mut stuffing = Stuffing::new(record);
    let last;
    if !more.is_empty() {
        // A code depends on no more than what it can stand for: all others need no copy.
        while stuffing.rest.is_some_and(|rest| rest.len() >= FULL as usize) {
            stuffing.push_code(out);
        }
        last = [stuffing.rest.unwrap_or_default(), more].concat();
        stuffing = Stuffing::new(&last);
    }
    while stuffing.push_code(out) {}
}

/// A record of which not all codes are appended yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stuffing<'r> {
    /// `None` behind the last code.
    rest: Option<&'r [u8]>,
}

impl<'r> Stuffing<'r> {
    /// Most bytes of a code and what it stands for.
    pub(super) const CODE_BYTES_MAX: usize = FULL as usize;

    pub(super) fn new(record: &'r [u8]) -> Stuffing<'r> {
        Stuffing { rest: Some(record) }
    }

    /// Whether all codes are appended.
    pub(super) fn is_over(&self) -> bool {
        self.rest.is_none()
    }

    /// Appends the next code and its bytes; false if there are no more.
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
    /// Whether there is a zero at its place.
    is_zero: bool,
}

impl Unstuffing {
    /// Takes a code, which isn't 0. Returns whether a zero comes before what it stands for.
    pub(super) fn code(&mut self, code: u8) -> bool {
        let is_zero = self.is_zero;
        *self = Unstuffing { left: code.wrapping_sub(1), is_zero: code < FULL };
        is_zero
    }
}

/// Takes a stuffed record's codes away, in place. Returns how many bytes the record has.
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
