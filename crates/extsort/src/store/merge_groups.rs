//! Which runs an intermediate merge pass puts together.

/// Groups of neighbouring runs that one pass merges, from `runs` runs towards at most `fan_in_max`:
/// how many runs each group has, from left to right. A group of one is a run that stays as it is.
///
/// It merges no more than needed: not every run has to take part in the first pass (Knuth vol. 3,
/// 5.4.9).
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
