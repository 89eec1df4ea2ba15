//! Reads a published object back: compares the CRC-32 of each part's bytes with that of the sent
//! bytes, for as many parts at once as there are connections.

use super::publish::mismatch;
use super::under_way::Upload;
use crate::client::{Client, ObjectInfo, Part};
use crate::failure::{Failure, GaveUp, Reason};
use crossbeam_channel::unbounded;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of bytes of one answer: a store serves each request with one machine.
pub(crate) const READ_BACK_BYTES: u64 = 16 << 20;

impl Upload {
    /// Reads back the object with these parts, if requested. `there` identifies its version.
    pub(super) fn read_back(
        self: &Arc<Self>,
        there: Option<&ObjectInfo>,
        parts: &[Part],
    ) -> Result<(), GaveUp> {
        if !self.verifies {
            return Ok(());
        }
        let Some(there) = there else {
            let text = "--verify-output needs the permission to read it";
            return Err(GaveUp::at_once(Reason::Unseen, text));
        };
        let (results_to, results) = unbounded();
        let mut offset = 0;
        for part in parts.iter().filter(|part| part.bytes > 0) {
            let (upload, results_to) = (Arc::clone(self), results_to.clone());
            let (there, crc) = (there.clone(), part.crc);
            let range = offset..offset + part.bytes;
            offset = range.end;
            self.queue.push(move || {
                let _ = results_to.send(upload.compare(&there, range, crc));
            });
        }
        drop(results_to);
        results.iter().collect()
    }

    /// Reads a range of the object, and fails if its CRC-32 differs.
    fn compare(&self, there: &ObjectInfo, range: Range<u64>, crc: u32) -> Result<(), GaveUp> {
        let mut read = Read { hasher: crc32fast::Hasher::new(), offset: range.start };
        let mut tries = self.caller.tries();
        while read.offset < range.end {
            let end = range.end.min(read.offset + READ_BACK_BYTES);
            let before = read.offset;
            self.caller.pass(end - before);
            let answer = tries.attempt(|client| read.receive(self, client, there, end));
            if read.offset > before {
                tries.has_progressed();
            }
            if let Err(failure) = answer {
                tries.pause(failure, &self.stop)?;
            }
        }
        if read.hasher.finalize() == crc {
            return Ok(());
        }
        let Range { start, end } = range;
        Err(mismatch(&format!("read back, its bytes {start} to {end} are others than were sent")))
    }
}

/// Progress of reading a range.
struct Read {
    hasher: crc32fast::Hasher,
    /// The offset of the next byte.
    offset: u64,
}

impl Read {
    /// Receives one answer, up to `end`.
    fn receive(
        &mut self,
        upload: &Upload,
        client: &dyn Client,
        there: &ObjectInfo,
        end: u64,
    ) -> Result<(), Failure> {
        let asked = self.offset..end;
        let begun = (self.hasher.clone(), self.offset);
        let answer = client.get_range(&upload.location, &there.version, asked, &upload.stop)?;
        let mut body = answer.body;
        while let Some(bytes) = body.next(&upload.stop)? {
            if bytes.len() as u64 > end - self.offset {
                // The surplus bytes may as well have come first.
                (self.hasher, self.offset) = begun;
                return Err(Failure::new(Reason::Cut, "an answer with more bytes than asked for"));
            }
            self.hasher.update(&bytes);
            self.offset += bytes.len() as u64;
        }
        if self.offset < end {
            let missing = end - self.offset;
            return Err(Failure::new(Reason::Cut, format!("{missing} bytes are missing")));
        }
        Ok(())
    }
}
