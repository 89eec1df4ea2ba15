//! An output that outlives the process, and what an earlier process has sent of it.
//!
//! ```text
//!           0       1       2       3        verified parts in the store
//!       |-------|-------|-------|-------|
//!       |  not written again |  written again, compared, and sent only if they differ
//!                            ^ the caller continues here, in a part that it can't write whole
//! ```
//!
//! A part is accepted if the store still has it as the caller's journal says: number, length, tag,
//! and CRC-32 if the store has that. Data written again must have this CRC-32, too; otherwise the
//! part is sent again. For the part in which the caller continues, the CRC-32 of its beginning
//! follows from the CRC-32 of all earlier bytes, and that of its end is computed, so the whole part
//! can be checked.

use super::state::{BegunPart, UploadNumber};
use super::under_way::{NewUpload, Upload, look, new_mark};
use crate::client::{ListedPart, Part, Payload};
use crate::failure::{Failure, GaveUp, Reason};
use crate::location::Location;
use crate::retry::Caller;
use crate::settings::ObjectSettings;
use crate::stop::Stop;
use crate::workers::Queue;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use xsort_disk::{ALIGNMENT, Error, Operation, StoredPart};

/// Number of digits of the mark in a tag; the upload's number follows.
const MARK_DIGITS: usize = 32;

impl Upload {
    /// Begins an upload that stays until it is published or removed. Also returns its tag.
    pub(crate) fn create_persistent(
        caller: &Arc<Caller>,
        queue: Queue,
        location: Location,
        settings: &ObjectSettings,
    ) -> Result<(Arc<Upload>, String), Error> {
        let before = look(caller, &location, settings)?.before;
        let new = NewUpload { mark: new_mark(), is_persistent: true, before };
        let upload = Upload::new(caller, queue, location, settings, new)?;
        let begun = upload.number();
        let number = begun.map_err(|gave_up| gave_up.at(Operation::Create, &upload.location))?;
        let tag = format!("{}{number}", upload.mark);
        Ok((upload, tag))
    }

    /// Continues the upload with this tag. An earlier process has `recorded` its parts.
    ///
    /// # Errors
    /// `NotFound` if the upload is over.
    pub(crate) fn reopen(
        caller: &Arc<Caller>,
        queue: Queue,
        location: Location,
        settings: &ObjectSettings,
        (tag, recorded): (&str, &[StoredPart]),
    ) -> Result<Arc<Upload>, Error> {
        let parsed = tag.split_at_checked(MARK_DIGITS).filter(|(_, number)| !number.is_empty());
        let Some((mark, number)) = parsed else {
            let failure = Failure::new(Reason::Unusable, "what is known of the upload is damaged");
            return Err(failure.at(Operation::Persist, &location));
        };
        let listed = caller.call(&Stop::default(), |client| client.list_parts(&location, number));
        let listed = match listed {
            Ok(listed) => listed,
            // A user who may write may not be allowed to list: then no part is accepted.
            Err(gave_up) if gave_up.failure.reason == Reason::Denied => Vec::new(),
            Err(gave_up) => return Err(gave_up.at(Operation::Persist, &location)),
        };
        let new = NewUpload { mark: mark.to_owned(), is_persistent: true, before: None };
        let upload = Upload::new(caller, queue, location, settings, new)?;
        let mut state = upload.state.lock();
        state.number = UploadNumber::Known(number.to_owned());
        state.stored = believed(recorded, listed, settings.part_bytes);
        drop(state);
        Ok(upload)
    }

    /// Returns the parts in the store, without a gap from the first one, but without the first
    /// `known`. `None` if the upload can't be continued.
    pub(crate) fn stored_parts(&self, known: usize) -> Option<Vec<StoredPart>> {
        let state = self.state.lock();
        let stored = (known as u64..).map_while(|number| {
            let part = state.sent.get(&number)?.as_ref()?;
            let Part { bytes, crc, ref etag, .. } = *part;
            (bytes == self.part_bytes).then(|| StoredPart { bytes, crc, tag: etag.clone() })
        });
        self.is_persistent.then(|| stored.collect())
    }

