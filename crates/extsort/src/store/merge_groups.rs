//! The division of runs into groups for an intermediate merge pass.

/// Divides `runs` runs into groups of neighbours for one merge pass, so that at most `fan_in_max`
/// runs remain after the last pass. Returns the number of runs in each group, from left to right. A
/// group of one run is not merged.
///
/// The pass merges no more runs than needed: not every run has to take part in the first pass
/// (Knuth vol. 3, 5.4.9).
pub(crate) fn merge_groups(runs: usize, fan_in_max: usize) -> Vec<usize> {
    let mut groups = Vec::new();
    let mut surplus = runs.saturating_sub(fan_in_max);
    let mut left = runs;
    while left > 0 {
        let group = fan_in_max.min(surplus + 1).min(left);
        groups.push(group);
        surplus -= group - 1;
        left -= group;
    }
    groups
}
