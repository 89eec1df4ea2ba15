//! Dates and points in time, as bytes that compare as the values do.
//!
//! ```text
//!  date      year + 32,768 in 2 bytes | month | day
//!  datetime  seconds since 1970 in UTC + 2^39 in 5 bytes | nanoseconds in 4
//! ```
//!
//! jiff reads all notations. The usual one, RFC 3339 with four digits for the year, is read here,
//! because jiff took a third of the processor time of a sort.

use crate::time_format::TimeFormat;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Appends the bytes of a date. `None` if the text isn't one.
pub(crate) fn push_date(out: &mut Vec<u8>, text: &[u8]) -> Option<()> {
    let (year, month, day) = match usual_date(text) {
        Some(date) if text.len() == DATE_BYTES => date,
        _ => {
            let date: Date = std::str::from_utf8(text).ok()?.parse().ok()?;
            (date.year(), date.month() as u8, date.day() as u8)
        }
    };
    let [high, low] = (year as u16 ^ 1 << 15).to_be_bytes();
    out.extend_from_slice(&[high, low, month, day]);
    Some(())
}

/// Appends the bytes of a point in time, in a notation of jiff or in `format`. Without a zone it is
/// in UTC. `None` if the text isn't a time.
pub(crate) fn push_time(out: &mut Vec<u8>, text: &[u8], format: Option<&TimeFormat>) -> Option<()> {
    let usual = if format.is_none() { usual_time(text) } else { None };
    let (seconds, nanoseconds) = match usual {
        Some(time) => time,
        None => {
            let time = point_in_time(std::str::from_utf8(text).ok()?, format)?;
            let (seconds, nanoseconds) = (time.as_second(), time.subsec_nanosecond());
            // Before 1970 both are counted backwards.
            match u32::try_from(nanoseconds) {
                Ok(nanoseconds) => (seconds, nanoseconds),
                Err(_) => (seconds - 1, (nanoseconds + NANOSECONDS) as u32),
            }
        }
    };
    out.extend_from_slice(&((seconds + (1 << 39)) as u64).to_be_bytes()[3..]);
    out.extend_from_slice(&nanoseconds.to_be_bytes());
    Some(())
}

const NANOSECONDS: i32 = 1_000_000_000;
/// Length of `2026-11-22`, and with `T12:30:00` after it.
const DATE_BYTES: usize = 10;
const TIME_BYTES: usize = 19;

fn point_in_time(text: &str, format: Option<&TimeFormat>) -> Option<Timestamp> {
    let utc = |local: DateTime| TimeZone::UTC.to_timestamp(local).ok();
    match format {
        Some(format) => format.read(text),
        None => text.parse().ok().or_else(|| utc(text.parse().ok()?)),
    }
}

/// Parses a time in RFC 3339's notation, in years that jiff supports fully. Returns seconds since
/// 1970 and nanoseconds. `None` if only jiff may be able to read it.
fn usual_time(text: &[u8]) -> Option<(i64, u32)> {
    let (year @ 1..=9998, month, day) = usual_date(text)? else { return None };
    let (local, zone) = text.split_at_checked(TIME_BYTES)?;
    let &[.., b'T' | b' ', _, _, b':', _, _, b':', _, _] = local else { return None };
    let (hour, minute, second) = (two(local, 11)?, two(local, 14)?, two(local, 17)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (nanoseconds, zone) = fraction(zone)?;
    let ahead = seconds_ahead(zone)?;
    let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
    Some((days(year, month, day) * 86_400 + seconds - ahead, nanoseconds))
}

/// Days of each month, from index 1, except in leap years.
const DAYS: [u8; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Parses the year, month and day at the beginning of a text, if they are a day of the calendar.
fn usual_date(text: &[u8]) -> Option<(i16, u8, u8)> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h, ..] = text else { return None };
    let digits = [a, b, c, d, e, f, g, h].map(|byte| byte.wrapping_sub(b'0'));
    if digits.iter().fold(false, |is_other, &digit| is_other | (digit > 9)) {
        return None;
    }
    let two = |at: usize| 10 * digits[at] + digits[at + 1];
    let (year, month, day) = (i16::from(two(0)) * 100 + i16::from(two(2)), two(4), two(6));
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = DAYS.get(usize::from(month))? + u8::from(month == 2 && is_leap);
    (1..=last).contains(&day).then_some((year, month, day))
}

/// The number that two digits form.
fn two(text: &[u8], at: usize) -> Option<u8> {
    let (ten, one) = (text[at].wrapping_sub(b'0'), text[at + 1].wrapping_sub(b'0'));
    (ten < 10 && one < 10).then(|| 10 * ten + one)
}

