//! Checks that keys order a sample of texts as `strcoll` does.
//!
//! The sample has single bytes, and texts of random bytes, most of them letters. It is sorted by
//! keys, and every text is compared with the one before it, so any contradiction shows. This takes
//! a tenth of a millisecond, most of it to build rows that the texts to sort may not need. So the
//! sample is small.

use std::ffi::CString;

use super::levels::Places;
use super::rules::Rules;
use crate::sys::Handle;

/// Number of texts with several random bytes.
const RANDOM_TEXTS: u64 = 50;

/// True if the keys of `rules` order the sample as the locale does.
pub(super) fn agrees(rules: &Rules, handle: &Handle) -> bool {
    let mut places = Places::default();
    let is_single = |byte: &u8| rules.tables.first(*byte).is_ok();
    let single = (0x20..0x80).chain((0x80..=u8::MAX).step_by(15)).filter(is_single);
    let texts = single.map(|byte| vec![byte]).chain((0..RANDOM_TEXTS).map(random_text));
    let mut keyed: Vec<(Vec<u8>, CString)> = texts
        .map(|text| {
            let mut key = Vec::new();
            rules.encode(&text, usize::MAX, &mut places, &mut key);
            (key, CString::new(text).expect("no byte is 0"))
        })
        .collect();
    keyed.sort_unstable();
    keyed.windows(2).all(|pair| {
        let [(key_a, a), (key_b, b)] = pair else { return true };
        handle.collate(a, b) == key_a.cmp(key_b)
    })
}

/// A text of letters, punctuation, and bytes of letters with accents; rarely other bytes.
fn random_text(seed: u64) -> Vec<u8> {
    const BYTES: &[u8] = b"aAbBcCdDeEhHlLnNsStTyYzZ0123459 ._-,'$\xC3\xA9\xC3\x89\xC3\xB1\xC3\xBC\
        \xC5\xA1\xD0\xB0\xCE\xB1\xE3\x81\x82\xE4\xB8\x80";
    let mut bits = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let bytes = 2 + bits % 11;
    let one = |_| {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        match bits >> 58 {
            0 => (bits >> 8) as u8 | 1,
            _ => BYTES[(bits >> 20) as usize % BYTES.len()],
        }
    };
    (0..bytes).map(one).collect()
}
