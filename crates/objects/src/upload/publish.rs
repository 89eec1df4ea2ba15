//! The end of an output: all parts become the object, or none remains.

use super::state::{State, UploadNumber};
use super::under_way::Upload;
use crate::checksums::{etag_of_bytes, etag_of_parts};
use crate::client::{Checksums, ObjectInfo, Part, Payload, Receipt};
use crate::failure::{Failure, GaveUp, Reason};
use bytes::Bytes;
use parking_lot::MutexGuard;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use xsort_disk::{ALIGNMENT, Error, Operation};

/// How often the store is asked to complete an upload while the answers are unclear.
const UNCLEAR_MAX: u32 = 3;
/// How often to check whether the object exists.
const LOOKS_MAX: u32 = 6;
/// How long an abandoned upload waits for parts under way: a part that arrives after the upload was
/// aborted may remain in the store.
const PARTS_TIME_MAX: Duration = Duration::from_secs(10);

/// The part that is left to send on publishing.
enum Rest {
    /// The whole object, sent in one request.
    Whole(Bytes),
    /// The last part, sent like all others.
    Part(u64, Bytes),
    /// Nothing: all parts were sent.
    Nothing,
}

impl Upload {
    /// Publishes the object with the first `bytes` bytes. If that fails, nothing of it remains.
    pub(crate) fn publish(self: &Arc<Self>, bytes: u64) -> Result<(), Error> {
        let published = self.finish(bytes);
        if published.is_err() {
            self.give_up();
        }
        published
    }

    fn finish(self: &Arc<Self>, bytes: u64) -> Result<(), Error> {
        let fail = |gave_up: GaveUp| gave_up.at(Operation::Rename, &self.location);
        match self.take_rest(bytes)? {
            Rest::Whole(rest) => return self.put_whole(rest).map_err(fail),
            Rest::Part(part, rest) => self.send(part, rest),
            Rest::Nothing => {}
        }
        let parts = self.await_parts(bytes)?;
        let number = self.number().map_err(fail)?;
        let receipt = match self.complete(&number, &parts) {
            // An earlier process may have completed it, and died.
            Err(gave_up) if self.has_become_the_object(&gave_up, bytes, &parts) => None,
            completed => completed.map_err(fail)?,
        };
        let checked = self.check(bytes, receipt.as_ref(), &parts);
        if !matches!(&checked, Err(gave_up) if gave_up.failure.reason == Reason::NotMade) {
            self.state.lock().number = UploadNumber::Over;
        }
        checked.map_err(fail)
    }

    /// Returns a failed comparison with the store's checksums as an error, unless the object is
    /// read back, which then decides.
    fn is_other(&self, compared: Result<(), Failure>) -> Result<(), GaveUp> {
        match compared {
            Err(failure) if !self.verifies => Err(mismatch(&failure.detail)),
            _ => Ok(()),
        }
    }

    /// Takes the last part, cut to the object's end.
    fn take_rest(self: &Arc<Self>, bytes: u64) -> Result<Rest, Error> {
        let mut state = self.state.lock();
        assert!(
            state.waiting.is_empty(),
            "an output is published only after all its transfers have completed"
        );
        if let Some(error) = self.failed(&state) {
            return Err(error);
        }
        let last = bytes.saturating_sub(1) / self.part_bytes;
        let rest_bytes = (bytes - last * self.part_bytes) as usize;
        if bytes == 0 && state.sent.is_empty() {
            return Ok(Rest::Whole(Bytes::new()));
        }
        if let Some(open) = state.open.get(&last) {
            let pages = open.first_missing_page(rest_bytes);
            if pages < rest_bytes.div_ceil(ALIGNMENT) {
                let offset = last * self.part_bytes + (pages * ALIGNMENT) as u64;
                return Err(self.incomplete(offset));
            }
        }
        let is_whole = last == 0 && state.sent.is_empty();
        let rest = if is_whole { state.take_whole() } else { state.take(last) };
        drop(state);
        let Some(rest) = rest else { return Ok(Rest::Nothing) };
        let rest = self.share(rest, rest_bytes);
        Ok(if is_whole { Rest::Whole(rest) } else { Rest::Part(last, rest) })
    }

    /// Waits until all parts were sent. Returns them if they form an object of `bytes` bytes.
    fn await_parts(&self, bytes: u64) -> Result<Vec<Part>, Error> {
        let mut state = self.state.lock();
        while state.sending > 0 && state.failure.is_none() {
            self.changed.wait(&mut state);
        }
        if let Some(error) = self.failed(&state) {
            return Err(error);
        }
        let mut parts = Vec::with_capacity(state.sent.len());
        let mut end = 0;
        for (number, part) in &state.sent {
            let part = part.as_ref().expect("nothing is on the way, and nothing has failed");
            if number * self.part_bytes != end {
                break;
            }
            end += part.bytes;
            parts.push(part.clone());
        }
        if end == bytes && parts.len() == state.sent.len() {
            return Ok(parts);
        }
        let open = state.open.get(&(end / self.part_bytes));
        let pages = open.map_or(0, |part| part.first_missing_page(self.part_bytes as usize));
        Err(self.incomplete(end + (pages * ALIGNMENT) as u64))
    }