/// Parses a fraction of one to nine digits as nanoseconds, 0 without one. Also returns the rest.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.', digits @ ..] = text else { return Some((0, text)) };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(count);
    let value = digits.iter().take(9).fold(0, |value, digit| 10 * value + u32::from(digit - b'0'));
    (1..=9).contains(&count).then(|| (value * 10_u32.pow(9 - count as u32), rest))
}

/// Seconds by which a zone is ahead of UTC: `Z`, `+02:00`, or empty.
fn seconds_ahead(zone: &[u8]) -> Option<i64> {
    match *zone {
        [] | [b'Z'] => Some(0),
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hours @ 0..=23, minutes @ 0..=59) = (two(zone, 1)?, two(zone, 4)?) else {
                return None;
            };
            let seconds = (i64::from(hours) * 60 + i64::from(minutes)) * 60;
            Some(if sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// Reads the bytes of a date. Returns the seconds from 1970 to its beginning.
pub(crate) fn date_seconds(bytes: &mut impl Iterator<Item = u8>) -> f64 {
    let mut next = || bytes.next().unwrap_or_default();
    let year = u16::from_be_bytes([next(), next()]) ^ 1 << 15;
    let (month, day) = (next(), next());
    (days(year.cast_signed(), month, day) * 86_400) as f64
}

/// Reads the bytes of a point in time. Returns the seconds since 1970.
pub(crate) fn time_seconds(bytes: &mut impl Iterator<Item = u8>) -> f64 {
    let mut number = |count| {
        bytes.take(count).fold(0u64, |number, byte| number << 8 | u64::from(byte)).cast_signed()
    };
    let (seconds, nanoseconds) = (number(5) - (1 << 39), number(4));
    seconds as f64 + nanoseconds as f64 / f64::from(NANOSECONDS)
}

/// Days since 1970-01-01. Years begin in March, so that February is the last
/// month (Reingold and Dershowitz, Calendrical Calculations).
fn days(year: i16, month: u8, day: u8) -> i64 {
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// jiff's reading of a text.
    fn by_jiff(text: &str) -> Option<(i64, u32)> {
        let nanoseconds = point_in_time(text, None)?.as_nanosecond();
        let second = i128::from(NANOSECONDS);
        Some((nanoseconds.div_euclid(second) as i64, nanoseconds.rem_euclid(second) as u32))
    }

    #[test]
    fn every_day_is_where_jiff_has_it() {
        let mut date = Date::constant(1, 1, 1);
        while date.year() < 9999 {
            let text = date.to_string();
            let seconds = TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).unwrap().as_second();
            assert_eq!(usual_time(format!("{text}T00:00:00Z").as_bytes()), Some((seconds, 0)));
            date = date.tomorrow().unwrap();
        }
    }

    #[test]
    fn the_usual_time_is_read_here() {
        assert_eq!(usual_time(b"1970-01-01T00:00:00.25Z"), Some((0, 250_000_000)));
        assert_eq!(usual_time(b"1970-01-01 02:00:01+02:00"), Some((1, 0)));
        assert_eq!(usual_time(b"1970-01-01T00:00:00"), Some((0, 0)));
    }

    #[test]
    fn bytes_come_in_the_order_of_times_before_1970_too() {
        let rising = [
            "-009999-01-02T01:59:59Z",
            "1969-12-31T23:59:58.5Z",
            "1969-12-31T23:59:59.25Z",
            "1969-12-31T23:59:59.5Z",
            "1970-01-01T00:00:00Z",
            "9999-12-30T22:00:00.999999999Z",
        ];
        let bytes = rising.map(|text| {
            let mut out = Vec::new();
            push_time(&mut out, text.as_bytes(), None).unwrap();
            out
        });
        assert!(bytes.is_sorted_by(|a, b| a < b && a.len() == 9));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        /// Texts that are nearly times: those read here are those that jiff reads.
        #[test]
        fn what_is_read_here_is_what_jiff_reads(
            text in "[0-9]{3}[0-9-]-[01][0-9]-[0-3][0-9][T t][0-2][0-9]:[0-6][0-9]:[0-6][0-9]\
                     ([.,][0-9]{0,10})?([Zz]|[+-][0-2][0-9]:[0-6][0-9]|\\[UTC\\])?"
        ) {
            if let Some(found) = usual_time(text.as_bytes()) {
                prop_assert_eq!(by_jiff(&text), Some(found), "{}", text);
            }
            if let Some((year, month, day)) = usual_date(text.as_bytes()) {
                let date: Date = text[..DATE_BYTES].parse().unwrap();
                let found = (year, month as i8, day as i8);
                prop_assert_eq!((date.year(), date.month(), date.day()), found);
            }
        }
    }
}
