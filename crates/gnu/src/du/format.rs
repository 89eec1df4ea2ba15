//! Times as text, by a format of GNU date: `%Y-%m-%d`, with its flags, widths and fractions of
//! seconds.
//!
//! Source: the manual of GNU coreutils ("date invocation") and the output of the program. Text
//! outside conversions is copied.

use super::zone::Moment;
use crate::locale::Locale;
use std::ffi::CStr;

/// Appends `at` in `format`.
pub(super) fn format_time(format: &[u8], at: &Moment, locale: &Locale, out: &mut Vec<u8>) {
    Formatter { at, locale, is_upper: false, year_pad: None }.write(format, None, out);
}

struct Formatter<'a> {
    at: &'a Moment,
    locale: &'a Locale,
    /// True if all letters are in upper case.
    is_upper: bool,
    /// The padding of years without a flag.
    year_pad: Option<u8>,
}

/// The flags between `%` and the letter.
#[derive(Clone, Copy, Debug, Default)]
struct Style {
    /// `_`, `-`, `+` or `0`.
    pad: Option<u8>,
    width: Option<usize>,
    is_upper: bool,
    /// `#`: the other case.
    is_other_case: bool,
}

/// A number to be written.
struct Number {
    is_negative: bool,
    value: u64,
    /// Minimum number of digits, including the sign if there is one.
    digits: usize,
    has_plus: bool,
    /// Number of colons before the last pairs of digits.
    colons: usize,
}

impl Number {
    fn of(digits: usize, value: u64) -> Number {
        Number { is_negative: false, value, digits, has_plus: false, colons: 0 }
    }

    fn signed(digits: usize, value: i64) -> Number {
        Number { is_negative: value < 0, ..Number::of(digits, value.unsigned_abs()) }
    }
}

