//! What goes wrong in a simulated store, and when.

use crate::failure::Reason;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// The kinds of requests to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreCall {
    /// Requests length and version of an object.
    Head,
    /// Reads a range of an object.
    GetRange,
    /// Sends a whole object.
    Put,
    /// Begins an upload.
    CreateMultipart,
    /// Sends a part.
    PutPart,
    /// Lists the parts of an upload.
    ListParts,
    /// Completes an upload.
    Complete,
    /// Aborts an upload.
    Abort,
    /// Removes an object.
    Remove,
    /// Lists objects or uploads.
    List,
}

/// Requests that fail permanently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoreFault {
    /// The kind of request.
    pub call: StoreCall,
    /// The reason. A passing reason fails every attempt.
    pub reason: Reason,
    /// Share of the objects, parts or ranges that are affected (0 to 1).
    pub chance: f64,
}

/// How a store misbehaves without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTrouble {
    /// It loses a part that it has taken, and reports that when the parts are put together.
    LosePart,
    /// It loses a part, and silently puts the others together.
    CompleteWithoutPart,
    /// It stores other bytes than it was sent, and computes no checksum. Its tags reveal it. If
    /// tags don't depend on the content, only reading the bytes reveals it.
    FlipBit,
    /// It stores other bytes when it puts parts together.
    FlipWhole,
    /// It reports half of an object's length.
    ShortLength,
}

/// How a [`SimStore`](crate::SimStore) behaves. By default nothing goes wrong.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Decides everything that is random.
    pub seed: u64,
    /// Share of requests (0 to 0.9) that fail for a passing reason: errors of the store, requests
    /// to wait, no connection, no answer. Half of those that change something are carried out
    /// nevertheless.
    pub passing: f64,
    /// Share of answers (0 to 0.9) with too few or too many bytes, or whose connection ends early.
    pub bad_bodies: f64,
    /// If set, a new object is seen only after a few requests for it.
    pub is_stale: bool,
    /// If set, tags don't depend on the content.
    pub has_opaque_tags: bool,
    /// If set, the marks of objects are kept.
    pub keeps_marks: bool,
    /// Maximum time that a request takes.
    pub delay_max: Duration,
    /// Permanent failures.
    pub faults: Vec<StoreFault>,
    /// How the store misbehaves without an error.
    pub trouble: Option<StoreTrouble>,
    /// Minimum size in bytes of a part, except for the last one.
    pub part_bytes_min: u64,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            seed: 0,
            passing: 0.0,
            bad_bodies: 0.0,
            is_stale: false,
            has_opaque_tags: false,
            keeps_marks: true,
            delay_max: Duration::ZERO,
            faults: Vec::new(),
            trouble: None,
            part_bytes_min: 4096,
        }
    }
}

impl StoreOptions {
    /// Returns options with ordinary failures that every caller must handle.
    pub fn rough(seed: u64) -> StoreOptions {
        StoreOptions {
            seed,
            passing: 0.25,
            bad_bodies: 0.25,
            is_stale: seed & 1 == 0,
            has_opaque_tags: seed & 2 == 0,
            // Without either it can't be known who wrote an object.
            keeps_marks: seed & 6 != 6,
            delay_max: Duration::from_micros(200),
            ..StoreOptions::default()
        }
    }

    /// Checks the options.
    ///
    /// # Panics
    /// If a share is out of its range.
    pub(super) fn check(&self) {
        for share in [self.passing, self.bad_bodies] {
            assert!((0.0..=0.9).contains(&share), "a share from 0 to 0.9: more would never end");
        }
    }

    /// Returns the reason for which a call fails, and whether it is carried out nevertheless.
    pub(super) fn failure(
        &self,
        call: StoreCall,
        place: u64,
        attempt: u32,
    ) -> Option<(Reason, bool)> {
        let meets = |fault: &&StoreFault| {
            fault.call == call && share(self.hash(&(0xfa, call, place))) < fault.chance
        };
        if let Some(fault) = self.faults.iter().find(meets) {
            return Some((fault.reason, false));
        }
        let dice = self.hash(&(0x9a, call, place, attempt));
        if share(dice) >= self.passing {
            return None;
        }
        // Without a connection it isn't carried out.
        Some(match dice % 5 {
            0 => (Reason::Unreachable, false),
            1 => (Reason::Unavailable, false),
            2 => (Reason::Unavailable, true),
            3 => (Reason::TimedOut, true),
            _ => (Reason::Cut, true),
        })
    }

    pub(super) fn delay(&self, call: StoreCall, place: u64, attempt: u32) -> Duration {
        self.delay_max.mul_f64(share(self.hash(&(0xde, call, place, attempt))))
    }

    /// Returns a hash of the seed and `words`.
    pub(super) fn hash(&self, words: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, words).hash(&mut hasher);
        hasher.finish()
    }
}

/// Converts a hash to a number from 0 to 1.
pub(super) fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
