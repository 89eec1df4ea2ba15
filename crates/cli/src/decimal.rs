//! Durations, and amounts of data, as people read them: decimal units, as drives are sold.
//!
//! Memory is shown in binary units, by `xsort_extsort::units::Bytes`.

use std::fmt;

/// Bytes, or bytes per second, with three digits and a decimal unit: `2.40 GB`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal(pub(crate) f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            x if x < 999.5 => return write!(f, "{x:.0} B"),
            x if x < 999.5e3 => (x / 1e3, "kB"),
            x if x < 999.5e6 => (x / 1e6, "MB"),
            x if x < 999.5e9 => (x / 1e9, "GB"),
            x => (x / 1e12, "TB"),
        };
        let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
        write!(f, "{value:.digits$} {unit}")
    }
}

/// A duration: "42 s", "12 m 05 s", "3 h 07 m", "2 d 03 h".
pub(crate) fn span(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..100 => format!("{whole} s"),
        100..6_000 => format!("{} m {:02} s", whole / 60, whole % 60),
        6_000..172_800 => format!("{} h {:02} m", whole / 3_600, whole / 60 % 60),
        _ => format!("{} d {:02} h", whole / 86_400, whole / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn times_have_two_units_at_most() {
        for (seconds, expected) in [
            (0.4, "0 s"),
            (99.4, "99 s"),
            (125.0, "2 m 05 s"),
            (11_220.0, "3 h 07 m"),
            (183_600.0, "2 d 03 h"),
        ] {
            assert_eq!(span(seconds), expected);
        }
    }
}
