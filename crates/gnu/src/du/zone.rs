//! Converts seconds to date and time in a zone, as the C library does by `TZ`.
//!
//! `jiff` reads the rules of zones. Its years end with 9999, but files may have later times. The
//! calendar repeats every 400 years, to the day of the week, and so do the rules of zones by then.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Seconds of 400 years.
const CALENDAR_SECONDS: i64 = 146_097 * 86_400;
/// Times that `jiff` converts directly: from the year -7500 to 8307.
const JIFF_SECONDS: std::ops::Range<i64> = -299_000_000_000..200_000_000_000;

/// The rules of a time zone.
#[derive(Clone, Debug)]
pub struct Zone {
    rules: TimeZone,
    /// Replaces the rules' name of the zone.
    name: Option<String>,
}

/// A time, broken down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
    pub(super) year: i64,
    /// Month, from 1 to 12.
    pub(super) month: u32,
    pub(super) day: u32,
    /// Day of the year, from 1.
    pub(super) day_of_year: u32,
    /// Day of the week; 0 is Sunday.
    pub(super) weekday: u32,
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: u32,
    /// Seconds ahead of UTC.
    pub(super) offset_seconds: i64,
    pub(super) zone: String,
}

impl Moment {
    /// The time for the C library, without the zone. Its year must fit.
    pub(super) fn broken_down(&self) -> libc::tm {
        libc::tm {
            tm_sec: self.second as i32,
            tm_min: self.minute as i32,
            tm_hour: self.hour as i32,
            tm_mday: self.day as i32,
            tm_mon: self.month as i32 - 1,
            tm_year: (self.year - 1900) as i32,
            tm_wday: self.weekday as i32,
            tm_yday: self.day_of_year as i32 - 1,
            tm_isdst: 0,
            tm_gmtoff: self.offset_seconds,
            tm_zone: std::ptr::null_mut(),
        }
    }
}

impl Zone {
    /// The zone that `TZ` names, or the system's if it is `None`. `read` reads the files of rules.
    pub fn of(variable: Option<&OsStr>, read: impl Fn(&Path) -> Option<Vec<u8>>) -> Zone {
        let utc = || Zone { rules: TimeZone::UTC, name: None };
        let file = |path: &Path| {
            let rules = TimeZone::tzif("", &read(path)?).ok()?;
            Some(Zone { rules, name: None })
        };
        let Some(variable) = variable else {
            return file(Path::new("/etc/localtime")).unwrap_or_else(utc);
        };
        let named = variable.as_bytes().strip_prefix(b":").unwrap_or(variable.as_bytes());
        if named.is_empty() {
            return utc();
        }
        let path = PathBuf::from("/usr/share/zoneinfo").join(OsStr::from_bytes(named));
        file(&path).unwrap_or_else(|| Zone::written_out(&String::from_utf8_lossy(named)))
    }

    /// The rules in `TZ` itself, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    fn written_out(rule: &str) -> Zone {
        // Summer times without rules have those of the United States.
        let parsed = [rule.to_owned(), format!("{rule},M3.2.0,M11.1.0")]
            .iter()
            .find_map(|rule| TimeZone::posix(rule).ok());
        if let Some(rules) = parsed {
            return Zone { rules, name: None };
        }
        // Invalid rules mean Greenwich, with the name at their beginning.
        let letters = rule.bytes().take_while(u8::is_ascii_alphabetic).count();
        let is_name = letters >= 3
            && !rule[letters..].starts_with(|c: char| c.is_ascii_digit() || c == '+' || c == '-');
        Zone {
            rules: TimeZone::UTC,
            name: Some(if is_name { rule[..letters].to_owned() } else { String::new() }),
        }
    }

    /// The time in this zone; `None` if its year, counted from 1900, doesn't fit 32 bits.
    pub(super) fn moment(&self, seconds: i64, nanoseconds: u32) -> Option<Moment> {
        let cycles = if seconds >= JIFF_SECONDS.end {
            (seconds - JIFF_SECONDS.end) / CALENDAR_SECONDS + 1
        } else if seconds < JIFF_SECONDS.start {
            // Without overflow at the least number.
            -((JIFF_SECONDS.start - 1).saturating_sub(seconds) / CALENDAR_SECONDS + 1)
        } else {
            0
        };
        let asked =
            (i128::from(seconds) - i128::from(cycles) * i128::from(CALENDAR_SECONDS)) as i64;
        let timestamp = Timestamp::from_second(asked).ok()?;
        let info = self.rules.to_offset_info(timestamp);
        let there = info.offset().to_datetime(timestamp);
        let year = i64::from(there.year()) + 400 * cycles;
        i32::try_from(year - 1900).ok()?;
        Some(Moment {
            seconds,
            nanoseconds,
            year,
            month: there.month() as u32,
            day: there.day() as u32,
            day_of_year: there.day_of_year() as u32,
            weekday: there.weekday().to_sunday_zero_offset() as u32,
            hour: there.hour() as u32,
            minute: there.minute() as u32,
            second: there.second() as u32,
            offset_seconds: i64::from(info.offset().seconds()),
            zone: self.name.clone().unwrap_or_else(|| info.abbreviation().to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(zone: &str, seconds: i64) -> String {
        let Some(at) = Zone::of(Some(OsStr::new(zone)), |_| None).moment(seconds, 0) else {
            return "none".into();
        };
        format!(
            "{}-{:02}-{:02} {} {} {:02}:{:02}:{:02} {} {}",
            at.year,
            at.month,
            at.day,
            at.day_of_year,
            at.weekday,
            at.hour,
            at.minute,
            at.second,
            at.offset_seconds,
            at.zone
        )
    }

    /// Equal to the output of `du --time --time-style=+...` of coreutils 9.1.
    #[test]
    fn times_are_those_of_the_place() {
        assert_eq!(shown("", 1_709_190_489), "2024-02-29 60 4 07:08:09 0 UTC");
        assert_eq!(
            shown("CET-1CEST,M3.5.0,M10.5.0/3", 1_720_000_000),
            "2024-07-03 185 3 11:46:40 7200 CEST"
        );
        assert_eq!(shown("ABC5DEF", 1_720_000_000), "2024-07-03 185 3 05:46:40 -14400 DEF");
        assert_eq!(shown("Foo/Bar", 0), "1970-01-01 1 4 00:00:00 0 Foo");
        assert_eq!(shown("XX", 0), "1970-01-01 1 4 00:00:00 0 ");
    }

    #[test]
    fn years_go_on_beyond_four_digits() {
        assert_eq!(shown("", 253_402_300_800), "10000-01-01 1 6 00:00:00 0 UTC");
        assert_eq!(shown("", 67_768_036_191_676_799), "2147485547-12-31 365 3 23:59:59 0 UTC");
        assert_eq!(shown("", 67_768_036_191_676_800), "none");
        assert_eq!(shown("", -67_768_040_609_740_800), "-2147481748-01-01 1 4 00:00:00 0 UTC");
        assert_eq!(shown("", i64::MIN), "none");
        assert_eq!(shown("", i64::MAX), "none");
    }
}
