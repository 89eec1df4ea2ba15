//! Formats figures as the options ask.

use crate::gnu_commands::locale;
use xsort_gnu::Numerals;
use xsort_gnu::du::{Command, Scale};

/// The format of figures.
pub(super) struct SizeFormat {
    scale: Scale,
    numerals: Numerals,
}

impl SizeFormat {
    pub(super) fn new(command: &Command) -> SizeFormat {
        let scale = command.scale;
        let numerals = if scale.is_of_locale() { locale().numerals() } else { Numerals::default() };
        SizeFormat { scale, numerals }
    }

    pub(super) fn write(&self, figure: u64, out: &mut Vec<u8>) {
        match figure {
            // Sums saturate at this figure.
            u64::MAX => out.extend_from_slice(b"Infinity"),
            _ => self.scale.write(figure, &self.numerals, out),
        }
    }
}
