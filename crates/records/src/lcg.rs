//! The random numbers of gensort: a linear congruential generator of 128 bits that can jump.
//!
//! `X(n+1) = a*X(n) + c mod 2^128`. One step is the affine map f. The map of 2^k steps results from
//! applying `a' = a*a` and `c' = a*c + c` k times. So any `X(n)` is the product of at most 128
//! tabulated maps (F. Brown, "Random number generation with arbitrary strides", Trans. Am. Nucl.
//! Soc. 71, 1994).

const A: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
const C: u128 = 0x4a69_6d47_7261_7952_4950_2020_2020_2001;

/// The maps of 2^k steps, k = 0..128, as pairs of factor and summand.
static STRIDES: [(u128, u128); 128] = {
    let mut strides = [(A, C); 128];
    let mut k = 1;
    while k < 128 {
        let (a, c) = strides[k - 1];
        strides[k] = (a.wrapping_mul(a), a.wrapping_mul(c).wrapping_add(c));
        k += 1;
    }
    strides
};

/// A position in the sequence of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lcg {
    number: u128,
}

impl Lcg {
    /// The position after `X(steps)` in the sequence that begins with `X(0) = origin`: the next
    /// number is `X(steps + 1)`. The sequence has a period of 2^128.
    pub(crate) fn at(origin: u128, steps: u128) -> Lcg {
        let mut number = origin;
        let mut left = steps;
        while left != 0 {
            let (a, c) = STRIDES[left.trailing_zeros() as usize];
            number = a.wrapping_mul(number).wrapping_add(c);
            left &= left - 1;
        }
        Lcg { number }
    }

    /// The next number.
    #[inline]
    pub(crate) fn step(&mut self) -> u128 {
        self.number = A.wrapping_mul(self.number).wrapping_add(C);
        self.number
    }
}
