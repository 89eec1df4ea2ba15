//! The semantics of GNU du: its command line, the files it excludes, how it prints sizes and times,
//! and its messages.
//!
//! ```text
//! parse      words of a command line -> Command, or GNU's refusal          options    their names
//! command    what to count and how to show it, in plain values
//! number     numbers with suffixes
//! size       bytes as text        exclude    patterns        zone, format  times as text
//! messages   what goes wrong on the way
//! help       --help, --version
//! ```

mod command;
mod exclude;
mod format;
mod help;
mod messages;
mod number;
mod options;
mod parse;
mod size;
mod zone;

pub use command::{
    Command, Extras, Follow, Measure, Request, SortBy, Threshold, Time, TimeOf, Understood,
};
pub use exclude::Excludes;
pub use help::{help, help_page, version};
pub use messages::Complaint;
pub use parse::{Surroundings, parse};
pub use size::Scale;
pub use zone::Zone;

use crate::locale::Locale;

/// Appends a time in `format`, given as seconds and nanoseconds since 1970. Returns false if its
/// year is out of range. Then it appends the seconds instead, and the caller must report
/// [`Complaint::TimeOutOfRange`].
pub fn write_time(
    format: &[u8],
    seconds: i64,
    nanoseconds: u32,
    zone: &Zone,
    locale: &Locale,
    out: &mut Vec<u8>,
) -> bool {
    match zone.moment(seconds, nanoseconds) {
        Some(moment) => {
            format::format_time(format, &moment, locale, out);
            true
        }
        None => {
            out.extend_from_slice(seconds.to_string().as_bytes());
            false
        }
    }
}
