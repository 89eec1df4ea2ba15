//! Prints sizes as du does: in blocks rounded up, or in short form, with exact integers.
//!
//! A size is scaled once. The digit after the point and the rest beyond it are kept apart, so it is
//! never rounded up twice.

use super::number::{Problem, number};
use crate::getopt::choose;
use crate::locale::Numerals;

/// How sizes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Bytes of a unit, at least 1.
    pub unit_bytes: u64,
    /// `-h`, `--si`: shortened to fewer than a thousand (or 1024) units.
    pub is_short: bool,
    /// The unit's letter follows the number.
    pub has_letter: bool,
    /// Units are powers of 1024, else of 1000.
    pub is_binary: bool,
    /// `B` follows the letter (`kB`, `MiB`).
    pub has_byte: bool,
    /// `'`: digits are grouped by the locale's rules.
    pub is_grouped: bool,
}

/// The letters of the powers, from the first on.
const LETTERS: &[u8; 8] = b"KMGTPEZY";

impl Scale {
    /// Numbers without units, in units of `unit_bytes` bytes.
    pub const fn blocks(unit_bytes: u64) -> Scale {
        Scale {
            unit_bytes,
            is_short: false,
            has_letter: false,
            is_binary: false,
            has_byte: false,
            is_grouped: false,
        }
    }

    /// `-h` if binary, else `--si`.
    pub const fn short(is_binary: bool) -> Scale {
        Scale { is_short: true, has_letter: true, is_binary, ..Scale::blocks(1) }
    }

    /// Parses the argument of `-B` or the value of an environment variable. An invalid one also has
    /// a meaning.
    pub(super) fn parse(spec: &[u8], default_bytes: u64) -> (Scale, Option<Problem>) {
        let (is_grouped, spec) = match spec {
            [b'\'', rest @ ..] => (true, rest),
            _ => (false, spec),
        };
        if let Ok(is_binary) = choose(spec, &[("human-readable", true), ("si", false)]) {
            return (Scale { is_grouped, ..Scale::short(is_binary) }, None);
        }
        let number = number(spec, 0, i128::from(u64::MAX), b"eEgGkKmMpPtTyYzZ0");
        let unit_bytes = number.value.map_or(0, |value| value as u64);
        let used = &spec[..number.used];
        let scale = match number.problem {
            Some(_) => Scale::blocks(unit_bytes),
            // A unit without a number is shown.
            None if !used.iter().any(u8::is_ascii_digit) => {
                let has_byte = used.ends_with(b"B");
                let is_binary = !has_byte || used.ends_with(b"iB");
                Scale {
                    is_grouped,
                    has_letter: true,
                    is_binary,
                    has_byte,
                    ..Scale::blocks(unit_bytes)
                }
            }
            None => Scale { is_grouped, ..Scale::blocks(unit_bytes) },
        };
        match unit_bytes {
            0 => (Scale { unit_bytes: default_bytes, ..scale }, Some(Problem::NoNumber)),
            _ => (scale, number.problem),
        }
    }

    /// True if printing sizes needs a locale's [`Numerals`].
    pub fn is_of_locale(&self) -> bool {
        self.is_short || self.is_grouped
    }

    /// Appends `bytes` in units, rounded up.
    pub fn write(&self, bytes: u64, numerals: &Numerals, out: &mut Vec<u8>) {
        let base: u64 = if self.is_binary { 1024 } else { 1000 };
        let unit = self.unit_bytes;
        let mut units = bytes / unit;
        let tenfold = u128::from(bytes % unit) * 10;
        // The digit after the point, and whether anything is beyond it.
        let (mut tenths, mut has_more) =
            ((tenfold / u128::from(unit)) as u64, !tenfold.is_multiple_of(u128::from(unit)));
        let mut power = 0;
        let mut shows_tenths = false;
        if self.is_short {
            while units >= base && power < LETTERS.len() {
                let tenfold = units % base * 10 + tenths;
                has_more |= !tenfold.is_multiple_of(base);
                (units, tenths) = (units / base, tenfold / base);
                power += 1;
            }
            if power > 0 && units < 10 {
                if has_more {
                    (tenths, has_more) = (tenths + 1, false);
                }
                (units, tenths) = (units + tenths / 10, tenths % 10);
                shows_tenths = units < 10;
            }
        }
        if !shows_tenths && (tenths > 0 || has_more) {
            units += 1;
            tenths = 0;
            if self.is_short && units == base && power < LETTERS.len() {
                (units, shows_tenths) = (1, true);
                power += 1;
            }
        }
        let digits = units.to_string();
        if self.is_grouped {
            numerals.group(digits.as_bytes(), out);
        } else {
            out.extend_from_slice(digits.as_bytes());
        }
        if shows_tenths {
            out.extend_from_slice(&numerals.point);
            out.push(b'0' + tenths as u8);
        }
        if self.has_letter {
            let power = if self.is_short { power } else { self.unit_power(base) };
            self.write_letter(power, out);
        }
    }

