//! What goes wrong in a simulated store, and when.

use crate::failure::Reason;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// What is asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreCall {
    /// Length and version of an object.
    Head,
    /// A range of one.
    GetRange,
    /// A whole object is sent.
    Put,
    /// An upload begins.
    CreateMultipart,
    /// A part is sent.
    PutPart,
    /// The parts of an upload are listed.
    ListParts,
    /// An upload ends.
    Complete,
    /// An upload is given up.
    Abort,
    /// An object is removed.
    Remove,
    /// Objects or uploads are listed.
    List,
}

/// Calls that fail for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoreFault {
    /// Which.
    pub call: StoreCall,
    /// Why. A passing reason fails each attempt.
    pub reason: Reason,
    /// Share of the objects, parts or ranges that it meets (0 to 1).
    pub chance: f64,
}

/// How a store lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTrouble {
    /// It takes a part and loses it: it says so when the parts are put together.
    LosePart,
    /// It loses a part, and puts the others together without a word.
    CompleteWithoutPart,
    /// It keeps other bytes than it was sent, and computes no checksum. Its tags show it. Where
    /// they say nothing of the content, only a reader of the bytes can notice it.
    FlipBit,
    /// The same when it puts parts together.
    FlipWhole,
    /// It announces half an object's length.
    ShortLength,
}

/// How a [`SimStore`](crate::SimStore) behaves. By default nothing goes wrong.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Decides everything that is random.
    pub seed: u64,
    /// Share of requests (0 to 0.9) that fail for a passing reason: errors of the store, requests
    /// for patience, no connection, no answer. Of those that change something, half are done all
    /// the same.
    pub passing: f64,
    /// Share of answers (0 to 0.9) with fewer bytes than were asked for, or more, or whose
    /// connection ends.
    pub bad_bodies: f64,
    /// An object that was just written is seen only when it has been asked for a few times.
    pub is_stale: bool,
    /// Tags say nothing of the content.
    pub has_opaque_tags: bool,
    /// What an object is marked with is kept.
    pub keeps_marks: bool,
    /// Longest time that a request takes.
    pub delay_max: Duration,
    /// What fails for good.
    pub faults: Vec<StoreFault>,
    /// How it lies.
    pub trouble: Option<StoreTrouble>,
    /// Least bytes of a part that isn't the last one.
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
    /// Ordinary adversity that every caller must cope with.
    pub fn rough(seed: u64) -> StoreOptions {
        StoreOptions {
            seed,
            passing: 0.25,
            bad_bodies: 0.25,
            is_stale: seed & 1 == 0,
            has_opaque_tags: seed & 2 == 0,
            // Without either nobody can know whose object it is.
            keeps_marks: seed & 6 != 6,
            delay_max: Duration::from_micros(200),
            ..StoreOptions::default()
        }
    }

    /// # Panics
    /// If a share is out of its range.
    pub(super) fn check(&self) {
        for share in [self.passing, self.bad_bodies] {
            assert!((0.0..=0.9).contains(&share), "a share from 0 to 0.9: more would never end");
        }
    }

    /// The reason for which a call fails, and whether it is done all the same.
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
        // Without a connection nothing is done.
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

    /// A number from the seed and the words.
    pub(super) fn hash(&self, words: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, words).hash(&mut hasher);
        hasher.finish()
    }
}

/// A hash as a number from 0 to 1.
pub(super) fn share(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1u64 << 53) as f64
}
