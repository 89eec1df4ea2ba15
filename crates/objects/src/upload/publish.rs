//! The end of an output: all parts become the object, or none remains.

use super::outcome::{Sighting, Unmade, Wanted};
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
/// How long an upload that is given up waits for parts on the way: what arrives after the upload
/// was aborted may stay.
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
        let completed = self.complete(&number, &parts);
        let is_completed = completed.is_ok();
        let tags_are_md5s = self.tags_are_md5s.load(Ordering::Relaxed);
        let compare = |said: &Checksums| said.check_parts(&parts, tags_are_md5s);
        let expected = etag_of_parts(&parts);
        let checked = self.check(completed, &parts, expected.as_deref(), &compare);
        let is_over = match &checked {
            Ok(()) => true,
            // An upload that may still be under way is aborted.
            Err(gave_up) => is_completed && gave_up.failure.reason != Reason::NotMade,
        };
        if is_over {
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
        let made = self.put(&payload);
        let (bytes, crc) = (payload.bytes.len() as u64, payload.crc);
        let expected = etag_of_bytes(&payload.bytes);
        let compare = |there: &Checksums| there.check(&payload);
        let whole = [Part { number: 1, bytes, etag: expected.clone(), crc }];
        self.check(made, &whole, Some(&expected), &compare)?;
        // An upload may have begun, to check permissions or to have a tag.
        self.drop_parts();
        Ok(())
    }

    /// Sends a whole object until the store has created it.
    fn put(&self, payload: &Payload) -> Result<Receipt, Unmade> {
        let mut tries = self.caller.tries();
        let (mut damage, mut is_unsure) = (None, false);
        loop {
            let answer = tries.attempt(|client| {
                client.put(&self.location, payload, &self.mark, self.is_new, &self.stop)
            });
            let answer = answer.and_then(|it| self.believe(it, payload, tries.attempts));
            let failure = match answer {
                Ok(receipt) => return Ok(receipt),
                Err(failure) => failure,
            };
            // The object exists, so it can't be sent again.
            if failure.reason == Reason::Damaged && self.is_new {
                return Err(Unmade::surely(mismatch(&failure.detail)));
            }
            is_unsure |= failure.reason.may_be_done();
            damage = damage.or_else(|| damaged(&failure));
            if let Err(gave_up) = tries.pause(failure, &self.stop) {
                // The damaged object has this output's mark, but not its content.
                let is_unsure = is_unsure && damage.is_none();
                return Err(Unmade { gave_up: with_damage(gave_up, damage), is_unsure });
            }
        }
    }

    /// Asks the store to complete the upload.
    fn complete(&self, number: &str, parts: &[Part]) -> Result<Receipt, Unmade> {
        let mut tries = self.caller.tries();
        let (mut unclear, mut is_unsure) = (0, false);
        loop {
            let answer =
                tries.attempt(|client| client.complete(&self.location, number, parts, self.is_new));
            let failure = match answer {
                Ok(receipt) => return Ok(receipt),
                // The answer doesn't describe the upload, but the next one may.
                Err(failure) if failure.reason == Reason::Unclear && unclear + 1 < UNCLEAR_MAX => {
                    unclear += 1;
                    Failure::new(Reason::Cut, failure.detail)
                }
                Err(failure) => failure,
            };
            is_unsure |= match failure.reason {
                // An earlier process may have completed it before it died.
                Reason::NoUpload | Reason::Exists => self.is_persistent,
                reason => reason.may_be_done(),
            };
            tries.pause(failure, &self.stop).map_err(|gave_up| Unmade { gave_up, is_unsure })?;
        }
    }

    /// Compares the created object with the sent bytes. `expected` is the tag that it has in stores
    /// whose tags depend on the content. `compare` compares the store's checksums with the sent
    /// bytes.
    fn check(
        self: &Arc<Self>,
        made: Result<Receipt, Unmade>,
        parts: &[Part],
        expected: Option<&str>,
        compare: &dyn Fn(&Checksums) -> Result<(), Failure>,
    ) -> Result<(), GaveUp> {
        let bytes = parts.iter().map(|part| part.bytes).sum();
        let wanted = Wanted { bytes, parts, said: None, expected, is_made: made.is_ok() };
        let there = match made {
            Ok(receipt) => {
                self.is_other(compare(&receipt.checksums))?;
                self.check_there(&receipt, wanted)?
            }
            Err(unmade) => Some(self.resolve(unmade, &wanted)?),
        };
        if let Some(there) = &there {
            self.is_other(compare(&there.checksums))?;
        }
        self.read_back(there.as_ref(), parts)
    }

    /// Looks for the object until it is there. Returns `None` if the store denies access to it but
    /// its confirmation contained enough proof.
    fn check_there(
        &self,
        receipt: &Receipt,
        wanted: Wanted<'_>,
    ) -> Result<Option<ObjectInfo>, GaveUp> {
        let said = receipt.etag.as_deref();
        let is_proven = wanted.expected.is_some() && said == wanted.expected
            || receipt.checksums.crc32.is_some();
        let wanted = Wanted { said, ..wanted };
        match self.look_for(&self.caller, &wanted) {
            Sighting::Ours(there) => Ok(Some(there)),
            Sighting::Unseen(gave_up) => match gave_up.failure.reason {
                Reason::Denied if is_proven => Ok(None),
                _ => Err(GaveUp::at_once(Reason::Unseen, &gave_up.text())),
            },
            Sighting::AsBefore | Sighting::Nothing => Err(GaveUp::at_once(Reason::NotMade, "")),
            Sighting::Other(there) => Err(self.not_ours(&there, &wanted)),
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
