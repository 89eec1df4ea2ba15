//! Finds out whether the output is the object at its place. The check follows the store's
//! confirmation, or attempts whose answers were lost.

use super::under_way::Upload;
use crate::checksums::proves;
use crate::client::{Checksums, ObjectInfo, Part};
use crate::failure::{Failure, GaveUp, Reason};
use crate::retry::Caller;

/// Maximum number of requests that look for the object.
const LOOKS_MAX: u32 = 6;

/// Failed attempts to create the object.
pub(super) struct Unmade {
    pub(super) gave_up: GaveUp,
    /// Whether an attempt, or an earlier process, may have created the object nevertheless.
    pub(super) is_unsure: bool,
}

impl Unmade {
    /// Returns a failure after which the object certainly wasn't created.
    pub(super) fn surely(gave_up: GaveUp) -> Unmade {
        Unmade { gave_up, is_unsure: false }
    }
}

/// The properties by which the output is recognised once it is an object.
pub(super) struct Wanted<'w> {
    pub(super) bytes: u64,
    pub(super) parts: &'w [Part],
    /// The tag in the store's confirmation; `None` if that answer was lost.
    pub(super) said: Option<&'w str>,
    /// The tag that the object has in stores whose tags depend on the content.
    pub(super) expected: Option<&'w str>,
    /// Whether the store has confirmed that it created the object.
    pub(super) is_made: bool,
}

/// The object found at the output's place.
pub(super) enum Sighting {
    /// The output.
    Ours(ObjectInfo),
    /// The object that was there before the output.
    AsBefore,
    /// No object.
    Nothing,
    /// Another object, or one that can't be distinguished from another.
    Other(ObjectInfo),
    /// Unknown: the store didn't answer the question.
    Unseen(GaveUp),
}

impl Upload {
    /// Looks for the output until it is there, at most [`LOOKS_MAX`] times.
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

    /// Returns whether an object is this output. The object's mark decides. In a store that keeps
    /// no marks, its tag or checksum decides. If it has none of them, this returns `true` if the
    /// object will be read back.
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

    /// Finds out whether failed attempts have created the object after all. Returns the object if
    /// they have. Otherwise, the error says what is there now.
    pub(super) fn resolve(
        &self,
        Unmade { gave_up, is_unsure }: Unmade,
        wanted: &Wanted<'_>,
    ) -> Result<ObjectInfo, GaveUp> {
        if !is_unsure || self.stop.is_set() {
            return Err(gave_up);
        }
        let is_gone = gave_up.failure.reason == Reason::NoUpload;
        // A store that hasn't answered for minutes gets only a short time here.
        let hurried = gave_up.failure.reason.is_passing().then(|| self.caller.hurried());
        let now = match self.look_for(hurried.as_ref().unwrap_or(&self.caller), wanted) {
            Sighting::Ours(there) => return Ok(there),
            Sighting::AsBefore => "what was there before is still there".to_owned(),
            Sighting::Nothing => "there is no object now".to_owned(),
            // All parts arrived, but the object isn't what they should have become.
            Sighting::Other(there) if is_gone || there.mark.as_ref() == Some(&self.mark) => {
                return Err(self.not_ours(&there, wanted));
            }
            Sighting::Other(there) => {
                format!("another object is there now, with {} bytes", there.bytes)
            }
            // All parts arrived, and another party has completed or aborted the upload.
            Sighting::Unseen(unseen) if is_gone => {
                return Err(GaveUp::at_once(Reason::Unseen, &unseen.text()));
            }
            Sighting::Unseen(unseen) => {
                format!("what is there now is unknown ({})", unseen.failure.detail)
            }
        };
        Err(gave_up.with_detail(&now))
    }

    /// Returns the reason why the object that is there isn't the one that was created.
    pub(super) fn not_ours(&self, there: &ObjectInfo, wanted: &Wanted<'_>) -> GaveUp {
        let mismatch = |text: &str| GaveUp::at_once(Reason::Mismatch, text);
        let bytes = wanted.bytes;
        if there.bytes != bytes {
            return mismatch(&format!("it should have {bytes} bytes, and has {}", there.bytes));
        }
        // A tag that doesn't depend on the content proves nothing.
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
