//! Repeats requests, with exponential pauses and jitter, within a time limit that the error states.
//!
//! The limit applies to the time of one request: its attempts and the pauses between them. Requests
//! share no clock, so a pipeline that stalls for minutes takes no time from a request.

use crate::client::{Client, ObjectInfo};
use crate::failure::{Failure, GaveUp};
use crate::location::Location;
use crate::settings::RetryPolicy;
use crate::stop::Stop;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use xsort_disk::RateLimit;

/// Time limit for requests whose result isn't awaited.
const HURRIED_TIME: Duration = Duration::from_secs(5);

/// A client whose requests are repeated.
pub(crate) struct Caller {
    pub(crate) client: Arc<dyn Client>,
    policy: RetryPolicy,
    rate: Option<Arc<RateLimit>>,
    /// Whether the store has ever given a final answer, even a refusal.
    is_reached: AtomicBool,
}

impl Caller {
    pub(crate) fn new(
        client: Arc<dyn Client>,
        policy: RetryPolicy,
        rate: Option<Arc<RateLimit>>,
    ) -> Caller {
        Caller { client, policy, rate, is_reached: AtomicBool::new(false) }
    }

    /// Waits until `bytes` bytes of an object may be moved.
    pub(crate) fn pass(&self, bytes: u64) {
        if let Some(rate) = &self.rate {
            rate.pass(bytes);
        }
    }

    /// Returns a caller with a short time limit, for the end of a process that doesn't wait.
    pub(crate) fn hurried(&self) -> Caller {
        let policy = RetryPolicy {
            give_up_after: HURRIED_TIME,
            give_up_unreached_after: self.policy.give_up_unreached_after.min(HURRIED_TIME),
            ..self.policy.clone()
        };
        Caller::new(Arc::clone(&self.client), policy, None)
    }

    /// Repeats a request until it succeeds or fails permanently.
    pub(crate) fn call<T>(
        &self,
        stop: &Stop,
        mut request: impl FnMut(&dyn Client) -> Result<T, Failure>,
    ) -> Result<T, GaveUp> {
        let mut tries = self.tries();
        loop {
            match tries.attempt(&mut request) {
                Ok(answer) => return Ok(answer),
                Err(failure) => tries.pause(failure, stop)?,
            }
        }
    }

    /// Requests an object's information.
    pub(crate) fn head(&self, object: &Location, stop: &Stop) -> Result<ObjectInfo, GaveUp> {
        self.call(stop, |client| client.head(object, stop))
    }

    /// Returns the attempts of a request, for callers that make progress between two attempts.
    pub(crate) fn tries(&self) -> Tries<'_> {
        Tries { caller: self, attempts: 0, spent: Duration::ZERO, next_pause: None }
    }
}

/// The attempts of one request.
pub(crate) struct Tries<'c> {
    caller: &'c Caller,
    pub(crate) attempts: u32,
    spent: Duration,
    next_pause: Option<Duration>,
}

impl Tries<'_> {
    /// Makes one attempt.
    pub(crate) fn attempt<T>(
        &mut self,
        request: impl FnOnce(&dyn Client) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let answer = request(&*self.caller.client);
        self.spent += begun.elapsed();
        self.attempts += 1;
        if !matches!(&answer, Err(failure) if failure.reason.is_passing()) {
            self.caller.is_reached.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Records that the last attempt brought a part of the requested bytes: it counts as the first
    /// attempt.
    pub(crate) fn has_progressed(&mut self) {
        (self.attempts, self.spent, self.next_pause) = (1, Duration::ZERO, None);
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// If the failure is permanent, or the time limit is reached.
    pub(crate) fn pause(&mut self, failure: Failure, stop: &Stop) -> Result<(), GaveUp> {
        let policy = &self.caller.policy;
        let is_reached = self.caller.is_reached.load(Ordering::Relaxed);
        let limit = if is_reached { policy.give_up_after } else { policy.give_up_unreached_after };
        let left = limit.saturating_sub(self.spent);
        if stop.is_set() || !failure.reason.is_passing() || left.is_zero() {
            return Err(GaveUp { failure, attempts: self.attempts, spent: self.spent });
        }
        let pause = self.next_pause.unwrap_or(policy.first_pause);
        // The last attempt is at the end of the time limit, not at the last whole pause within it:
        // pauses double, so that could be after half of the time.
        let shorter = if pause < left { pause.mul_f64(1.0 - random_share() / 2.0) } else { left };
        self.caller.client.pause(shorter, stop);
        self.spent += shorter;
        self.next_pause = Some((pause * 2).min(policy.longest_pause));
        Ok(())
    }
}

/// Returns a random number from 0 to 1.
fn random_share() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Reason;
    use crate::sim::{SimStore, StoreOptions};

    /// Returns how long a request that always fails is repeated.
    fn spent(seconds: u64) -> Duration {
        let policy = RetryPolicy {
            give_up_after: Duration::from_secs(seconds),
            give_up_unreached_after: Duration::from_secs(seconds),
            ..RetryPolicy::default()
        };
        let caller = Caller::new(Arc::new(SimStore::new(StoreOptions::default())), policy, None);
        let mut tries = caller.tries();
        loop {
            let failure = || Failure::new(Reason::Unreachable, "nobody there");
            let Err(failure) = tries.attempt(|_| Err::<(), _>(failure())) else { unreachable!() };
            if let Err(gave_up) = tries.pause(failure, &Stop::default()) {
                return gave_up.spent;
            }
        }
    }

    #[test]
    fn all_of_the_time_is_used_and_the_last_attempt_is_at_its_end() {
        for seconds in [0, 1, 5, 10, 30, 120] {
            let found = spent(seconds);
            // Attempts take time, too; the last one ends after the limit.
            let least = Duration::from_secs(seconds);
            assert!(
                (least..least + Duration::from_secs(5)).contains(&found),
                "{seconds}: {found:?}"
            );
        }
    }
}