    /// Returns whether the store has the first `bytes` bytes with this CRC-32. Then the caller need
    /// not write them again, and must not.
    pub(crate) fn begins_with(&self, bytes: u64, crc: u32) -> Option<bool> {
        let mut state = self.state.lock();
        let (whole, rest) = (bytes / self.part_bytes, (bytes % self.part_bytes) as usize);
        let mut before = crc32fast::Hasher::new();
        for number in 0..whole {
            let Some(Part { crc, bytes, .. }) = state.stored.get(&number) else {
                return self.is_persistent.then_some(false);
            };
            before.combine(&crc32fast::Hasher::new_with_initial_len(*crc, *bytes));
        }
        // Combining with a CRC-32 of 0 shifts `before` over the rest. The CRC-32 of all bytes is
        // that, XOR the CRC-32 of the rest.
        before.combine(&crc32fast::Hasher::new_with_initial_len(0, rest as u64));
        let begun = BegunPart { part: whole, bytes: rest, crc: crc ^ before.finalize() };
        let is_there = match rest {
            0 => begun.crc == 0,
            _ => rest.is_multiple_of(ALIGNMENT) && state.stored.contains_key(&whole),
        };
        if is_there {
            let behind = state.stored.split_off(&whole);
            let before = std::mem::replace(&mut state.stored, behind);
            state.sent.extend(before.into_iter().map(|(number, part)| (number, Some(part))));
            state.begun = (rest > 0).then_some(begun);
        }
        self.is_persistent.then_some(is_there)
    }

    /// Returns the part that an earlier process has sent, if it is the same.
    ///
    /// # Errors
    /// If it differs, and only the store has its beginning.
    pub(super) fn stored_before(
        &self,
        part: u64,
        payload: &Payload,
    ) -> Result<Option<Part>, GaveUp> {
        let (stored, begun) = {
            let mut state = self.state.lock();
            (state.stored.remove(&part), state.begun.filter(|begun| begun.part == part))
        };
        let Some(stored) = stored else { return Ok(None) };
        let crc = begun.map_or(payload.crc, |begun| begun.crc_with(&payload.bytes));
        if (payload.bytes.len() as u64, crc) == (stored.bytes, stored.crc) {
            return Ok(Some(stored));
        }
        match begun {
            None => Ok(None),
            Some(_) => Err(GaveUp::at_once(
                Reason::Unusable,
                "what is written now doesn't go on where the part ends that is in the store: begin \
                 anew with --restart",
            )),
        }
    }

    /// Makes the store drop everything that was sent.
    pub(crate) fn remove(self: &Arc<Self>) -> Result<(), Error> {
        let Some(number) = self.end_sending() else { return Ok(()) };
        let aborted = self
            .caller
            .call(&Stop::default(), |client| client.abort(&self.location, &number))
            .map_err(|gave_up| gave_up.at(Operation::Remove, &self.location));
        self.has_aborted();
        aborted
    }
}

impl BegunPart {
    /// Returns the CRC-32 of the whole part. `bytes` holds only the part's end, at its offset.
    fn crc_with(&self, bytes: &[u8]) -> u32 {
        let end = bytes.get(self.bytes..).unwrap_or_default();
        let mut whole = crc32fast::Hasher::new_with_initial(self.crc);
        let end = crc32fast::Hasher::new_with_initial_len(crc32fast::hash(end), end.len() as u64);
        whole.combine(&end);
        whole.finalize()
    }
}

/// Returns the parts that the store has as they were recorded. Parts without a tag and a CRC-32
/// can't be distinguished from others and are left out.
fn believed(
    recorded: &[StoredPart],
    listed: Vec<ListedPart>,
    part_bytes: u64,
) -> BTreeMap<u64, Part> {
    let listed: HashMap<u32, ListedPart> =
        listed.into_iter().map(|part| (part.number, part)).collect();
    // Some lists have tags without quotes.
    let text = |tag: &str| tag.trim_matches('"').to_owned();
    let there = (1..).zip(recorded).filter_map(|(number, recorded)| {
        let there = listed.get(&number)?;
        let is_known = !recorded.tag.is_empty() || there.crc.is_some();
        let is_same = there.bytes == recorded.bytes
            && text(&there.etag) == text(&recorded.tag)
            && there.crc.is_none_or(|crc| crc == recorded.crc);
        let StoredPart { bytes, crc, ref tag } = *recorded;
        let part = Part { number, bytes, etag: tag.clone(), crc };
        (is_known && is_same && bytes == part_bytes).then(|| (u64::from(number) - 1, part))
    });
    there.collect()
}
