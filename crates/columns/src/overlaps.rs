//! Ranges that don't overlap each other.

/// Returns, for each range of a list, whether it is one of a largest number of ranges that don't
/// overlap. A range is its least and its greatest element. Ranges may share an element at an end.
pub(crate) fn disjoint<T: Ord>(ranges: &[[T; 2]]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    // The range that ends first leaves the most room for others.
    order.sort_by_key(|&range| (&ranges[range][1], &ranges[range][0]));
    let mut chosen = vec![false; ranges.len()];
    let mut reached: Option<&T> = None;
    for range in order {
        let [least, greatest] = &ranges[range];
        if reached.is_none_or(|reached| reached <= least) {
            chosen[range] = true;
            reached = Some(greatest);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use xsort_testing::{Random, for_each_seed};

    #[test]
    fn as_many_ranges_as_possible_are_chosen() {
        assert_eq!(
            disjoint(&[[5, 7], [1, 2], [2, 3], [0, 12], [6, 9]]),
            [true, true, true, false, false]
        );
        assert!(disjoint::<i32>(&[]).is_empty());
        for_each_seed("ranges", 300, |seed| {
            let random = &mut Random::new(seed);
            let range = |random: &mut Random| {
                let least = random.below(12);
                [least, least + random.below(5)]
            };
            let ranges: Vec<_> = (0..random.below(9)).map(|_| range(random)).collect();
            let are_disjoint = |of: u32| {
                let in_set = |at: usize| of >> at & 1 == 1;
                let all = || (0..ranges.len()).filter(|&at| in_set(at));
                all().all(|a| {
                    all()
                        .filter(|&b| a != b)
                        .all(|b| ranges[a][1] <= ranges[b][0] || ranges[b][1] <= ranges[a][0])
                })
            };
            let most = (0..1_u32 << ranges.len()).filter(|&set| are_disjoint(set));
            let most = most.map(u32::count_ones).max().unwrap_or(0);
            let chosen = disjoint(&ranges);
            let set = (0..ranges.len()).filter(|&at| chosen[at]).fold(0, |set, at| set | 1 << at);
            match are_disjoint(set) && set.count_ones() == most {
                true => Ok(()),
                false => Err(format!("{ranges:?}")),
            }
        });
    }
}
