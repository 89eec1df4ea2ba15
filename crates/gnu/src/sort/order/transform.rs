//! What `-d`, `-f` and `-i` do to text: leave bytes out, and convert the others to upper case.

use super::super::command::Flags;
use crate::locale::Classes;

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
