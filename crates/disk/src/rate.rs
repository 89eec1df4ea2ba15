//! A limit on bytes a second, for machines that others use too: whoever starts a transfer waits
//! until there is room for it.
//!
//! A token bucket, kept as the time up to which the rate is taken (the generic cell rate algorithm,
//! ITU-T I.371): a transfer takes the time that its bytes need, and starts when all of that is over
//! but for a tenth of a second. So at no moment more has been started than the rate allows since
//! the beginning and in a tenth of a second, whatever the sizes of transfers; and what wasn't used
//! is lost.
//!
//! Only threads that start transfers wait, one behind the other; lanes and what is in flight never
//! do.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What may be moved ahead of the rate: a few blocks of 1 MiB at 100 MB/s, and nothing that others
/// would feel.
const BURST: Duration = Duration::from_millis(100);

/// How often a wait looks whether the job should stop.
const STOP_INTERVAL: Duration = Duration::from_millis(50);

/// The limit that all transfers of a job share.
pub struct RateLimit {
    bytes_per_second: NonZeroU64,
    began: Instant,
    bucket: Mutex<Bucket>,
    is_cancelled: Box<dyn Fn() -> bool + Send + Sync>,
}

impl RateLimit {
    /// So many bytes a second, read and written together. Once the job `is_cancelled` nobody waits
    /// any more.
    pub fn new(
        bytes_per_second: NonZeroU64,
        is_cancelled: impl Fn() -> bool + Send + Sync + 'static,
    ) -> RateLimit {
        let bucket = Mutex::new(Bucket { bytes_per_second, taken: Duration::ZERO });
        RateLimit {
            bytes_per_second,
            began: Instant::now(),
            bucket,
            is_cancelled: Box::new(is_cancelled),
        }
    }

    /// The limit.
    pub fn bytes_per_second(&self) -> u64 {
        self.bytes_per_second.get()
    }

    /// Waits until so many bytes may be moved.
    pub fn pass(&self, bytes: u64) {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let start = bucket.take(self.began.elapsed(), bytes);
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

/// The arithmetic, without a clock: times are since the beginning.
#[derive(Debug)]
struct Bucket {
    bytes_per_second: NonZeroU64,
    /// Up to when the rate is taken by what was let through.
    taken: Duration,
}

impl Bucket {
    /// Takes room for so many bytes. When they may start, which may be over.
    fn take(&mut self, now: Duration, bytes: u64) -> Duration {
        let nanoseconds =
            u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.get());
        let time = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        self.taken = self.taken.max(now).saturating_add(time);
        self.taken.saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bucket(bytes_per_second: u64) -> Bucket {
        Bucket {
            bytes_per_second: NonZeroU64::new(bytes_per_second).unwrap(),
            taken: Duration::ZERO,
        }
    }

    #[test]
    fn transfers_follow_each_other_at_the_rate() {
        let mut bucket = bucket(10_000_000);
        let (ms, none) = (Duration::from_millis, Duration::ZERO);
        // A tenth of a second is free, then each megabyte takes another.
        assert_eq!([1, 2, 3].map(|_| bucket.take(none, 1_000_000)), [none, ms(100), ms(200)]);
        // Someone who comes later pays for what is left only; an hour's rest saves up no more than
        // the burst.
        assert_eq!(bucket.take(ms(250), 500_000), ms(250));
        assert_eq!(
            [1, 2].map(|_| bucket.take(ms(3_600_000), 1_000_000)),
            [ms(3_600_000), ms(3_600_100)]
        );
    }

    #[test]
    fn one_transfer_larger_than_a_second_waits_for_all_of_its_time() {
        assert_eq!(bucket(1000).take(Duration::ZERO, 10_000), Duration::from_millis(9_900));
        // Longer than any clock runs: no overflow.
        let mut slow = bucket(1);
        assert!(slow.take(Duration::ZERO, u64::MAX) > Duration::from_secs(1 << 33));
        assert!(slow.take(Duration::MAX, u64::MAX) > Duration::from_secs(1 << 33));
    }

    proptest! {
        /// Whatever comes whenever: over any stretch of time no more starts than the rate allows in
        /// it and in the burst, and a transfer never waits while there is room.
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
                let start = bucket.take(now, bytes).max(now);
                prop_assert!(started.last().is_none_or(|(before, _)| *before <= start), "one after the other");
                started.push((start, bytes));
                let allowed = |span: Duration| (span + BURST).as_secs_f64() * rate as f64 + 1.0;
                for first in 0..started.len() {
                    let sum: u64 = started[first..].iter().map(|(_, bytes)| bytes).sum();
                    // Counted from the moment that the first of them could begin to save up for
                    // itself.
                    let begin = if first == 0 { Duration::ZERO } else { started[first - 1].0 };
                    let span = start.saturating_sub(begin);
                    prop_assert!(sum as f64 <= allowed(span) + 1e-6 * sum as f64, "{} in {:?}", sum, span);
                }
                now = start;
            }
        }
    }
}
