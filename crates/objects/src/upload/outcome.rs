//! What has come of an output: whether it is the object at its place. That is looked at once the
//! store says that it made it, and after attempts whose answers were lost.

use super::under_way::Upload;
use crate::checksums::proves;
use crate::client::{Checksums, ObjectInfo, Part};
use crate::failure::{Failure, GaveUp, Reason};
use crate::retry::Caller;

/// How often it is looked whether the object is there.
const LOOKS_MAX: u32 = 6;

/// Attempts to make the object that have failed.
pub(super) struct Unmade {
    pub(super) gave_up: GaveUp,
    /// Whether one of them, or an earlier process, may have made it all the same.
    pub(super) is_unsure: bool,
}

impl Unmade {
    /// Nothing was made.
    pub(super) fn surely(gave_up: GaveUp) -> Unmade {
        Unmade { gave_up, is_unsure: false }
    }
}

/// What an output is known by, once it is an object.
pub(super) struct Wanted<'w> {
    pub(super) bytes: u64,
    pub(super) parts: &'w [Part],
    /// The tag that the store said when it made it; `None` if its answer was lost.
    pub(super) said: Option<&'w str>,
    /// The tag that it has where tags are of the content.
    pub(super) expected: Option<&'w str>,
    /// The store said that it made it.
    pub(super) is_made: bool,
}

/// What is at the object's place.
pub(super) enum Sighting {
    /// The output.
    Ours(ObjectInfo),
    /// What was there before.
    AsBefore,
    /// Nothing.
    Nothing,
    /// Another object, or one that may be another.
    Other(ObjectInfo),
    /// The store doesn't say.
    Unseen(GaveUp),
}

impl Upload {
    /// Looks for the output until it is there, or a few times.
    pub(super) fn look_for(&self, caller: &Caller, wanted: &Wanted<'_>) -> Sighting {
        let mut pauses = caller.tries();
        let mut sighting = Sighting::Nothing;
        for _ in 0..LOOKS_MAX {
            sighting = match caller.head(&self.location, &self.stop) {
                Ok(there) if self.is_ours(&there, wanted) => return Sighting::Ours(there),
                Ok(there) => match &self.before {
                    Some(before) if there.version.is_surely(before) => Sighting::AsBefore,
                    _ => Sighting::Other(there),
                },
                Err(gave_up) if gave_up.failure.reason == Reason::NoObject => Sighting::Nothing,
                Err(gave_up) => return Sighting::Unseen(gave_up),
            };
            let stale = Failure::new(Reason::Unavailable, "");
            if pauses.pause(stale, &self.stop).is_err() {
                break;
            }
        }
        sighting
    }

    /// Whether an object is this output: by its mark, or by its tag or its checksum in a store that
    /// keeps none. Where it has none of them, reading it back will tell.
    fn is_ours(&self, there: &ObjectInfo, wanted: &Wanted<'_>) -> bool {
        let etag = there.version.etag.as_deref();
        let is_known = match (&there.mark, wanted.said) {
            (Some(mark), _) => *mark == self.mark,
            (None, Some(said)) if etag.is_some() => etag == Some(said),
            _ => {
                etag.is_some() && etag == wanted.expected
                    || proves(&there.checksums, wanted.parts)
                    || wanted.is_made && self.verifies && there.mark.is_none()
            }
        };
        there.bytes == wanted.bytes && is_known
    }

    /// Looks whether attempts that failed have made the object after all. If they have, that is no
    /// failure. If not, the error says what is there now.
    pub(super) fn resolve(
        &self,
        Unmade { gave_up, is_unsure }: Unmade,
        wanted: &Wanted<'_>,
    ) -> Result<ObjectInfo, GaveUp> {
        if !is_unsure || self.stop.is_set() {
            return Err(gave_up);
        }
        let is_gone = gave_up.failure.reason == Reason::NoUpload;
        // Where the store hasn't answered for minutes, it isn't asked for minutes again.
        let hurried = gave_up.failure.reason.is_passing().then(|| self.caller.hurried());
        let now = match self.look_for(hurried.as_ref().unwrap_or(&self.caller), wanted) {
            Sighting::Ours(there) => return Ok(there),
            Sighting::AsBefore => "what was there before is still there".to_owned(),
            Sighting::Nothing => "there is no object now".to_owned(),
            // All of it was sent, and what was made of it isn't what it should be.
            Sighting::Other(there) if is_gone || there.mark.as_ref() == Some(&self.mark) => {
                return Err(self.not_ours(&there, wanted));
            }
            Sighting::Other(there) => {
                format!("another object is there now, with {} bytes", there.bytes)
            }
            // All of it was sent, and somebody has made an object of it or dropped it.
            Sighting::Unseen(unseen) if is_gone => {
                return Err(GaveUp::at_once(Reason::Unseen, &unseen.text()));
            }
            Sighting::Unseen(unseen) => {
                format!("what is there now is unknown ({})", unseen.failure.detail)
            }
        };
        Err(gave_up.with_detail(&now))
    }

    /// Why an object that was made isn't the one that is there.
    pub(super) fn not_ours(&self, there: &ObjectInfo, wanted: &Wanted<'_>) -> GaveUp {
        let mismatch = |text: &str| GaveUp::at_once(Reason::Mismatch, text);
        let bytes = wanted.bytes;
        if there.bytes != bytes {
            return mismatch(&format!("it should have {bytes} bytes, and has {}", there.bytes));
        }
        // A tag that says nothing of the content is compared with none.
        let etag = there.version.etag.as_deref();
        let expected = wanted.expected.filter(|_| Checksums::of_tag(etag) != Checksums::default());
        match (&there.mark, wanted.said.or(expected), etag) {
            (Some(_), _, _) => mismatch("it has the mark of another writer"),
            (None, Some(said), Some(etag)) => {
                mismatch(&format!("its tag should be {said}, and is {etag}"))
            }
            _ => {
                let text = "an object of its length is there, but the store keeps no mark of who \
                            wrote it, and says no tag (ETag) by which it is known: use \
                            --verify-output, which reads it back";
                GaveUp::at_once(Reason::Unseen, text)
            }
        }
    }
}
