//! Lines on standard error.

use crate::gnu_commands::say;

/// Prints lines that begin with the program's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Messages<'a>(pub(super) &'a str);

impl Messages<'_> {
    pub(super) fn print(self, line: &[u8]) {
        say(&[self.0.as_bytes(), b": ", line, b"\n"].concat());
    }
}
