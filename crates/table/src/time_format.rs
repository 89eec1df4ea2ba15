//! Formats of points in time, in the directives of strptime. A format is checked before any row is
//! read: one that no value can have is an error of its author, not of the values.
//!
//! Parts that a format lacks have defaults: the first month and day; hour, minute and second 0; the
//! first day of a week; and UTC. The default year is a leap year, so that 29 February is a day in
//! formats without a year.

use jiff::Timestamp;
use jiff::civil::{Weekday, date};
use jiff::fmt::strtime::{self, BrokenDownTime};
use jiff::tz::{Offset, TimeZone};
use std::str::FromStr;

/// The year for formats without one.
const YEAR: i16 = 1972;
/// Supported directives, besides those of an offset.
const READ: &[u8] = b"%AaBbDdeFfGgHhIjklMmNnPpRSsTtUuVWwYy";
/// The notations of an offset from UTC: `+0200`, `+02:00` and `+02`, `Z`.
const OFFSETS: [&str; 4] = ["%z", "%:::z", "Z", "z"];

/// A format of points in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeFormat {
    /// The format in jiff's notation, once for each notation of an offset.
    variants: Vec<String>,
    has: Parts,
}

/// The parts of a point in time that a format has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parts {
    year: bool,
    month: bool,
    day: bool,
    day_of_year: bool,
    /// Weeks that begin on Sunday, and on Monday.
    week_of_sundays: bool,
    week_of_mondays: bool,
    iso_year: bool,
    iso_week: bool,
    weekday: bool,
    clock: bool,
    timestamp: bool,
}

/// A directive: the byte that names it, and its range in the format.
struct Directive {
    name: u8,
    begin: usize,
    end: usize,
}

impl FromStr for TimeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeFormat, String> {
        let directives = directives(text)?;
        let mut has = Parts::default();
        directives.iter().for_each(|directive| has.add(directive.name));
        has.check().map_err(|what| format!("datetime({text}): {what}"))?;
        let mut offsets = directives.iter().filter(|directive| directive.name == b'z');
        let variants = match (offsets.next(), offsets.next()) {
            (None, _) => vec![text.to_owned()],
            (Some(&Directive { begin, end, .. }), None) => {
                let (before, after) = (&text[..begin], &text[end..]);
                OFFSETS.iter().map(|offset| [before, offset, after].concat()).collect()
            }
            (Some(_), Some(_)) => return Err(format!("datetime({text}) has two offsets (%z)")),
        };
        let format = TimeFormat { variants, has };
        match format.can_be_read() {
            true => Ok(format),
            false => Err(format!("datetime({text}): no value can be written and read like this")),
        }
    }
}

impl TimeFormat {
    /// Parses a text as a point in time; `None` if it isn't in this format.
    pub(crate) fn read(&self, text: &str) -> Option<Timestamp> {
        let parsed = self.variants.iter().find_map(|format| strtime::parse(format, text).ok());
        self.complete(parsed?)
    }

    /// Fills in the defaults, and returns the point in time.
    fn complete(&self, mut parsed: BrokenDownTime) -> Option<Timestamp> {
        if let Some(timestamp) = parsed.timestamp() {
            let fraction = i64::from(parsed.subsec_nanosecond().unwrap_or(0));
            let fraction = if timestamp.as_second() < 0 { -fraction } else { fraction };
            return timestamp.checked_add(jiff::SignedDuration::from_nanos(fraction)).ok();
        }
        let has = &self.has;
        let first_weekday = if has.week_of_sundays { Weekday::Sunday } else { Weekday::Monday };
        if has.is_by_week() && !has.weekday {
            parsed.set_weekday(Some(first_weekday));
        } else if !has.is_by_week() && !has.is_whole_day() {
            parsed.set_weekday(None);
        }
        if has.iso_year {
            parsed.set_iso_week(Some(parsed.iso_week().unwrap_or(1))).ok()?;
        } else {
            parsed.set_year(Some(parsed.year().unwrap_or(YEAR))).ok()?;
        }
        if !has.is_by_week() && !has.day_of_year {
            parsed.set_month(Some(parsed.month().unwrap_or(1))).ok()?;
            parsed.set_day(Some(parsed.day().unwrap_or(1))).ok()?;
        }
        parsed.set_hour(Some(parsed.hour().unwrap_or(0))).ok()?;
        parsed.set_minute(Some(parsed.minute().unwrap_or(0))).ok()?;
        parsed.set_second(Some(parsed.second().unwrap_or(0))).ok()?;
        let local = parsed.to_datetime().ok()?;
        parsed.offset().unwrap_or(Offset::UTC).to_timestamp(local).ok()
    }

