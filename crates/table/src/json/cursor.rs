//! The tokens of a row of JSON.
//!
//! A cursor is a position before a byte of the row. At the end of the row it reads the byte 0,
//! which begins no token, so the end needs no checks. Bytes from 0x80 on occur only in strings and
//! aren't checked here: a caller that needs UTF-8 checks the whole row, which is faster.
//!
//! Most functions are inlined, and nothing keeps a reference to a cursor, so a walk has its cursor
//! in registers. With cursors by reference, logs took 5 % longer (Xeon, 2026-11-22).

/// The limit on nesting of arrays and objects.
pub(crate) const DEPTH_MAX: usize = 512;
/// The message for a row that is nested deeper.
pub(crate) const TOO_DEEP: &str = "arrays and objects are nested deeper than 512";

/// The reason why a row isn't JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidJson {
    /// Offset of the first invalid byte; the row's length if the row ends too early.
    pub(crate) offset: usize,
    /// The message.
    pub(crate) what: &'static str,
}

/// A position in a row.
pub(crate) struct Cursor<'r> {
    pub(crate) row: &'r [u8],
    pub(crate) at: usize,
}

impl<'r> Cursor<'r> {
    /// The beginning of a row.
    pub(crate) fn new(row: &'r [u8]) -> Cursor<'r> {
        Cursor { row, at: 0 }
    }

    /// The next byte.
    #[inline(always)]
    pub(crate) fn peek(&self) -> u8 {
        byte_at(self.row, self.at)
    }

    /// Skips white space. Returns the byte after it.
    #[inline(always)]
    pub(crate) fn space(&mut self) -> u8 {
        let mut at = self.at;
        let mut byte = byte_at(self.row, at);
        while byte <= b' ' && matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            at += 1;
            byte = byte_at(self.row, at);
        }
        self.at = at;
        byte
    }

    /// The error for an unexpected byte at the cursor.
    #[inline(always)]
    pub(crate) fn invalid(&self, what: &'static str) -> InvalidJson {
        invalid(self.row, self.at, what)
    }

    /// Skips a value that is neither an array nor an object.
    #[inline(always)]
    pub(crate) fn scalar(&mut self) -> Result<(), InvalidJson> {
        match self.peek() {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => Err(self.invalid("a value was expected")),
        }
    }

    /// Skips the key of a member and its colon. Returns the key, without its quotes, and true if it
    /// has escapes.
    #[inline(always)]
    pub(crate) fn key(&mut self) -> Result<(&'r [u8], bool), InvalidJson> {
        if self.space() != b'"' {
            return Err(self.invalid("a key in quotes was expected"));
        }
        let begin = self.at + 1;
        let has_escapes = self.string()?;
        let key = &self.row[begin..self.at - 1];
        if self.space() != b':' {
            return Err(self.invalid("':' was expected"));
        }
        self.at += 1;
        Ok((key, has_escapes))
    }

    /// Skips a string that begins with a quote at the cursor. Returns true if it has escapes.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Result<bool, InvalidJson> {
        self.at = plain_end(self.row, self.at + 1);
        if self.peek() == b'"' {
            self.at += 1;
            return Ok(false);
        }
        self.at = rest_of_string(self.row, self.at)?;
        Ok(true)
    }

    #[inline(always)]
    fn number(&mut self) -> Result<(), InvalidJson> {
        self.at += usize::from(self.peek() == b'-');
        match self.peek() {
            b'0' => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), b'+' | b'-'));
            self.digits()?;
        }
        Ok(())
    }

    /// Skips one digit or more.
    #[inline(always)]
    fn digits(&mut self) -> Result<(), InvalidJson> {
        let mut at = self.at;
        while byte_at(self.row, at).is_ascii_digit() {
            at += 1;
        }
        if at == self.at {
            return Err(self.invalid("a digit was expected"));
        }
        self.at = at;
        Ok(())
    }

    #[inline(always)]
    fn literal(&mut self, literal: &[u8]) -> Result<(), InvalidJson> {
        if !self.row[self.at..].starts_with(literal) {
            let rest = self.row[self.at..].iter().zip(literal);
            self.at += rest.take_while(|(byte, expected)| byte == expected).count();
            return Err(self.invalid("true, false or null was expected"));
        }
        self.at += literal.len();
        Ok(())
    }
}

