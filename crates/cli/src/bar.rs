//! A line at the bottom of a terminal that says how far a job is, drawn anew ten times a second.
//!
//! Not a library's: those keep a rate of their own, which nobody sees here, by powers of real
//! numbers, for which the C library's mathematics is loaded at every start of the program: 0.06 ms
//! of the 0.7 that a tree of ten files takes.

use rustix::termios::tcgetwinsize;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Columns of a terminal that doesn't say.
const COLUMNS: usize = 80;

/// Columns of the name, which stands at the right of them.
const NAME_COLUMNS: usize = 10;

/// The line, on standard error.
#[derive(Debug)]
pub(crate) struct Bar {
    has_colour: bool,
    /// Whether it is on the screen. Who holds this may write.
    is_shown: Mutex<bool>,
}

/// What the line says.
#[derive(Debug)]
pub(crate) struct Frame {
    /// What is being done.
    pub(crate) name: String,
    /// How much of it is done, from 0 to 1; `None` if nobody knows.
    pub(crate) share: Option<f64>,
    /// Figures, for the right of the line.
    pub(crate) figures: String,
}

impl Bar {
    pub(crate) fn new() -> Bar {
        let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Bar { has_colour, is_shown: Mutex::default() }
    }

    pub(crate) fn draw(&self, frame: &Frame) {
        let columns = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let columns = if columns > 0 { columns } else { COLUMNS };
        let mut is_shown = self.is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        *is_shown = true;
        // One column less: in the last one some terminals begin the next line.
        write(&format!("\r{}\x1b[K", frame.line(columns - 1, self.has_colour)));
    }

    /// Has `say` speak on a line of its own; the next frame is below.
    pub(crate) fn above(&self, say: impl FnOnce()) {
        let mut is_shown = self.is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_shown) {
            write("\r\x1b[K");
        }
        say();
    }

    /// Takes it from the screen.
    pub(crate) fn clear(&self) {
        self.above(|| ());
    }
}

/// Where the terminal is gone there is nobody to tell.
fn write(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

impl Frame {
    /// At most so many columns; of what is too long the end is left out.
    fn line(&self, columns: usize, has_colour: bool) -> String {
        let name = format!("{:>NAME_COLUMNS$} ", self.name);
        let room = columns.saturating_sub(name.chars().count() + self.figures.chars().count() + 1);
        let (Some(share), true) = (self.share, room > 0) else {
            return name.chars().chain(self.figures.chars()).take(columns).collect();
        };
        let done = ((share.clamp(0.0, 1.0) * room as f64) as usize).min(room);
        let (full, empty) = ("█".repeat(done), "░".repeat(room - done));
        let bar = if has_colour {
            format!("\x1b[36m{full}\x1b[0m\x1b[2m{empty}\x1b[0m")
        } else {
            full + &empty
        };
        format!("{name}{bar} {}", self.figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(share: Option<f64>) -> Frame {
        Frame { name: "form runs".into(), share, figures: "3 s left".into() }
    }

    #[test]
    fn a_line_takes_what_there_is() {
        assert_eq!(frame(Some(0.5)).line(28, false), " form runs ████░░░░ 3 s left");
        assert_eq!(frame(Some(7.0)).line(24, false), " form runs ████ 3 s left");
        assert_eq!(frame(Some(f64::NAN)).line(22, false), " form runs ░░ 3 s left");
        assert_eq!(frame(None).line(80, false), " form runs 3 s left");
        assert_eq!(
            frame(Some(0.5)).line(22, true),
            " form runs \x1b[36m█\x1b[0m\x1b[2m░\x1b[0m 3 s left"
        );
        for columns in 0..100 {
            for share in [None, Some(0.0), Some(0.3), Some(1.0)] {
                assert!(frame(share).line(columns, false).chars().count() <= columns, "{columns}");
            }
        }
    }
}
