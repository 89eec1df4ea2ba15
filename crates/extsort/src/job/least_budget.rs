//! The smallest sufficient budget of a job, for the message that refuses a smaller one.

/// No machine has more memory than this, in bytes.
const BUDGET_BYTES_MAX: u64 = 1 << 50;

/// The smallest sufficient multiple of `granule`, starting from `budget_bytes`; `None` if no budget
/// is sufficient.
///
/// Doubles until a budget is sufficient, then bisects. `is_enough` need not be monotonic: it
/// returned true for the result.
pub(crate) fn least_budget(
    budget_bytes: u64,
    granule: u64,
    is_enough: impl Fn(u64) -> bool,
) -> Option<u64> {
    let mut enough = budget_bytes.next_multiple_of(granule).max(granule);
    while !is_enough(enough) {
        enough = enough.checked_mul(2).filter(|&budget| budget <= BUDGET_BYTES_MAX)?;
    }
    let mut too_little = budget_bytes / granule * granule;
    while enough - too_little > granule {
        let middle = too_little + (enough - too_little) / 2 / granule * granule;
        if is_enough(middle) {
            enough = middle;
        } else {
            too_little = middle;
        }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_budget_is_a_granule_above_one_that_is_too_small() {
        for least in [1, 4096, 5000, 123_456_789, 1 << 49] {
            for budget in [0, 1, least / 2, least - 1] {
                let found = least_budget(budget, 4096, |budget| budget >= least);
                assert_eq!(found, Some(least.next_multiple_of(4096)));
            }
        }
        assert_eq!(least_budget(1 << 20, 4096, |_| false), None);
    }
}