    /// True if a point in time in this format can be read back. One of two must be, because numbers
    /// without leading zeros may run together.
    fn can_be_read(&self) -> bool {
        let days =
            [date(2023, 12, 25).at(16, 17, 18, 123_456_789), date(2023, 1, 2).at(3, 4, 5, 0)];
        let zone = TimeZone::fixed(Offset::constant(2));
        days.iter().filter_map(|day| day.to_zoned(zone.clone()).ok()).any(|time| {
            let text = BrokenDownTime::from(&time).to_string(&self.variants[0]);
            text.is_ok_and(|text| self.read(&text).is_some())
        })
    }
}

impl Parts {
    fn add(&mut self, directive: u8) {
        match directive {
            b'Y' | b'y' => self.year = true,
            b'm' | b'b' | b'B' | b'h' => self.month = true,
            b'd' | b'e' => self.day = true,
            b'F' | b'D' => (self.year, self.month, self.day) = (true, true, true),
            b'j' => self.day_of_year = true,
            b'U' => self.week_of_sundays = true,
            b'W' => self.week_of_mondays = true,
            b'G' | b'g' => self.iso_year = true,
            b'V' => self.iso_week = true,
            b'A' | b'a' | b'u' | b'w' => self.weekday = true,
            b's' => self.timestamp = true,
            b'%' | b'n' | b't' | b'z' => {}
            _ => self.clock = true,
        }
    }

    /// True if the format gives the day as one of a week.
    fn is_by_week(&self) -> bool {
        let has_day = self.month || self.day || self.day_of_year;
        !has_day && (self.iso_year || self.week_of_sundays || self.week_of_mondays)
    }

    /// True if the day, and so the weekday, is known without defaults.
    fn is_whole_day(&self) -> bool {
        self.year && (self.month && self.day || self.day_of_year)
    }

    /// Refuses a format that names no point in time, whatever the values.
    fn check(&self) -> Result<(), &'static str> {
        let is_one_day = self.month && self.day || self.day_of_year;
        let has_date = self.year || self.month || self.day || self.day_of_year;
        let has_date = has_date || self.is_by_week();
        match self {
            _ if self.timestamp => Ok(()),
            Parts { iso_week: true, iso_year: false, .. } => {
                Err("%V is the week of a year that only %G names")
            }
            _ if self.weekday && !is_one_day && !self.is_by_week() => {
                Err("a weekday says which day it is only beside a date or a week (%U, %W, %V)")
            }
            _ if !has_date && !self.clock => Err("it names no date and no time"),
            _ => Ok(()),
        }
    }
}

/// Lists the directives of a format, all of which must be supported.
fn directives(format: &str) -> Result<Vec<Directive>, String> {
    let bytes = format.as_bytes();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(next) = memchr::memchr(b'%', &bytes[at..]) {
        let begin = at + next;
        let skip = |from: usize, of: &[u8]| {
            from + bytes[from..].iter().take_while(|byte| of.contains(byte)).count()
        };
        at = skip(skip(begin + 1, b"_-0^#"), b"0123456789");
        let (colons, is_fraction) = (at, bytes.get(at) == Some(&b'.'));
        at = if is_fraction { skip(at + 1, b"0123456789") } else { skip(at, b":") };
        let Some(name) = format[at..].chars().next() else {
            return Err(format!(
                "datetime({format}) ends within a directive (%% is a percent sign)"
            ));
        };
        at += name.len_utf8();
        let directive = &format[begin..at];
        let is_read = match u8::try_from(name) {
            Ok(b'z') => !is_fraction && at - 1 - colons <= 3,
            Ok(b'f') if is_fraction => true,
            Ok(byte) => READ.contains(&byte) && at - 1 == colons,
            Err(_) => false,
        };
        if !is_read {
            return Err(format!("datetime({format}): {directive} {}", reason(name)));
        }
        found.push(Directive { name: name as u8, begin, end: at });
    }
    Ok(found)
}

