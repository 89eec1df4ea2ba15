//! Arguments that are one of several words, and may be abbreviated.

/// The meaning of a word, which may be abbreviated as long as its meaning is unique. The error is
/// true if it is ambiguous, false if there is no such word.
pub(crate) fn choose<M: Copy + PartialEq>(word: &[u8], words: &[(&str, M)]) -> Result<M, bool> {
    if let Some(&(_, meaning)) = words.iter().find(|(full, _)| full.as_bytes() == word) {
        return Ok(meaning);
    }
    let mut meanings =
        words.iter().filter(|(full, _)| full.as_bytes().starts_with(word)).map(|&(_, m)| m);
    let first = meanings.next().ok_or(false)?;
    if meanings.all(|other| other == first) { Ok(first) } else { Err(true) }
}
