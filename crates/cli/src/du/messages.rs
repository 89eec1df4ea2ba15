//! Lines on standard error. URLs in them are without their secrets.

use crate::gnu_commands::say;
use xsort_disk::public_bytes;

/// Prints lines that begin with the program's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages<'a>(pub(super) &'a str);

impl Messages<'_> {
    pub(super) fn print(self, line: &[u8]) {
        self.print_whole(&[self.0.as_bytes(), b": ", line, b"\n"].concat());
    }

    /// Prints lines that have the program's name.
    pub(super) fn print_whole(self, text: &[u8]) {
        say(&public_bytes(text));
    }
}
