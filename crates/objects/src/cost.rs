//! The number of requests of a job, and their cost: computed before the first byte moves.

use crate::upload::READ_BACK_BYTES;
use std::ops::AddAssign;

/// Requests about an input in addition to its ranges: whether it exists, its length, and at the end
/// whether it has changed.
const LOOKS_AT_INPUT: u64 = 3;
/// Requests about an output: what exists before, and what exists afterwards.
const LOOKS_AT_OUTPUT: u64 = 2;

/// Maximum number of objects in one answer to a list request.
const LISTED_MAX: u64 = 1000;

/// Requests of a job, if none has to be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Number of GETs and HEADs.
    pub gets: u64,
    /// Number of PUTs, POSTs and lists of objects, which have the same price.
    pub puts: u64,
}

impl Requests {
    /// Price of a thousand GETs or HEADs in US dollars: Amazon's list price, S3 Standard in
    /// us-east-1 (2026).
    pub const GET_USD: f64 = 0.0004;
    /// Price of a thousand PUTs, POSTs or lists in US dollars, from the same price list.
    pub const PUT_USD: f64 = 0.005;

    /// Returns the requests for an input that is read once in ranges of `read_bytes`.
    pub fn of_input(bytes: u64, read_bytes: u64) -> Requests {
        Requests { gets: bytes.div_ceil(read_bytes) + LOOKS_AT_INPUT, puts: 0 }
    }

    /// Returns the requests for an output in parts of `part_bytes`. An output that fits into one
    /// part is sent in one request.
    pub fn of_output(bytes: u64, part_bytes: u64) -> Requests {
        let puts = match bytes.div_ceil(part_bytes) {
            0 | 1 => 1,
            // In addition, two requests begin and complete the upload.
            parts => parts + 2,
        };
        Requests { gets: LOOKS_AT_OUTPUT, puts }
    }

    /// Returns the requests for reading back an output in parts of `part_bytes`.
    pub fn of_reading_back(bytes: u64, part_bytes: u64) -> Requests {
        let ranges = part_bytes.div_ceil(READ_BACK_BYTES);
        let whole = bytes / part_bytes * ranges;
        Requests { gets: whole + (bytes % part_bytes).div_ceil(READ_BACK_BYTES), puts: 0 }
    }

    /// Returns the number of requests that list `objects` objects.
    pub fn of_list(objects: u64) -> u64 {
        objects.div_ceil(LISTED_MAX).max(1)
    }

    /// Returns the cost of the requests in US dollars, at the prices above.
    pub fn usd(self) -> f64 {
        let Requests { gets, puts } = self;
        (gets as f64 * Requests::GET_USD + puts as f64 * Requests::PUT_USD) / 1000.0
    }
}

impl AddAssign for Requests {
    fn add_assign(&mut self, other: Requests) {
        self.gets += other.gets;
        self.puts += other.puts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_from_lengths() {
        let mut all = Requests::of_input(10 << 30, 1 << 20);
        assert_eq!(all, Requests { gets: 10_243, puts: 0 });
        all += Requests::of_output(10 << 30, 8 << 20);
        assert_eq!(all, Requests { gets: 10_245, puts: 1282 });
        assert!((all.usd() - 0.010_508).abs() < 1e-9);
        assert_eq!(Requests::of_output(8 << 20, 8 << 20).puts, 1);
        assert_eq!(Requests::of_output((8 << 20) + 1, 8 << 20).puts, 4);
        let lists = [0, 1, 1000, 1001].map(Requests::of_list);
        assert_eq!(lists, [1, 1, 1, 2]);
        assert_eq!((Requests::of_output(0, 1).puts, Requests::of_input(0, 1).gets), (1, 3));
    }
}
