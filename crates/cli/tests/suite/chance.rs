//! Chance from a seed that stays.

fn variable(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

/// The seeds of this run: so many, unless `XSORT_CASES` says otherwise, from `XSORT_SEED` on.
pub(crate) fn seeds(cases: u64) -> std::ops::Range<u64> {
    let first = variable("XSORT_SEED", 1);
    first..first + variable("XSORT_CASES", cases)
}

/// xorshift64*
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    pub(crate) fn one_of<'c, C>(&mut self, choices: &'c [C]) -> &'c C {
        &choices[self.below(choices.len())]
    }
}
