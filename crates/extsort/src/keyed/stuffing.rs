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

/// Appends the codes and bytes of a record.
pub(super) fn push_stuffed(out: &mut Vec<u8>, record: &[u8]) {
    let mut rest = record;
    loop {
        let end = memchr::memchr(0, rest);
        let (mut part, behind) = rest.split_at(end.unwrap_or(rest.len()));
        while let Some((full, more)) = part.split_first_chunk::<{ FULL as usize - 1 }>() {
            out.push(FULL);
            out.extend_from_slice(full);
            part = more;
        }
        out.push(part.len() as u8 + 1);
        out.extend_from_slice(part);
        match behind {
            [] => return,
            [_, behind @ ..] => rest = behind,
        }
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