/// A byte of a row, or 0 after its end.
#[inline(always)]
fn byte_at(row: &[u8], at: usize) -> u8 {
    row.get(at).copied().unwrap_or(0)
}

#[cold]
fn invalid(row: &[u8], offset: usize, what: &'static str) -> InvalidJson {
    let is_end = offset >= row.len();
    InvalidJson { offset, what: if is_end { "the row ends too early" } else { what } }
}

/// Continues in a string at an escape. Returns the end of the string.
fn rest_of_string(row: &[u8], mut at: usize) -> Result<usize, InvalidJson> {
    loop {
        match byte_at(row, at) {
            b'"' => return Ok(at + 1),
            b'\\' => at = escape_end(row, at)?,
            _ => return Err(invalid(row, at, "a control character in a string has to be escaped")),
        }
        at = plain_end(row, at);
    }
}

/// The end of an escape whose backslash is at `at`.
#[inline(always)]
fn escape_end(row: &[u8], at: usize) -> Result<usize, InvalidJson> {
    match byte_at(row, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => {
            let wrong = (at + 2..at + 6).find(|&at| !byte_at(row, at).is_ascii_hexdigit());
            match wrong {
                Some(at) => Err(invalid(row, at, "four hexadecimal digits were expected")),
                None => Ok(at + 6),
            }
        }
        _ => Err(invalid(row, at + 1, "no such escape")),
    }
}

/// Position of the next quote, backslash or control character from `at` on, or the row's end.
#[inline(always)]
fn plain_end(row: &[u8], mut at: usize) -> usize {
    while let Some(word) = row.get(at..).and_then(|rest| rest.first_chunk()) {
        let stops = stops(u64::from_le_bytes(*word));
        if stops != 0 {
            return at + stops.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < row.len() && row[at] >= b' ' && row[at] != b'"' && row[at] != b'\\' {
        at += 1;
    }
    at
}

/// A word whose lowest set bit is in the first byte that ends a stretch of plain bytes. Bits in
/// higher bytes may be wrong, because the subtractions borrow from them.
#[inline(always)]
fn stops(word: u64) -> u64 {
    /// The byte 1 at each place.
    const EACH: u64 = u64::MAX / 255;
    let quote = (word ^ (EACH * u64::from(b'"'))).wrapping_sub(EACH);
    let backslash = (word ^ (EACH * u64::from(b'\\'))).wrapping_sub(EACH);
    let control = word.wrapping_sub(EACH * u64::from(b' '));
    // Bytes from 0x80 on never end a stretch.
    (quote | backslash | control) & !word & (EACH << 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_plain_or_not_at_each_place_of_a_word() {
        for byte in 0..=255u8 {
            let is_plain = byte >= b' ' && byte != b'"' && byte != b'\\';
            for place in 0..20 {
                for around in [b'a', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut row = [around; 20];
                    row[place] = byte;
                    assert_eq!(plain_end(&row, 0), if is_plain { 20 } else { place });
                }
            }
        }
    }

    #[test]
    fn a_stop_hides_none_before_it() {
        for stop in [0, 0x1f, b'"', b'\\'] {
            for next in 0..=255 {
                assert_eq!(plain_end(&[b'a', stop, next, next, 1, 2, 3, 4], 0), 1);
            }
        }
    }

    #[test]
    fn the_first_wrong_byte_is_named() {
        for (row, offset) in [
            ("tru", 3),
            ("trua", 3),
            ("-a", 1),
            ("1.", 2),
            ("1.e", 2),
            ("1e+", 3),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 5),
            ("\"a\nb\"", 2),
            ("\"abcdefghijkl", 13),
            ("]", 0),
        ] {
            assert_eq!(Cursor::new(row.as_bytes()).scalar().unwrap_err().offset, offset, "{row}");
        }
    }
}
