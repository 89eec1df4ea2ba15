//! `-M`: the three letters of a month, or the locale's name for it, in any case and after blanks.
//! Anything else sorts before January.

use crate::locale::Locale;

/// The months' names.
#[derive(Clone, Debug)]
pub(super) struct Months {
    names: Vec<(Vec<u8>, u8)>,
    blank: Box<[bool; 256]>,
    upper: Box<[u8; 256]>,
}

impl Months {
    pub(super) fn new(locale: &Locale) -> Self {
        Self {
            names: locale.months.clone(),
            blank: Box::new(locale.classes.blank),
            upper: Box::new(locale.classes.upper),
        }
    }

    /// The month at the beginning of `text`, from 1; 0 if there is none.
    pub(super) fn number(&self, text: &[u8]) -> u8 {
        let blanks = text.iter().take_while(|&&byte| self.blank[usize::from(byte)]).count();
        self.find(&text[blanks..]).map_or(0, |(_, number)| *number)
    }

    /// Length of the name of the month at the beginning of `text`, which has no blanks before it; 0
    /// if there is none.
    pub(super) fn marked(&self, text: &[u8]) -> usize {
        self.find(text).map_or(0, |(name, _)| name.len())
    }

    fn find(&self, text: &[u8]) -> Option<&(Vec<u8>, u8)> {
        let order = |(name, _): &(Vec<u8>, u8)| {
            let head = text.iter().take(name.len()).map(|&byte| self.upper[usize::from(byte)]);
            name.iter().copied().cmp(head)
        };
        Some(&self.names[self.names.binary_search_by(order).ok()?])
    }
}
