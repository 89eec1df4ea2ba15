//! A limit on bytes per second, for machines shared with others: a thread that starts a transfer
//! first waits until the rate allows it.
//!
//! It is a token bucket, stored as the time at which the bytes started so far are paid for (the
//! generic cell rate algorithm, ITU-T I.371). A transfer advances that time by the cost of its
//! bytes at the rate, and starts a tenth of a second earlier. So the bytes started never exceed
//! what the rate allows since the beginning plus a tenth of a second, whatever the sizes of
//! transfers. Unused rate is lost.
//!
//! Only threads that start transfers wait, one after the other. I/O threads never do.

use parking_lot::Mutex;
use std::fmt;
use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

/// How far transfers may run ahead of the rate: a few blocks of 1 MiB at 100 MB/s, too little for
/// other users to notice.
const BURST: Duration = Duration::from_millis(100);

/// How often a waiting thread checks whether the job should stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// The limit that all transfers of a job share.
pub struct RateLimit {
    bytes_per_second: NonZeroU64,
    began: Instant,
    bucket: Mutex<Bucket>,
    is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
}

impl RateLimit {
    /// Creates a limit of `bytes_per_second`, for reads and writes together. Once `is_cancelled`
    /// returns true, no thread waits any more.
    pub fn new(
        bytes_per_second: NonZeroU64,
        is_cancelled: impl Fn() -> bool + Send + Sync + 'static,
    ) -> RateLimit {
        let bucket = Mutex::new(Bucket { bytes_per_second, paid_at: Duration::ZERO });
        RateLimit {
            bytes_per_second,
            began: Instant::now(),
            bucket,
            is_cancelled: Box::new(is_cancelled),
        }
    }

    /// Returns the limit in bytes per second.
    pub fn bytes_per_second(&self) -> u64 {
        self.bytes_per_second.get()
    }

    /// Waits until a transfer of `bytes` bytes may start.
    pub fn pass(&self, bytes: u64) {
        let mut bucket = self.bucket.lock();
        let start = bucket.book(self.began.elapsed(), bytes);
        drop(bucket);
        while !(self.is_cancelled)() {
            let left = start.saturating_sub(self.began.elapsed());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(STOP_INTERVAL));
        }
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit")
            .field("bytes_per_second", &self.bytes_per_second)
            .finish_non_exhaustive()
    }
}

/// The bucket's arithmetic, without a clock. Times count from the job's beginning.
#[derive(Debug)]
struct Bucket {
    bytes_per_second: NonZeroU64,
    /// The time at which the bytes started so far are paid for.
    paid_at: Duration,
}

impl Bucket {
    /// Books `bytes` bytes. Returns the time at which they may start, which may be in the past.
    fn book(&mut self, now: Duration, bytes: u64) -> Duration {
        let nanoseconds =
            u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.get());
        let time = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        self.paid_at = self.paid_at.max(now).saturating_add(time);
        self.paid_at.saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(bytes_per_second: u64) -> Bucket {
        Bucket {
            bytes_per_second: NonZeroU64::new(bytes_per_second).unwrap(),
            paid_at: Duration::ZERO,
        }
    }

    #[test]
    fn transfers_follow_each_other_at_the_rate() {
        let mut bucket = bucket(10_000_000);
        let (ms, none) = (Duration::from_millis, Duration::ZERO);
        // A tenth of a second is free, then each megabyte takes another.
        assert_eq!([1, 2, 3].map(|_| bucket.book(none, 1_000_000)), [none, ms(100), ms(200)]);
        // A later transfer pays only for what is left; an hour's rest saves up no more than the
        // burst.
        assert_eq!(bucket.book(ms(250), 500_000), ms(250));
        assert_eq!(
            [1, 2].map(|_| bucket.book(ms(3_600_000), 1_000_000)),
            [ms(3_600_000), ms(3_600_100)]
        );
    }

    #[test]
    fn one_transfer_larger_than_a_second_waits_for_all_of_its_time() {
        assert_eq!(bucket(1000).book(Duration::ZERO, 10_000), Duration::from_millis(9_900));
        // Longer than any clock runs: no overflow.
        let mut slow = bucket(1);
        assert!(slow.book(Duration::ZERO, u64::MAX) > Duration::from_secs(1 << 33));
        assert!(slow.book(Duration::MAX, u64::MAX) > Duration::from_secs(1 << 33));
    }

    proptest! {
        /// For any arrivals: no stretch of time starts more than the rate allows in it plus the
        /// burst, and a transfer never waits while there is room.
        #[test]
        fn no_stretch_of_time_sees_more_than_the_rate_and_the_burst(
            rate in 1000u64..5_000_000_000,
            transfers in prop::collection::vec((0u64..300_000, 0u64..16 << 20), 1..60),
        ) {
            let mut bucket = bucket(rate);
            let mut now = Duration::ZERO;
            let mut started: Vec<(Duration, u64)> = Vec::new();
            for (pause, bytes) in transfers {
                now += Duration::from_micros(pause);
                let start = bucket.book(now, bytes).max(now);
                let is_later = started.last().is_none_or(|(before, _)| *before <= start);
                prop_assert!(is_later, "one after the other");
                started.push((start, bytes));
                let allowed = |span: Duration| (span + BURST).as_secs_f64() * rate as f64 + 1.0;
                for first in 0..started.len() {
                    let sum: u64 = started[first..].iter().map(|(_, bytes)| bytes).sum();
                    // Counted from the moment at which the first of them could begin to save up.
                    let begin = if first == 0 { Duration::ZERO } else { started[first - 1].0 };
                    let span = start.saturating_sub(begin);
                    let most = allowed(span) + 1e-6 * sum as f64;
                    prop_assert!(sum as f64 <= most, "{} in {:?}", sum, span);
                }
                now = start;
            }
        }
    }
}