impl Formatter<'_> {
    /// Writes `format`. `width` is that of the first conversion.
    fn write(&self, format: &[u8], mut width: Option<usize>, out: &mut Vec<u8>) {
        let mut rest = format;
        while let Some(at) = memchr::memchr(b'%', rest) {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
            let used = self.conversion(rest, width.take(), out);
            rest = &rest[used..];
        }
        out.extend_from_slice(rest);
    }

    /// Writes the conversion at the beginning of `text`. Returns its length in bytes.
    fn conversion(&self, text: &[u8], width: Option<usize>, out: &mut Vec<u8>) -> usize {
        let mut style = Style { is_upper: self.is_upper, width, ..Style::default() };
        let mut at = 1;
        while let Some(&flag) = text.get(at) {
            match flag {
                b'_' | b'-' | b'+' | b'0' => style.pad = Some(flag),
                b'^' => style.is_upper = true,
                b'#' => style.is_other_case = true,
                _ => break,
            }
            at += 1;
        }
        let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            let add = |sum: usize, digit: &u8| {
                (sum * 10 + usize::from(digit - b'0')).min(i32::MAX as usize)
            };
            style.width = Some(text[at..at + digits].iter().fold(0, add));
            at += digits;
        }
        let modifier = text.get(at).copied().filter(|byte| matches!(byte, b'E' | b'O'));
        at += usize::from(modifier.is_some());
        let colons = text[at..].iter().take_while(|&&byte| byte == b':').count();
        let letter = text.get(at + colons).copied();
        let length = (at + colons + 1).min(text.len());
        let is_known = match (letter, colons) {
            // A bug of GNU date, kept: the letter is lost.
            (Some(b'z'), 1..=3) if modifier == Some(b'O') => {
                self.text(&text[..=at], style, out);
                true
            }
            (Some(b'z'), 0..=3) => {
                self.offset(colons, style, out);
                true
            }
            (Some(b'%'), 0) if at == 1 => {
                out.push(b'%');
                true
            }
            (Some(letter), 0) => {
                self.by_locale(letter, modifier, style, out)
                    || self.letter(letter, modifier, style, out)
            }
            _ => false,
        };
        if is_known {
            return length;
        }
        // An invalid conversion is copied. Reading continues at the next percent sign, or after the
        // first of several invalid colons.
        let length = match (letter, colons) {
            (Some(b'z'), 1..) | (_, 0) => length - usize::from(letter == Some(b'%')),
            _ => at + 1,
        };
        self.text(&text[..length], style, out);
        length
    }

    /// Writes the conversion of a letter. Returns false if the letter is invalid, or has an invalid
    /// modifier.
    fn letter(&self, letter: u8, modifier: Option<u8>, style: Style, out: &mut Vec<u8>) -> bool {
        let refused: &[u8] = match modifier {
            Some(b'E') => b"aAbBdDeFgGhHIjklmMNSUVwW",
            Some(_) => b"aAcDFqxXY",
            None => b"",
        };
        if refused.contains(&letter) {
            return false;
        }
        let at = self.at;
        let number = |digits, value: u32| Number::of(digits, u64::from(value));
        let spaced = Style { pad: style.pad.or(Some(b'_')), ..style };
        let (week_year, week) = iso_week(at);
        match letter {
            b'a' => self.name(libc::ABDAY_1, at.weekday, style, out),
            b'A' => self.name(libc::DAY_1, at.weekday, style, out),
            b'b' | b'h' => self.name(libc::ABMON_1, at.month - 1, style, out),
            b'B' => self.name(libc::MON_1, at.month - 1, style, out),
            b'c' => self.locale_format(libc::D_T_FMT, style, out),
            b'x' => self.locale_format(libc::D_FMT, style, out),
            b'X' => self.locale_format(libc::T_FMT, style, out),
            b'r' => self.locale_format(libc::T_FMT_AMPM, style, out),
            b'D' => self.part(b"%m/%d/%y", style, out),
            b'R' => self.part(b"%H:%M", style, out),
            b'T' => self.part(b"%H:%M:%S", style, out),
            b'F' => self.date(style, out),
            b'C' => {
                let century = Number {
                    is_negative: at.year < 0,
                    ..Number::of(2, at.year.unsigned_abs() / 100)
                };
                self.yearish(century, style, out);
            }
            b'Y' => self.yearish(Number::signed(4, at.year), style, out),
            b'G' => self.yearish(Number::signed(4, week_year), style, out),
            b'y' => self.yearish(Number::of(2, two_digits(at.year)), style, out),
            b'g' => self.yearish(Number::of(2, two_digits(week_year)), style, out),
            b'd' => self.number(number(2, at.day), style, out),
            b'e' => self.number(number(2, at.day), spaced, out),
            b'H' => self.number(number(2, at.hour), style, out),
            b'k' => self.number(number(2, at.hour), spaced, out),
            b'I' => self.number(number(2, twelve(at.hour)), style, out),
            b'l' => self.number(number(2, twelve(at.hour)), spaced, out),
            b'j' => self.number(number(3, at.day_of_year), style, out),
            b'M' => self.number(number(2, at.minute), style, out),
            b'm' => self.number(number(2, at.month), style, out),
            b'S' => self.number(number(2, at.second), style, out),
            b's' => self.number(Number::signed(1, at.seconds), style, out),
            b'q' => self.number(number(1, (at.month - 1) / 3 + 1), style, out),
            b'u' => self.number(number(1, (at.weekday + 6) % 7 + 1), style, out),
            b'w' => self.number(number(1, at.weekday), style, out),
            b'U' => self.number(number(2, (at.day_of_year + 6 - at.weekday) / 7), style, out),
            b'W' => {
                self.number(number(2, (at.day_of_year + 6 - (at.weekday + 6) % 7) / 7), style, out);
            }
            b'V' => self.number(number(2, week), style, out),
            b'N' => self.fraction(style, out),
            b'n' => self.text(b"\n", style, out),
            b't' => self.text(b"\t", style, out),
            b'p' | b'P' => {
                let item = if at.hour < 12 { libc::AM_STR } else { libc::PM_STR };
                let is_lower = letter == b'P' || style.is_other_case;
                self.cased(self.locale.handle.item(item), is_lower, style, out);
            }
            b'Z' => self.cased(at.zone.clone().into_bytes(), style.is_other_case, style, out),
            _ => return false,
        }
        true
    }

    /// Lets the C library write years of an era, and numbers in the locale's digits. Returns false
    /// for other conversions.
    fn by_locale(&self, letter: u8, modifier: Option<u8>, style: Style, out: &mut Vec<u8>) -> bool {
        let Some(modifier) = modifier else { return false };
        let letters: &[u8] = if modifier == b'E' { b"cCxXyY" } else { b"CdegHIjklmMSuUVwWy" };
        if !letters.contains(&letter) || !(0..=i64::from(i32::MAX)).contains(&self.at.year) {
            return false;
        }
        let format = [b'%', modifier, letter, 0];
        let format = CStr::from_bytes_with_nul(&format).expect("it ends with the only NUL");
        self.text(&self.locale.handle.time(format, &self.at.broken_down()), style, out);
        true
    }

    /// `%F`: a width applies to the whole date.
    fn date(&self, style: Style, out: &mut Vec<u8>) {
        let (year_pad, width) = match (style.pad, style.width) {
            (None, None) => (Some(b'+'), 4),
            (pad, width) => (pad, width.unwrap_or(0).saturating_sub(6)),
        };
        let mut date = Vec::new();
        Formatter { is_upper: style.is_upper, year_pad, ..*self }.write(
            b"%Y-%m-%d",
            Some(width),
            &mut date,
        );
        self.text(&date, style, out);
    }

    /// Writes a name that may be lower case, which then overrides upper case.
    fn cased(&self, mut name: Vec<u8>, is_lower: bool, style: Style, out: &mut Vec<u8>) {
        if is_lower {
            name.make_ascii_lowercase();
            self.text(&name, Style { is_upper: false, ..style }, out);
        } else {
            self.text(&name, style, out);
        }
    }

    /// Writes a name of the locale. `#` means upper case here.
    fn name(&self, first: libc::nl_item, number: u32, style: Style, out: &mut Vec<u8>) {
        let name = self.locale.handle.item(first + number as libc::nl_item);
        self.text(&name, Style { is_upper: style.is_upper || style.is_other_case, ..style }, out);
    }

    fn locale_format(&self, item: libc::nl_item, style: Style, out: &mut Vec<u8>) {
        let mut format = self.locale.handle.item(item);
        if format.is_empty() && item == libc::T_FMT_AMPM {
            format = b"%I:%M:%S %p".to_vec();
        }
        self.part(&format, style, out);
    }

    /// A format within the format.
    fn part(&self, format: &[u8], style: Style, out: &mut Vec<u8>) {
        let mut text = Vec::new();
        Formatter { is_upper: style.is_upper, year_pad: style.pad, ..*self }
            .write(format, None, &mut text);
        self.text(&text, style, out);
    }

    /// Writes text, padded on the left to the width.
    fn text(&self, text: &[u8], style: Style, out: &mut Vec<u8>) {
        let missing = match style.pad {
            Some(b'-') => 0,
            _ => style.width.unwrap_or(0).saturating_sub(text.len()),
        };
        let fill = if matches!(style.pad, Some(b'0' | b'+')) { b'0' } else { b' ' };
        out.resize(out.len() + missing, fill);
        if style.is_upper {
            out.extend(text.iter().map(u8::to_ascii_uppercase));
        } else {
            out.extend_from_slice(text);
        }
    }

    /// Writes a year or a century. `+` adds a sign if there are more digits than usual.
    fn yearish(&self, number: Number, style: Style, out: &mut Vec<u8>) {
        let style = Style { pad: style.pad.or(self.year_pad), ..style };
        let usual_max = if number.digits == 2 { 99 } else { 9999 };
        let is_wide = style.width.is_some_and(|width| width > number.digits);
        let has_plus = style.pad == Some(b'+') && (number.value > usual_max || is_wide);
        self.number(Number { has_plus, ..number }, style, out);
    }

    fn number(&self, number: Number, style: Style, out: &mut Vec<u8>) {
        let pad = style.pad.unwrap_or(b'0');
        let mut digits = Vec::new();
        let (mut left, mut colons) = (number.value, number.colons);
        let mut since_colon = 0;
        loop {
            if since_colon == 2 && colons > 0 {
                digits.push(b':');
                colons -= 1;
                since_colon = 0;
            }
            digits.push(b'0' + (left % 10) as u8);
            left /= 10;
            since_colon += 1;
            if left == 0 && colons == 0 {
                break;
            }
        }
        digits.reverse();
        let sign = if number.is_negative { Some(b'-') } else { number.has_plus.then_some(b'+') };
        let width = style.width.unwrap_or(number.digits);
        let missing = match pad {
            b'-' => 0,
            _ => width.saturating_sub(digits.len() + usize::from(sign.is_some())),
        };
        if pad == b'_' {
            out.resize(out.len() + missing, b' ');
            out.extend(sign);
        } else {
            out.extend(sign);
            out.resize(out.len() + missing, b'0');
        }
        out.extend_from_slice(&digits);
    }

    /// Writes nanoseconds. The width is the number of digits; missing ones are filled on the right.
    fn fraction(&self, style: Style, out: &mut Vec<u8>) {
        let width = style.width.filter(|&width| width > 0).unwrap_or(9);
        let digits = format!("{:09}", self.at.nanoseconds);
        let digits = &digits[..width.min(9)];
        let kept = digits.trim_end_matches('0').len().max(1);
        out.extend_from_slice(&digits.as_bytes()[..kept]);
        let fill = match style.pad {
            Some(b'-') => return,
            None | Some(b'0' | b'+') => b'0',
            Some(_) => b' ',
        };
        out.resize(out.len() + width - kept, fill);
    }

    /// Writes the offset from Greenwich, with this number of colons; three mean as many as needed.
    fn offset(&self, colons: usize, style: Style, out: &mut Vec<u8>) {
        let seconds = self.at.offset_seconds.unsigned_abs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let is_negative = self.at.offset_seconds < 0
            || (self.at.offset_seconds == 0 && self.at.zone.starts_with('-'));
        let (digits, value, colons) = match (colons, minutes, seconds) {
            (0, ..) => (5, hours * 100 + minutes, 0),
            (1, ..) | (3, 1.., 0) => (6, hours * 100 + minutes, 1),
            (3, 0, 0) => (3, hours, 0),
            _ => (9, hours * 10_000 + minutes * 100 + seconds, 2),
        };
        self.number(Number { is_negative, value, digits, has_plus: true, colons }, style, out);
    }
}