    /// Returns the error for publishing bytes that the caller has not written.
    fn incomplete(&self, offset: u64) -> Error {
        let gave_up = GaveUp::at_once(Reason::Unusable, "the output was never written here");
        gave_up.at_offset(Operation::Write, &self.location, offset)
    }

    /// Sends a small object in one request.
    fn put_whole(self: &Arc<Self>, bytes: Bytes) -> Result<(), GaveUp> {
        self.caller.pass(bytes.len() as u64);
        let payload = Payload::new(bytes);
        let mut tries = self.caller.tries();
        let mut damage = None;
        let receipt = loop {
            let answer = tries.attempt(|client| {
                client.put(&self.location, &payload, &self.mark, self.is_new, &self.stop)
            });
            let answer = answer.and_then(|it| self.believe(it, &payload, tries.attempts));
            match answer {
                Ok(receipt) => break Some(receipt),
                // The object exists, and can't be sent again.
                Err(failure) if failure.reason == Reason::Damaged && self.is_new => {
                    return Err(mismatch(&failure.detail));
                }
                // An earlier answer may have been lost: then the object is ours.
                Err(failure) if failure.reason == Reason::Exists && tries.attempts > 1 => {
                    break None;
                }
                Err(failure) => {
                    damage = damage.or_else(|| damaged(&failure));
                    let pause = tries.pause(failure, &self.stop);
                    pause.map_err(|gave_up| with_damage(gave_up, damage.take()))?;
                }
            }
        };
        let (bytes, crc) = (payload.bytes.len() as u64, payload.crc);
        let expected = etag_of_bytes(&payload.bytes);
        let compare = |there: &Checksums| there.check(&payload);
        let there = self.check_there(bytes, receipt.as_ref(), Some(&expected), &compare)?;
        let whole = Part { number: 1, bytes, etag: expected, crc };
        self.read_back(there.as_ref(), &[whole])?;
        // The upload may have begun only to check permissions, or to get a tag.
        self.drop_parts();
        Ok(())
    }

    /// Lets the store put the parts together. Returns `None` if it is not certain that this call
    /// did it.
    fn complete(&self, number: &str, parts: &[Part]) -> Result<Option<Receipt>, GaveUp> {
        let mut tries = self.caller.tries();
        let mut unclear = 0;
        loop {
            let answer =
                tries.attempt(|client| client.complete(&self.location, number, parts, self.is_new));
            match answer {
                Ok(receipt) => return Ok(Some(receipt)),
                // An earlier answer may have been lost: then the upload is over, and the object
                // exists.
                Err(failure)
                    if tries.attempts > 1
                        && matches!(failure.reason, Reason::NoUpload | Reason::Exists) =>
                {
                    return Ok(None);
                }
                // The answer doesn't tell about the upload: the store may answer the next time.
                Err(failure) if failure.reason == Reason::Unclear && unclear + 1 < UNCLEAR_MAX => {
                    unclear += 1;
                    tries.pause(Failure::new(Reason::Cut, failure.detail), &self.stop)?;
                }
                Err(failure) => tries.pause(failure, &self.stop)?,
            }
        }
    }

    /// Returns whether an upload that this call didn't complete has already become the object: a
    /// persistent upload that is gone, or one whose completion got an unclear answer.
    fn has_become_the_object(&self, gave_up: &GaveUp, bytes: u64, parts: &[Part]) -> bool {
        match gave_up.failure.reason {
            Reason::NoUpload if self.is_persistent => {}
            Reason::Unclear => {}
            _ => return false,
        }
        let there = self.caller.head(&self.location, &self.stop);
        let expected = etag_of_parts(parts);
        there.is_ok_and(|there| {
            there.bytes == bytes && self.is_ours(&there, None, expected.as_deref())
        })
    }

    /// Compares the object that the store has put together with the sent parts.
    fn check(
        self: &Arc<Self>,
        bytes: u64,
        receipt: Option<&Receipt>,
        parts: &[Part],
    ) -> Result<(), GaveUp> {
        let tags_are_md5s = self.tags_are_md5s.load(Ordering::Relaxed);
        let compare = |said: &Checksums| said.check_parts(parts, tags_are_md5s);
        if let Some(receipt) = receipt {
            self.is_other(compare(&receipt.checksums))?;
        }
        let expected = etag_of_parts(parts);
        let there = self.check_there(bytes, receipt, expected.as_deref(), &compare)?;
        self.read_back(there.as_ref(), parts)
    }

