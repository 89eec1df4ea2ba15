//! Decimal numbers as floating-point ones, where only their distance counts.

/// Decimal digits of [`nearest`]'s first argument.
const DIGITS: i64 = 16;
/// The greatest power of ten that is a floating-point number.
const EXACT_POWER_MAX: i64 = 22;
const EXACT_POWER_MIN: i64 = -EXACT_POWER_MAX;

/// Returns the floating-point number nearest to `0.DIGITS` times ten to the power of `exponent`.
/// `digits` are sixteen decimal digits. A greater decimal number never gets a smaller one.
#[must_use]
pub fn nearest(digits: u64, exponent: i64) -> f64 {
    let power = exponent.saturating_sub(DIGITS);
    let exact = |power: i64| 10f64.powi(power as i32);
    match power {
        // One rounding of two numbers that don't fall doesn't fall either.
        0..=EXACT_POWER_MAX => digits as f64 * exact(power),
        EXACT_POWER_MIN..0 => digits as f64 / exact(-power),
        _ => format!("{digits}e{power}").parse().unwrap_or(f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_near_and_do_not_fall() {
        assert_eq!(nearest(1_732_819_200_125_000, 10), 1_732_819_200.125);
        assert_eq!(nearest(1_000_000_000_000_000, 1), 1.0);
        assert_eq!(nearest(0, 0), 0.0);
        let mut before = 0.0;
        for exponent in -330..320 {
            for digits in [1_000_000_000_000_000, 1_000_000_000_000_001, 9_999_999_999_999_999] {
                let number = nearest(digits, exponent);
                assert!(number >= before, "{digits} {exponent}");
                before = number;
            }
        }
        assert_eq!(before, f64::INFINITY);
    }
}
