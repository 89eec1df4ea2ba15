//! The steps for lines of text, in GNU sort's orders.
//!
//! A key in samples and splitters is a line, or the beginning of a long line: any text is a place
//! in the order of lines. In sorted data every line has its delimiter.

mod sample;
mod steps;

pub(crate) use sample::sample_lines;

use xsort_gnu::Locale;
use xsort_gnu::sort::{Command, Order};

/// Lines in a given order.
pub struct Lines {
    order: Order,
    delimiter: u8,
}

impl Lines {
    /// Creates the order of lines that GNU sort's options define in a locale. The options must not
    /// request anything else or a random order.
    #[must_use]
    pub fn new(command: &Command, locale: &Locale) -> Lines {
        assert!(!command.needs_random(), "a random order needs a seed");
        let order = Order::new(command, locale, [0; 16]);
        Lines { order, delimiter: command.terminator() }
    }
}
