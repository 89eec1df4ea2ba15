//! How late a line may come, as people write it.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

/// The units of durations, in seconds.
const UNITS: [(&str, u64); 4] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400)];
/// The suffixes of counts.
const COUNTS: [(&str, u64); 3] = [("", 1), ("k", 1_000), ("M", 1_000_000)];

/// How late a line or row may come: at most this far after one that belongs after it.
///
/// As text, a number is a count, with `k` for a thousand and `M` for a million. A number with `s`,
/// `m`, `h` or `d` is a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// A number of lines or rows.
    Lines(u64),
    /// A time, measured by the first key.
    Time(Duration),
}

/// The reason why a text isn't a [`Within`].
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "a number of lines or rows is wanted, such as 5000, 100k or 2M (a million), or a duration in \
     s, m, h or d, such as 10m (minutes)"
)]
pub struct BadWithin;

impl FromStr for Within {
    type Err = BadWithin;

    fn from_str(text: &str) -> Result<Within, BadWithin> {
        let number = text.trim_end_matches(|byte: char| byte.is_ascii_alphabetic());
        let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        if !number.bytes().all(is_number) || !number.starts_with(|byte: char| byte != '.') {
            return Err(BadWithin);
        }
        let suffix = &text[number.len()..];
        let factor = |units: &[(&str, u64)]| {
            units.iter().find(|(name, _)| *name == suffix).map(|(_, factor)| *factor)
        };
        if let Some(seconds) = factor(&UNITS) {
            let number: f64 = number.parse().map_err(|_| BadWithin)?;
            let time = Duration::try_from_secs_f64(number * seconds as f64);
            return time.map(Within::Time).map_err(|_| BadWithin);
        }
        let count = number.parse::<u64>().ok().zip(factor(&COUNTS));
        let lines = count.and_then(|(number, factor)| number.checked_mul(factor));
        lines.map(Within::Lines).ok_or(BadWithin)
    }
}

impl Display for Within {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Within::Lines(lines) => write!(f, "{lines}"),
            Within::Time(time) => write!(f, "{}s", time.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_durations_have_different_units() {
        let time = |seconds| Ok::<_, BadWithin>(Within::Time(Duration::from_secs(seconds)));
        for (text, expected) in [
            ("0", Ok(Within::Lines(0))),
            ("100000", Ok(Within::Lines(100_000))),
            ("100k", Ok(Within::Lines(100_000))),
            ("2M", Ok(Within::Lines(2_000_000))),
            ("10m", time(600)),
            ("90s", time(90)),
            ("12h", time(43_200)),
            ("2d", time(172_800)),
            ("", Err(BadWithin)),
            ("m", Err(BadWithin)),
            ("-1", Err(BadWithin)),
            ("+1", Err(BadWithin)),
            ("1.5h", time(5_400)),
            (".5h", Err(BadWithin)),
            ("1.5", Err(BadWithin)),
            ("1.5.s", Err(BadWithin)),
            ("10K", Err(BadWithin)),
            ("10min", Err(BadWithin)),
            ("99999999999999999999", Err(BadWithin)),
            ("18446744073709551615d", Err(BadWithin)),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
            if let Ok(within) = expected {
                assert_eq!(within.to_string().parse(), Ok(within), "{text}");
            }
        }
    }
}