/// The reason why a directive isn't supported.
fn reason(name: char) -> &'static str {
    match name {
        'c' | 'r' | 'x' | 'X' => "depends on a language, and isn't read: name its parts",
        'Z' | 'Q' => "is the name of a time zone, which isn't read: offsets are (%z)",
        'C' => "is half a year, and isn't read: %Y is the year",
        _ => "is no directive that is read",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, text: &str) -> Option<Timestamp> {
        format.parse::<TimeFormat>().unwrap_or_else(|what| panic!("{what}")).read(text)
    }

    /// Formats without a whole date refused every value, and blamed the value.
    #[test]
    fn what_a_format_lacks_has_a_default() {
        for (format, rising) in [
            ("%H:%M:%S", &["00:00:00", "09:30:00", "23:59:59"][..]),
            ("%M:%S", &["00:10", "59:59"]),
            ("%.f", &["", ".25", ".5"]),
            ("%Y-%m", &["1999-12", "2000-01", "2000-02"]),
            ("%Y", &["1999", "2000"]),
            ("%B %d", &["January 31", "February 29", "March 1"]),
            ("%d", &["1", "31"]),
            ("%b", &["Jan", "Feb", "Dec"]),
            ("%j", &["001", "366"]),
            ("%Y %j", &["2023 365", "2024 001"]),
            ("%Y %U", &["2023 01", "2023 02"]),
            ("%Y %W %a", &["2023 01 Mon", "2023 01 Sun", "2023 02 Mon"]),
            ("%G-W%V", &["2020-W53", "2021-W01"]),
            ("%G", &["2020", "2021"]),
            ("%a %d %b", &["Sat 03 Jan", "Sat 04 Jan"]),
            ("%I %p", &["12 AM", "01 AM", "12 PM", "11 PM"]),
            ("%d/%m/%Y, %H:%M", &["31/12/1999, 23:59", "01/01/2000, 00:00"]),
            ("%s", &["-5", "0", "1737396540"]),
            ("%s.%f", &["5.25", "5.5", "6.0"]),
        ] {
            let times: Vec<_> = rising.iter().map(|text| read(format, text)).collect();
            assert!(times.iter().all(Option::is_some), "{format}: {times:?}");
            assert!(times.is_sorted_by(|a, b| a < b), "{format}: {times:?}");
        }
    }

    #[test]
    fn an_offset_may_be_written_in_any_way() {
        let utc = read("%FT%T%z", "2026-11-22T10:00:00Z");
        assert!(utc.is_some());
        for format in ["%FT%T%z", "%FT%T%:z", "%FT%T%::z"] {
            for same in ["12:00:00+0200", "12:00:00+02:00", "12:00:00+02", "10:00:00z"] {
                assert_eq!(read(format, &format!("2026-11-22T{same}")), utc, "{format} {same}");
            }
        }
        assert_eq!(read("%F %z %T", "2026-11-22 -01:30 08:30:00"), utc);
        assert_eq!(read("%FT%T%z", "2026-11-22T10:00:00"), None);
    }

    #[test]
    fn a_format_that_no_value_can_have_is_refused() {
        for (format, why) in [
            ("", "no date and no time"),
            ("day", "no date and no time"),
            ("%%", "no date and no time"),
            ("%z", "no date and no time"),
            ("%Y-%m-%", "ends within"),
            ("%Y %", "ends within"),
            ("%E", "no directive"),
            ("%Y-%L", "no directive"),
            ("%Y %\u{e9}", "no directive"),
            ("%Y %q", "no directive"),
            ("%:d", "no directive"),
            ("%.3N", "no directive"),
            ("%c", "a language"),
            ("%F %Z", "time zone"),
            ("%F %:Q", "time zone"),
            ("%C%y", "%Y is the year"),
            ("%a %H:%M", "a weekday"),
            ("%B %A", "a weekday"),
            ("%Y %V", "%G"),
            ("%F %z %z", "two offsets"),
            ("%300d", "no value"),
        ] {
            let refused = format.parse::<TimeFormat>().err();
            assert!(
                refused.as_ref().is_some_and(|what| what.contains(why)),
                "{format} {refused:?}"
            );
        }
    }

    #[test]
    fn a_value_that_is_written_otherwise_is_none() {
        for (format, text) in [
            ("%Y", "x"),
            ("%H:%M", "24:00"),
            ("%d.%m.%Y", "30.02.2026"),
            ("%a %F", "Mon 2026-11-22"),
            ("%Y-%m", "2026-11-22"),
        ] {
            assert_eq!(read(format, text), None, "{format} {text}");
        }
    }
}
