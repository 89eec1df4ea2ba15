//! Formats rows as GNU du's lines: size, time if requested, path.

use super::row::Row;
use super::size_format::SizeFormat;
use crate::gnu_commands::locale;
use std::fs;
use std::path::Path;
use xsort_gnu::du::{Command, Zone, write_time};
use xsort_usage::Timestamp;

/// The time of a row that has none.
pub(super) const EPOCH: Timestamp = Timestamp { seconds: 0, nanoseconds: 0 };

/// Formats GNU du's lines.
pub(super) struct GnuLines<'a> {
    sizes: SizeFormat,
    /// The format of times and the time zone, if times are printed.
    time: Option<(&'a [u8], Zone)>,
    terminator: u8,
}

impl<'a> GnuLines<'a> {
    pub(super) fn new(command: &'a Command) -> GnuLines<'a> {
        let time = command.time.as_ref().map(|time| (&time.format[..], time_zone()));
        GnuLines { sizes: SizeFormat::new(command), time, terminator: command.terminator() }
    }

    /// Appends a row. If its time is out of range, returns the time in seconds.
    pub(super) fn write(&self, row: &Row, out: &mut Vec<u8>) -> Option<i64> {
        let mut bad_time = None;
        self.sizes.write(row.figure, out);
        if let Some((format, zone)) = &self.time {
            out.push(b'\t');
            let Timestamp { seconds, nanoseconds } = row.usage.newest.unwrap_or(EPOCH);
            let is_in_range = write_time(format, seconds, nanoseconds, zone, locale(), out);
            bad_time = (!is_in_range).then_some(seconds);
        }
        out.push(b'\t');
        out.extend_from_slice(&row.path);
        out.push(self.terminator);
        bad_time
    }
}

/// The time zone of the process.
fn time_zone() -> Zone {
    let read = |path: &Path| fs::metadata(path).ok()?.is_file().then(|| fs::read(path).ok())?;
    Zone::of(std::env::var_os("TZ").as_deref(), read)
}
