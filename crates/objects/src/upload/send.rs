//! Sends parts to the store, and begins and aborts the upload to which they belong.

use super::abandon::{UploadUnderWay, leave};
use super::part::PartBuffer;
use super::state::UploadNumber;
use super::under_way::Upload;
use crate::client::{Checksums, Part, Payload, Receipt};
use crate::failure::{Failure, GaveUp, Reason};
use crate::stop::Stop;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How often bytes are sent again because the store's checksums differ, if they will be read back.
const DOUBTS_MAX: u32 = 4;

impl Upload {
    /// Puts the full parts in the queue.
    pub(super) fn send_full_parts(self: &Arc<Self>) {
        for (part, buffer) in self.state.lock().take_full() {
            let bytes = self.share(buffer, self.part_bytes as usize);
            let upload = Arc::clone(self);
            self.queue.push(move || upload.send(part, bytes));
        }
    }

    /// Returns the first bytes of a part. Its memory is free again when the last copy of them is
    /// dropped, possibly on a thread of the HTTP client some time after its answer.
    pub(super) fn share(self: &Arc<Self>, buffer: PartBuffer, bytes: usize) -> Bytes {
        let (upload, queue) = (Arc::downgrade(self), self.queue.clone());
        let when_free = move || {
            let upload = upload.clone();
            queue.push_urgent(move || {
                if let Some(upload) = upload.upgrade() {
                    upload.place_waiting();
                }
            });
        };
        buffer.into_bytes(bytes, Box::new(when_free))
    }

    /// Sends a part now, and records the result in the state.
    pub(super) fn send(self: &Arc<Self>, part: u64, bytes: Bytes) {
        let length = bytes.len() as u64;
        let payload = Payload::new(bytes);
        match self.stored_before(part, &payload) {
            Ok(None) => {}
            Ok(Some(stored)) => return self.has_sent(part, Ok(stored)),
            Err(differs) => return self.has_sent(part, Err(differs)),
        }
        self.caller.pass(length);
        let number = part as u32 + 1;
        let receipt = self.number().and_then(|upload| {
            let mut attempts = 0;
            self.caller.call(&self.stop, |client| {
                attempts += 1;
                let taken =
                    client.put_part(&self.location, &upload, number, &payload, &self.stop)?;
                self.believe(taken, &payload, attempts)
            })
        });
        if let Ok(Receipt { checksums: Checksums { md5: None, .. }, .. }) = &receipt {
            self.tags_are_md5s.store(false, Ordering::Relaxed);
        }
        let crc = payload.crc;
        drop(payload);
        let sent = receipt.map(|receipt| {
            let etag = receipt.etag.unwrap_or_default();
            Part { number, bytes: length, etag, crc }
        });
        self.has_sent(part, sent);
    }

    /// Checks the store's checksums of sent bytes. If the object will be read back, they may differ
    /// several times.
    pub(super) fn believe(
        &self,
        receipt: Receipt,
        payload: &Payload,
        attempts: u32,
    ) -> Result<Receipt, Failure> {
        match receipt.checksums.check(payload) {
            Err(failure) if !self.verifies || attempts < DOUBTS_MAX => Err(failure),
            _ => Ok(receipt),
        }
    }

    /// Records the result of sending a part.
    fn has_sent(self: &Arc<Self>, part: u64, sent: Result<Part, GaveUp>) {
        let mut state = self.state.lock();
        state.sending -= 1;
        match sent {
            Ok(sent) => {
                state.sent.insert(part, Some(sent));
                drop(state);
                self.changed.notify_all();
            }
            Err(gave_up) => {
                drop(state);
                self.fail(gave_up, part * self.part_bytes);
            }
        }
    }

    /// Returns the number of the upload, which begins with the first part.
    pub(super) fn number(&self) -> Result<String, GaveUp> {
        let stopped = || GaveUp::at_once(Reason::Stopped, "");
        {
            let mut state = self.state.lock();
            loop {
                if self.stop.is_set() {
                    return Err(stopped());
                }
                match &state.number {
                    UploadNumber::Known(number) => return Ok(number.clone()),
                    UploadNumber::Over => return Err(stopped()),
                    UploadNumber::Asked => self.changed.wait(&mut state),
                    UploadNumber::None => break state.number = UploadNumber::Asked,
                }
            }
        }
        let begun = self
            .caller
            .call(&self.stop, |client| client.create_multipart(&self.location, &self.mark));
        let mut state = self.state.lock();
        let is_over = state.number == UploadNumber::Over;
        state.number = match &begun {
            _ if is_over => UploadNumber::Over,
            Ok(number) => UploadNumber::Known(number.clone()),
            Err(_) => UploadNumber::None,
        };
        drop(state);
        self.changed.notify_all();
        if let (true, Ok(number)) = (is_over, &begun) {
            self.abort(number);
        }
        begun
    }

    /// Makes the store drop all parts. If that isn't possible within seconds, they remain.
    pub(super) fn abort(&self, number: &str) {
        let stop = Stop::default();
        let hurried = self.caller.hurried();
        if hurried.call(&stop, |client| client.abort(&self.location, number)).is_err() {
            let (object, upload) = (self.location.clone(), number.to_owned());
            leave(UploadUnderWay { object, upload, is_resumable: false });
        }
    }
}