fn twelve(hour: u32) -> u32 {
    (hour + 11) % 12 + 1
}

/// The last two digits of a year, also for negative years.
fn two_digits(year: i64) -> u64 {
    let last = year % 100;
    if year < 0 { last.unsigned_abs() } else { last as u64 }
}

/// Year and week of ISO 8601. Weeks begin on Monday, and the first has the year's first Thursday.
fn iso_week(at: &Moment) -> (i64, u32) {
    let weekday = (at.weekday + 6) % 7;
    // The Thursday of this week decides.
    let thursday = i64::from(at.day_of_year) + 3 - i64::from(weekday);
    let (year, day) = match thursday {
        ..=0 => (at.year - 1, thursday + days(at.year - 1)),
        _ if thursday > days(at.year) => (at.year + 1, thursday - days(at.year)),
        _ => (at.year, thursday),
    };
    (year, ((day - 1) / 7 + 1) as u32)
}

fn days(year: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    365 + i64::from(is_leap)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::du::Zone;

    fn shown(format: &str, zone: &str, seconds: i64, nanoseconds: u32) -> String {
        let moment =
            Zone::of(Some(OsStr::new(zone)), |_| None).moment(seconds, nanoseconds).unwrap();
        let mut out = Vec::new();
        format_time(format.as_bytes(), &moment, &Locale::c(), &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Equal to the output of `du --time --time-style=+...` of coreutils 9.1 for 2024-02-29
    /// 07:08:09.0123 UTC.
    #[test]
    fn times_are_shown_as_gnu_shows_them() {
        for (format, expected) in [
            ("%Y-%m-%d %H:%M:%S.%N %z", "2024-02-29 02:08:09.012300000 -0500"),
            ("%y %C %G %g %V %U %W %u %w %j %q", "24 20 2024 24 09 08 09 4 4 060 1"),
            ("%e %k %l %I %s %p %P", "29  2  2 02 1709190489 AM am"),
            ("%a %A %b %B %h %c", "Thu Thursday Feb February Feb Thu Feb 29 02:08:09 2024"),
            (
                "%x %X %r %D %F %T %R",
                "02/29/24 02:08:09 02:08:09 AM 02/29/24 2024-02-29 02:08:09 02:08",
            ),
            ("%3N|%12N|%-N|%_12N|%03N|%1N", "012|012300000000|0123|0123        |012|0"),
            ("%10Y|%_10Y|%-Y|%+6Y|%+Y|%4C", "0000002024|      2024|2024|+02024|2024|0020"),
            (
                "%^a|%#a|%#p|%^P|%#Z|%10a|%010a|%-d|%_5d",
                "THU|THU|am|am|est|       Thu|0000000Thu|29|   29",
            ),
            (
                "%12F|%-F|%+12F|%10T|%40c",
                "002024-02-29|2024-02-29|+02024-02-29|  02:08:09|                Thu Feb 29 \
                02:08:09 2024",
            ),
            (
                "%:z %::z %:::z %_z %-z %10:z %Ez",
                "-05:00 -05:00:00 -05  -500 -500 -000005:00 -0500",
            ),
            ("%Ey %OH %Od|%Ed|%OY|%Q|%5Q|%|%:|%::x", "24 02 29|%Ed|%OY|%Q|  %5Q|%|%:|%::x"),
            ("%5%d|%E%d|%::::z|%O:z|%%%", "   %529|%E29|%::::z|%O:|%%"),
            ("%n%t%5", "\n\t   %5"),
        ] {
            assert_eq!(shown(format, "EST5EDT", 1_709_190_489, 12_300_000), expected, "{format}");
        }
    }

    #[test]
    fn odd_years_and_zones_have_their_signs() {
        let years = "%Y %C %y %G %g %F %+F %+Y %_6Y %j %V|%10C";
        for (seconds, expected) in [
            (
                -62_135_596_801,
                "0000 00 00 0000 00 0000-12-31 0-12-31 0000      0 366 52|0000000000",
            ),
            (
                -62_167_219_201,
                "-001 -0 01 -001 01 -001-12-31 -1-12-31 -001     -1 365 52|-000000000",
            ),
            (
                253_402_300_800,
                "10000 100 00 9999 99 +10000-01-01 +10000-01-01 +10000  10000 001 52|0000000100",
            ),
            (
                -4_000_000_000_000,
                "-124785 -1247 85 -124785 85 -124785-01-17 -124785-01-17 -124785 -124785 017 \
                03|-000001247",
            ),
        ] {
            assert_eq!(shown(years, "", seconds, 0), expected, "{seconds}");
        }
        assert_eq!(shown("%z %:z %Z", "<-00>0", 0, 0), "-0000 -00:00 -00");
        assert_eq!(shown("%z %:::z", "<+0530>-5:30", 0, 0), "+0530 +05:30");
        assert_eq!(shown("%::z %:::z", "XXX-1:02:03", 0, 0), "+01:02:03 +01:02:03");
    }
}
