//! The encoding of a value in the bytes of a row: a byte that says whether the value is null and
//! how long it is, followed by as few bytes as the value needs. Zeros are rare, which matters
//! because each costs two bytes in the engine.
//!
//! ```text
//!  null                01
//!  a number            02 + its bytes, those bytes (least first; signs by zigzag)
//!  up to 16 bytes of   as a number, most significant byte first; more bytes: 02, those bytes
//!  a fixed width
//!  text of 0 to 250    02 + its bytes, those bytes
//!  longer text         fd, ff and 2 or 8 bytes of its length, those bytes
//! ```

/// There is no value.
pub(crate) const NULL: u8 = 1;
/// A value without bytes. A value of `n` bytes has this plus `n`.
pub(crate) const EMPTY: u8 = 2;
/// Maximum length that fits into the first byte.
const SHORT_MAX: usize = 250;
/// Two bytes of a length follow.
const MEDIUM: u8 = 0xfd;
/// Eight bytes of a length follow.
const LONG: u8 = 0xff;
/// Texts of up to this many bytes are copied as one word.
const WORD: usize = 16;
/// Number of bytes after the last row, so that a number can be read as a whole word.
pub(crate) const PADDING: usize = 16;

/// Appends a number in as few bytes as possible.
#[inline]
pub(crate) fn push_number(out: &mut Vec<u8>, number: u64) {
    let bytes = (71 - number.leading_zeros() as usize) / 8;
    let at = out.len();
    let mut word = [0; 9];
    word[0] = EMPTY + bytes as u8;
    word[1..].copy_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&word);
    out.truncate(at + 1 + bytes);
}

/// Appends a number of up to 16 bytes in as few bytes as possible.
#[inline]
pub(crate) fn push_large_number(out: &mut Vec<u8>, number: u128) {
    let bytes = (135 - number.leading_zeros() as usize) / 8;
    let at = out.len();
    let mut word = [0; 17];
    word[0] = EMPTY + bytes as u8;
    word[1..].copy_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&word);
    out.truncate(at + 1 + bytes);
}

/// Appends a length.
#[inline]
pub(crate) fn push_length(out: &mut Vec<u8>, length: usize) {
    if length <= SHORT_MAX {
        out.push(EMPTY + length as u8);
    } else if let Ok(length) = u16::try_from(length) {
        out.push(MEDIUM);
        out.extend_from_slice(&length.to_le_bytes());
    } else {
        out.push(LONG);
        out.extend_from_slice(&(length as u64).to_le_bytes());
    }
}

/// Appends the first `length` bytes of `bytes`, as one word if it is large enough and `bytes` has
/// it.
#[inline]
pub(crate) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8], length: usize) {
    match bytes.first_chunk::<WORD>() {
        Some(word) if length <= WORD => {
            let end = out.len() + length;
            out.extend_from_slice(word);
            out.truncate(end);
        }
        _ => out.extend_from_slice(&bytes[..length]),
    }
}

/// Appends the bytes that `write` appends, preceded by their length.
pub(crate) fn push_framed(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    let length = out.len() - at - 1;
    if length <= SHORT_MAX {
        out[at] = EMPTY + length as u8;
    } else {
        let mut header = Vec::new();
        push_length(&mut header, length);
        out.splice(at..=at, header);
    }
}

/// Reads the number at `at`, and advances `at` to its end. Returns `None` for null.
#[inline]
pub(crate) fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let own = bytes[*at].checked_sub(EMPTY)?;
    let word = u64::from_le_bytes(bytes[*at + 1..*at + 9].try_into().expect("8 bytes"));
    *at += 1 + usize::from(own);
    Some(word & u64::MAX.checked_shr(64 - 8 * u32::from(own)).unwrap_or(0))
}

/// Reads a number of up to 16 bytes at `at`, and advances `at` to its end. Returns `None` for null.
#[inline]
pub(crate) fn large_number(bytes: &[u8], at: &mut usize) -> Option<u128> {
    let own = bytes[*at].checked_sub(EMPTY)?;
    let word = u128::from_le_bytes(bytes[*at + 1..*at + 17].try_into().expect("16 bytes"));
    *at += 1 + usize::from(own);
    Some(word & u128::MAX.checked_shr(128 - 8 * u32::from(own)).unwrap_or(0))
}

/// Reads the length at `at`, and advances `at` to its end. Returns `None` for null.
#[inline]
pub(crate) fn length(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let first = bytes[*at];
    *at += 1;
    match first {
        NULL => None,
        MEDIUM => {
            let length = u16::from_le_bytes(bytes[*at..*at + 2].try_into().expect("2 bytes"));
            *at += 2;
            Some(length.into())
        }
        LONG => {
            let length = u64::from_le_bytes(bytes[*at..*at + 8].try_into().expect("8 bytes"));
            *at += 8;
            Some(length as usize)
        }
        short => Some(usize::from(short - EMPTY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_read() {
        let numbers = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit]).chain([u64::MAX]);
        let (mut out, mut ends) = (vec![NULL], vec![1]);
        for word in numbers.clone() {
            push_number(&mut out, word);
            ends.push(out.len());
            push_large_number(&mut out, u128::from(word) << 64 | 7);
            push_length(&mut out, word as usize);
        }
        push_framed(&mut out, |out| out.extend_from_slice(&[9; 70_000]));
        let end = out.len();
        out.extend_from_slice(&[0; PADDING]);
        let mut at = 0;
        assert_eq!(number(&out, &mut at), None);
        at = 1;
        for (word, end) in numbers.zip(&ends[1..]) {
            assert_eq!(number(&out, &mut at), Some(word));
            assert_eq!(at, *end);
            assert_eq!(large_number(&out, &mut at), Some(u128::from(word) << 64 | 7));
            assert_eq!(length(&out, &mut at), Some(word as usize));
        }
        assert_eq!(length(&out, &mut at), Some(70_000));
        assert_eq!(at + 70_000, end);
    }
}
