//! Sizes and rates as text.

use std::fmt;

/// A number of bytes, shown in binary units with three or four digits: `987 B`, `4.00 KiB`, `1.46
/// GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut unit = "";
        for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
            if value < 1024.0 {
                break;
            }
            value /= 1024.0;
            unit = next;
        }
        let digits = if value < 10.0 {
            2
        } else if value < 100.0 {
            1
        } else {
            0
        };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

/// A number of bytes as an option's value, rounded up to a short form: `876K`, `12M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeOption(pub u64);

impl fmt::Display for SizeOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ 0..0xa0_0000 => write!(f, "{}K", bytes.div_ceil(1 << 10)),
            bytes => write!(f, "{}M", bytes.div_ceil(1 << 20)),
        }
    }
}

/// A number of bytes, shown with three digits and a decimal unit, as drives are sold: `2.40 GB`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decimal(pub f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            x if x < 999.5 => return f.pad(&format!("{x:.0} B")),
            x if x < 999.5e3 => (x / 1e3, "kB"),
            x if x < 999.5e6 => (x / 1e6, "MB"),
            x if x < 999.5e9 => (x / 1e9, "GB"),
            x => (x / 1e12, "TB"),
        };
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        f.pad(&format!("{value:.digits$} {unit}"))
    }
}

/// Rounds a number of bytes up to the three digits that [`Decimal`] shows, so that the shown number
/// is sufficient.
#[must_use]
pub fn round_up(bytes: u64) -> f64 {
    let digits = bytes.checked_ilog10().unwrap_or(0);
    let step = 10_u64.pow(digits.saturating_sub(2));
    bytes.div_ceil(step) as f64 * step as f64
}

/// Bytes per second, shown with three digits and a decimal unit: `2.13 GB/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", Decimal(self.0)))
    }
}

/// A number of things, with its digits in groups: `2,000,000 records`, `1 thread`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<'a>(pub u64, pub &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        let plural = if self.0 == 1 { "" } else { "s" };
        f.pad(&format!("{text} {}{plural}", self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_three_digits() {
        assert_eq!(Bytes(0).to_string(), "0 B");
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(1024).to_string(), "1.00 KiB");
        assert_eq!(Bytes(150 << 20).to_string(), "150 MiB");
        assert_eq!(Rate(2.126e9).to_string(), "2.13 GB/s");
    }

    #[test]
    fn three_digits_and_a_unit() {
        for (bytes, expected) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.00 kB"),
            (2.4e9, "2.40 GB"),
            (9.996e6, "10.0 MB"),
            (8e12, "8.00 TB"),
        ] {
            assert_eq!(Decimal(bytes).to_string(), expected);
        }
        assert_eq!(Rate(3.85e8).to_string(), "385 MB/s");
    }

    /// A message once said "122 MB needed, 122 MB there".
    #[test]
    fn what_is_needed_is_rounded_up() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_001, "1.01 kB"),
            (121_500_001, "122 MB"),
            (122_000_000, "122 MB"),
            (122_000_001, "123 MB"),
            (999_000_001, "1.00 GB"),
            (u64::MAX, "18500000 TB"),
        ] {
            assert_eq!(Decimal(round_up(bytes)).to_string(), expected);
        }
    }

    #[test]
    fn options_are_rounded_up() {
        for (bytes, expected) in
            [(1, "1K"), (4096, "4K"), (4097, "5K"), (10 << 20, "10M"), ((10 << 20) + 1, "11M")]
        {
            assert_eq!(SizeOption(bytes).to_string(), expected);
        }
    }

    #[test]
    fn counts_have_groups_and_the_right_number() {
        assert_eq!(Count(1, "thread").to_string(), "1 thread");
        assert_eq!(Count(0, "record").to_string(), "0 records");
        assert_eq!(Count(999, "record").to_string(), "999 records");
        assert_eq!(Count(1_234_567, "record").to_string(), "1,234,567 records");
    }
}
