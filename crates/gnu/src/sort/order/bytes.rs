//! Text that compares byte by byte, as part of a normalised key.
//!
//! The last key may stay unchanged: a shorter text is a prefix, and sorts first. Elsewhere the end
//! must be marked, by a byte below all others: 0. The bytes 0 and 1 become 1 1 and 1 2, so that no
//! text contains the mark. Text rarely has them, so a word of it is usually eight unchanged bytes.

/// True if text with this byte is escaped where its end is marked.
pub(super) fn is_escaped(byte: u8) -> bool {
    byte <= 1
}

/// The eight bytes of `text` from `skip` on, big-endian, with zeros past its end.
#[inline]
pub(super) fn load(text: &[u8], skip: usize) -> u64 {
    let rest = text.get(skip..).unwrap_or_default();
    if let Some(bytes) = rest.first_chunk() {
        return u64::from_be_bytes(*bytes);
    }
    rest.iter().zip(0..).fold(0, |word, (&byte, at)| word | u64::from(byte) << (56 - 8 * at))
}

/// The eight bytes of a text with a marked end, from `skip` on. `None` if the text has escaped
/// bytes, or if it ends before the word does and `is_last` is false: then the word depends on more
/// of the line.
#[inline]
pub(super) fn load_marked(
    text: &[u8],
    skip: usize,
    is_last: bool,
    is_reverse: bool,
) -> Option<u64> {
    let has_all = text.len() >= skip + 8;
    if !(has_all || is_last) || text.iter().take(skip).any(|&byte| is_escaped(byte)) {
        return None;
    }
    let word = load(text, skip);
    let bytes = text.len().saturating_sub(skip).min(8) as u32;
    // True if one of the text's bytes is below 2. The other bytes are set high.
    let full = word | u64::MAX.checked_shr(8 * bytes).unwrap_or(0);
    if full.wrapping_sub(0x0202_0202_0202_0202) & !full & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    if !is_reverse {
        return Some(word);
    }
    // The key ends after the inverted mark.
    let used = if has_all { 8 } else { (text.len() + 1).saturating_sub(skip) };
    Some(!word & (u64::MAX.checked_shl(64 - 8 * used as u32).unwrap_or(0)))
}

/// Appends `bytes` with their end marked, at most about `limit` bytes.
pub(super) fn encode_marked(bytes: impl Iterator<Item = u8>, limit: usize, out: &mut Vec<u8>) {
    for byte in bytes.take(limit) {
        match byte {
            0 | 1 => out.extend_from_slice(&[1, byte + 1]),
            _ => out.push(byte),
        }
    }
    out.push(0);
}

/// Appends a text with its end marked, at most about `limit` bytes. Fast if no byte must be
/// escaped, as usual.
pub(super) fn encode_text(text: &[u8], limit: usize, out: &mut Vec<u8>) {
    let text = &text[..text.len().min(limit)];
    if text.iter().fold(false, |has_escaped, &byte| has_escaped | is_escaped(byte)) {
        return encode_marked(text.iter().copied(), limit, out);
    }
    out.extend_from_slice(text);
    out.push(0);
}
