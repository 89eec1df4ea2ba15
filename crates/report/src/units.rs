//! Figures as people read them.

/// Bytes with three digits and a decimal unit, as drives are sold: `2.40 GB`.
pub(crate) fn bytes(bytes: f64) -> String {
    scaled(bytes, 1000.0, &["B", "kB", "MB", "GB", "TB", "PB"])
}

/// Bytes of memory with three digits and a binary unit: `1.50 GiB`.
pub(crate) fn memory(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

fn scaled(mut value: f64, base: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= base - 0.5 && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        value if value < 9.995 => 2,
        value => usize::from(value < 99.95),
    };
    format!("{value:.digits$} {}", units[unit])
}

/// A rate: `2.13 GB/s`.
pub(crate) fn rate(bytes_per_second: f64) -> String {
    format!("{}/s", bytes(bytes_per_second))
}

/// A time: `380 µs`, `1.25 s`, `2 h 5 min`.
pub(crate) fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 0.000_999_5 => format!("{:.0} µs", s * 1e6),
        s if s < 0.999_5 => format!("{:.0} ms", s * 1e3),
        s if s < 9.995 => format!("{s:.2} s"),
        s if s < 119.5 => format!("{s:.1} s"),
        s if s < 7199.5 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A part of a whole: `97%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A number with its digits in groups: `2,000,000`.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `2,000,000 records`, `1 thread`.
pub(crate) fn count(count: u64, name: &str) -> String {
    format!("{} {name}{}", number(count), if count == 1 { "" } else { "s" })
}

/// A ratio: `1.85 times`.
pub(crate) fn times(ratio: f64) -> String {
    let digits = if ratio < 9.95 { 2 } else { usize::from(ratio < 99.5) };
    format!("{ratio:.digits$} times")
}

/// A moment in UTC: `2026-11-29 15:39:24 UTC`. The days are counted as by Howard Hinnant's
/// `civil_from_days`, with years that begin in March.
pub(crate) fn moment(unix_seconds: f64) -> String {
    // Until the year 9999.
    let seconds = unix_seconds.clamp(0.0, 253_402_300_799.0) as u64;
    let (days, time) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, is_next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + is_next_year;
    let (hour, minute) = (time / 3600, time % 3600 / 60);
    format!("{year}-{month:02}-{day_of_month:02} {hour:02}:{minute:02}:{:02} UTC", time % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!([bytes(0.0), bytes(999.0), bytes(1e3)], ["0 B", "999 B", "1.00 kB"]);
        assert_eq!([bytes(2.4e9), bytes(1e20)], ["2.40 GB", "100000 PB"]);
        assert_eq!([memory(1 << 20), memory(1536)], ["1.00 MiB", "1.50 KiB"]);
        let times = [3.8e-4, 0.25, 1.254, 61.0, 125.0, 7500.0].map(seconds);
        assert_eq!(times, ["380 µs", "250 ms", "1.25 s", "61.0 s", "2 min 5 s", "2 h 5 min"]);
        assert_eq!(count(2_000_000, "record"), "2,000,000 records");
    }

    #[test]
    fn moments_are_those_of_date() {
        // date -u -d @1795966764
        assert_eq!(moment(1_795_966_764.9), "2026-11-29 15:39:24 UTC");
        assert_eq!(moment(951_782_400.0), "2000-02-29 00:00:00 UTC");
        assert_eq!(moment(0.0), "1970-01-01 00:00:00 UTC");
        assert_eq!(moment(f64::MAX), "9999-12-31 23:59:59 UTC");
    }
}