    /// Requests the object's information until it exists. `expected` is its tag if tags depend on
    /// the content, and `compare` checks the store's checksums. If the store doesn't allow the
    /// request, its earlier answer must be sufficient, and `None` is returned.
    fn check_there(
        &self,
        bytes: u64,
        receipt: Option<&Receipt>,
        expected: Option<&str>,
        compare: &dyn Fn(&Checksums) -> Result<(), Failure>,
    ) -> Result<Option<ObjectInfo>, GaveUp> {
        let said = receipt.and_then(|receipt| receipt.etag.as_deref());
        let is_proven = expected.is_some() && said == expected
            || receipt.is_some_and(|receipt| receipt.checksums.crc32.is_some());
        let mut pauses = self.caller.tries();
        let mut is_as_before = false;
        for _ in 0..LOOKS_MAX {
            match self.caller.head(&self.location, &self.stop) {
                Ok(there) if there.bytes == bytes && self.is_ours(&there, said, expected) => {
                    self.is_other(compare(&there.checksums))?;
                    return Ok(Some(there));
                }
                Err(gave_up) if gave_up.failure.reason == Reason::Denied && is_proven => {
                    return Ok(None);
                }
                Err(gave_up) if gave_up.failure.reason != Reason::NoObject => {
                    return Err(GaveUp::at_once(Reason::Unseen, &gave_up.text()));
                }
                Ok(there) => {
                    let before = self.before.as_ref();
                    is_as_before = before.is_some_and(|before| there.version.is_surely(before));
                }
                Err(_) => is_as_before = true,
            }
            let stale = Failure::new(Reason::Unavailable, "");
            if pauses.pause(stale, &self.stop).is_err() {
                break;
            }
        }
        match is_as_before {
            true => Err(GaveUp::at_once(Reason::NotMade, "")),
            false => Err(mismatch(&format!("it should have {bytes} bytes"))),
        }
    }

    /// Returns whether an object is this output: by its mark, or by its tag in a store without
    /// marks.
    fn is_ours(&self, there: &ObjectInfo, said: Option<&str>, expected: Option<&str>) -> bool {
        let etag = there.version.etag.as_deref();
        match (&there.mark, said) {
            (Some(mark), _) => *mark == self.mark,
            (None, Some(said)) => etag == Some(said),
            // The answer with the tag was lost.
            (None, None) => etag.is_some() && etag == expected,
        }
    }

    /// Abandons the output if it is not published. Unless it is persistent, nothing of it remains
    /// in the store, if the store can be reached within seconds. If several threads call this, all
    /// wait until it is done, because the process may end with any of them.
    pub(crate) fn give_up(self: &Arc<Self>) {
        if self.is_persistent {
            self.fail(GaveUp::at_once(Reason::Stopped, ""), 0);
            self.await_requests(&mut self.state.lock());
        } else {
            self.drop_parts();
        }
    }

    /// Removes everything that was sent from the store, if it can be reached within seconds.
    fn drop_parts(self: &Arc<Self>) {
        if let Some(number) = self.end_sending() {
            self.abort(&number);
            self.has_aborted();
        }
    }

    /// Stops sending. Returns the upload's number if there is an upload: then the caller must abort
    /// it, and call [`has_aborted`](Upload::has_aborted).
    pub(super) fn end_sending(self: &Arc<Self>) -> Option<String> {
        self.fail(GaveUp::at_once(Reason::Stopped, ""), 0);
        let mut state = self.state.lock();
        self.await_requests(&mut state);
        match std::mem::replace(&mut state.number, UploadNumber::Over) {
            UploadNumber::Known(number) => {
                state.is_aborting = true;
                Some(number)
            }
            _ => None,
        }
    }

    /// Records that the upload was aborted.
    pub(super) fn has_aborted(&self) {
        self.state.lock().is_aborting = false;
        self.changed.notify_all();
    }

    /// Waits for parts under way, and drops the others.
    fn await_requests(&self, state: &mut MutexGuard<'_, State>) {
        while state.sending > 0 || state.number == UploadNumber::Asked || state.is_aborting {
            if self.changed.wait_for(state, PARTS_TIME_MAX).timed_out() {
                break;
            }
        }
        state.open.clear();
    }
}

/// Returns the store's message about an object that arrived damaged.
fn damaged(failure: &Failure) -> Option<String> {
    (failure.reason == Reason::Damaged).then(|| failure.detail.clone())
}

/// If an object arrived damaged in one request, it exists, so that failure outweighs later ones.
fn with_damage(gave_up: GaveUp, damage: Option<String>) -> GaveUp {
    match damage {
        Some(detail) => GaveUp { failure: Failure { reason: Reason::Mismatch, detail }, ..gave_up },
        None => gave_up,
    }
}

pub(super) fn mismatch(text: &str) -> GaveUp {
    GaveUp::at_once(Reason::Mismatch, text)
}