    /// The least power of the base that is at least the unit.
    fn unit_power(&self, base: u64) -> usize {
        let powers = std::iter::successors(Some(1u128), |power| Some(power * u128::from(base)));
        powers.take(LETTERS.len()).take_while(|&power| power < u128::from(self.unit_bytes)).count()
    }

    fn write_letter(&self, power: usize, out: &mut Vec<u8>) {
        if power > 0 {
            out.push(if power == 1 && !self.is_binary { b'k' } else { LETTERS[power - 1] });
        }
        if self.has_byte {
            if self.is_binary && power > 0 {
                out.push(b'i');
            }
            out.push(b'B');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(scale: Scale, bytes: u64) -> String {
        let mut out = Vec::new();
        scale.write(bytes, &Numerals::default(), &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Equal to the output of `du -h`, `--si` and `-B` of coreutils 9.1.
    #[test]
    fn sizes_are_rounded_up_once() {
        let (human, si) = (Scale::short(true), Scale::short(false));
        for (bytes, binary, decimal) in [
            (0, "0", "0"),
            (1, "1", "1"),
            (999, "999", "999"),
            (1000, "1000", "1.0k"),
            (1023, "1023", "1.1k"),
            (1024, "1.0K", "1.1k"),
            (1025, "1.1K", "1.1k"),
            (10_137, "9.9K", "11k"),
            (10_138, "10K", "11k"),
            (9 * 1024 + 922, "10K", "11k"),
            (1023 * 1024 + 1, "1.0M", "1.1M"),
            (999_001, "976K", "1.0M"),
            (u64::MAX, "16E", "19E"),
        ] {
            assert_eq!(
                (shown(human, bytes), shown(si, bytes)),
                (binary.into(), decimal.into()),
                "{bytes}"
            );
        }
        let blocks = |spec: &str, bytes| shown(Scale::parse(spec.as_bytes(), 1024).0, bytes);
        assert_eq!(blocks("K", 1025), "2K");
        assert_eq!(blocks("kB", 1025), "2kB");
        assert_eq!(blocks("MiB", 1), "1MiB");
        assert_eq!(blocks("1K", 1025), "2");
        assert_eq!(blocks("ED", 1), "1E");
        assert_eq!(blocks("7", u64::MAX), "2635249153387078803");
        assert_eq!(blocks("E", u64::MAX), "16E");
    }

    #[test]
    fn a_unit_is_known_though_its_suffix_is_wrong() {
        assert_eq!(Scale::parse(b"7q", 1024), (Scale::blocks(7), Some(Problem::Suffix)));
        assert_eq!(Scale::parse(b"0", 512), (Scale::blocks(512), Some(Problem::NoNumber)));
        assert_eq!(Scale::parse(b"x", 512), (Scale::blocks(512), Some(Problem::NoNumber)));
        assert_eq!(Scale::parse(b"'si", 512).0, Scale { is_grouped: true, ..Scale::short(false) });
    }

    /// From the right. The last size is for all remaining groups, or for none.
    #[test]
    fn digits_are_grouped_as_the_locale_says() {
        let scale = Scale::parse(b"'1", 1024).0;
        let grouped = |grouping: &[u8]| {
            let numerals = Numerals {
                thousands: b",".to_vec(),
                grouping: grouping.to_vec(),
                ..Numerals::default()
            };
            let mut out = Vec::new();
            scale.write(1_234_567_890, &numerals, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(grouped(&[3, 3]), "1,234,567,890");
        assert_eq!(grouped(&[3]), "1,234,567,890");
        assert_eq!(grouped(&[3, 2]), "1,23,45,67,890");
        assert_eq!(grouped(&[3, 127]), "1234567,890");
        assert_eq!(grouped(&[]), "1234567890");
    }
}
