//! Formats durations and amounts of data for people, in decimal units as drives are sold.
//!
//! Memory is shown in binary units, by `xsort_extsort::units::Bytes`.

pub(crate) use xsort_extsort::units::Decimal;

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
