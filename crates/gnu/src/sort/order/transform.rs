//! What `-d`, `-f` and `-i` do to text: leave bytes out, and convert the others to upper case.

use std::cmp::Ordering;

use super::super::command::Flags;
use crate::locale::Classes;
use crate::shared_bytes::shared_bytes;

/// What becomes of each byte: another byte, or nothing.
#[derive(Clone, Debug)]
pub(super) struct Transform {
    table: Box<[Option<u8>; 256]>,
}

impl Transform {
    /// None if `flags` leave text as it is.
    pub(super) fn new(flags: Flags, classes: &Classes) -> Option<Self> {
        let keeps = |byte: usize| match flags {
            Flags { dictionary: true, .. } => classes.blank[byte] || classes.alphanumeric[byte],
            Flags { nonprinting: true, .. } => classes.printable[byte],
            _ => true,
        };
        let folded = |byte: usize| if flags.fold { classes.upper[byte] } else { byte as u8 };
        let table = std::array::from_fn(|byte| keeps(byte).then(|| folded(byte)));
        (flags.fold || flags.ignores()).then(|| Self { table: Box::new(table) })
    }

    /// The bytes of `text` that count, as they count.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        text.iter().filter_map(|&byte| self.table[usize::from(byte)])
    }

    /// Orders two texts by the bytes that count. Those that both begin with are passed as they are.
    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let shared = shared_bytes(a, b);
        self.bytes(&a[shared..]).cmp(self.bytes(&b[shared..]))
    }
}

/// `text` after `transform`, which is made in `work`.
pub(super) fn apply<'a>(
    transform: Option<&Transform>,
    text: &'a [u8],
    work: &'a mut Vec<u8>,
) -> &'a [u8] {
    let Some(transform) = transform else { return text };
    work.clear();
    work.extend(transform.bytes(text));
    work
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_compare_as_what_is_left_of_them(
            same in "[aAb -]{0,20}",
            a in "[aA -]{0,20}",
            b in "[aA -]{0,20}",
        ) {
            let table = std::array::from_fn(|byte| match byte as u8 {
                b'-' => None,
                byte => Some(byte.to_ascii_uppercase()),
            });
            let transform = Transform { table: Box::new(table) };
            let [a, b] = [a, b].map(|end| format!("{same}{end}").into_bytes());
            let [left_a, left_b] = [&a, &b].map(|text| transform.bytes(text).collect::<Vec<u8>>());
            prop_assert_eq!(transform.compare(&a, &b), left_a.cmp(&left_b));
        }
    }
}
