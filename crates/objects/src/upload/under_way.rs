//! An output from its creation on: writes are divided into parts.

use super::abandon::{Abandon, UploadUnderWay, register};
use super::part::pieces;
use super::state::{Place, State, UploadNumber, WaitingWrite};
use crate::client::Version;
use crate::failure::{Failure, GaveUp, Reason};
use crate::location::Location;
use crate::retry::Caller;
use crate::settings::ObjectSettings;
use crate::stop::{Stop, looking};
use crate::workers::Queue;
use parking_lot::{Condvar, Mutex};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use xsort_disk::{BlockPool, Error, Operation, Request};

/// An unpublished output.
pub(crate) struct Upload {
    pub(super) location: Location,
    pub(super) caller: Arc<Caller>,
    pub(super) queue: Queue,
    pub(super) part_bytes: u64,
    /// If set, there must be no object yet.
    pub(super) is_new: bool,
    /// The object's mark, by which it is recognised even if answers were lost.
    pub(super) mark: String,
    /// If set, the sent parts stay in the store until the object is published or the upload is
    /// removed.
    pub(super) is_persistent: bool,
    /// The version of the old object, if there was one and it could be inspected.
    pub(super) before: Option<Version>,
    /// If set, the object is read back after it was published.
    pub(super) verifies: bool,
    /// True while the tags of all sent parts are the MD5s of their bytes.
    pub(super) tags_are_md5s: AtomicBool,
    memory: Arc<BlockPool>,
    output_bytes_max: u64,
    /// Set on failure or when the output is abandoned: requests under way are no longer needed.
    pub(super) stop: Stop,
    pub(super) state: Mutex<State>,
    /// Signalled when a part was sent, or the upload's number has arrived.
    pub(super) changed: Condvar,
}

impl Upload {
    /// Creates an output. Sends no data yet, but makes a request, which detects a missing bucket
    /// and invalid credentials.
    pub(crate) fn create(
        caller: &Arc<Caller>,
        queue: Queue,
        location: Location,
        settings: &ObjectSettings,
    ) -> Result<Arc<Upload>, Error> {
        let Looked { is_allowed, before } = look(caller, &location, settings)?;
        let new = NewUpload { mark: new_mark(), is_persistent: false, before };
        let upload = Upload::new(caller, queue, location, settings, new)?;
        if !is_allowed {
            // Then beginning the upload checks the permissions.
            let begun = upload.number();
            begun.map_err(|gave_up| gave_up.at(Operation::Create, &upload.location))?;
        }
        Ok(upload)
    }

    /// Creates an upload for which no data was sent yet.
    pub(super) fn new(
        caller: &Arc<Caller>,
        queue: Queue,
        location: Location,
        settings: &ObjectSettings,
        NewUpload { mark, is_persistent, before }: NewUpload,
    ) -> Result<Arc<Upload>, Error> {
        let part_bytes = settings.part_bytes;
        let upload = Arc::new(Upload {
            caller: Arc::clone(caller),
            queue,
            part_bytes,
            is_new: settings.no_clobber,
            mark,
            is_persistent,
            before,
            verifies: settings.verify_output,
            tags_are_md5s: AtomicBool::new(true),
            memory: BlockPool::map(settings.part_buffers(), part_bytes as usize)?,
            output_bytes_max: settings.output_bytes_max(),
            stop: Stop::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            location,
        });
        let weak = Arc::downgrade(&upload);
        register(weak);
        Ok(upload)
    }

    /// Returns the location of the output.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    /// Fails if a length needs too many parts.
    pub(crate) fn check_length(&self, operation: Operation, bytes: u64) -> Result<(), Error> {
        if bytes <= self.output_bytes_max {
            return Ok(());
        }
        let least = bytes.div_ceil(self.output_bytes_max / self.part_bytes).div_ceil(1 << 20);
        let text = format!(
            "{bytes} bytes are more than the 10,000 parts that an object may have: choose parts of \
             {least} MiB or more (--s3-part-size)"
        );
        Err(Failure::new(Reason::Unusable, text).at(operation, &self.location))
    }

    /// Carries out a submitted write: completes it now if there is memory, otherwise when there is.
    pub(crate) fn write(self: &Arc<Self>, request: Request) {
        let end = request.offset + request.bytes as u64;
        if let Err(error) = self.check_length(Operation::Write, end) {
            return request.complete(Err(error));
        }
        let pieces = pieces(self.part_bytes, request.offset, request.bytes);
        self.place(WaitingWrite { request, pieces });
    }

    /// Copies as much of a write as possible, and completes it or lets it wait.
    fn place(self: &Arc<Self>, mut write: WaitingWrite) {
        while !write.pieces.is_empty() {
            let mut state = self.state.lock();
            if let Some(error) = self.failed(&state) {
                drop(state);
                return write.request.complete(Err(error));
            }
            let memory = || self.memory.try_take();
            let (number, part) = match state.place(&write.pieces, self.part_bytes as usize, memory)
            {
                Place::Open(number, part) => (number, Some(part)),
                Place::Sent(number) => (number, None),
                Place::NoMemory => return state.waiting.push(write),
            };
            drop(state);
            let piece = write.pieces.swap_remove(number);
            let bytes = &write.request.lease[piece.bytes.clone()];
            if part.is_none_or(|part| !part.fill(piece.start, bytes)) {
                let error = self.refuse_again(piece.part);
                return write.request.complete(Err(error));
            }
            // This part, or the previous one, which is no longer the last.
            self.send_full_parts();
        }
        write.request.complete(Ok(()));
    }

    /// Returns the error for everything after the first failure.
    pub(super) fn failed(&self, state: &State) -> Option<Error> {
        let (gave_up, offset) = state.failure.as_ref()?;
        Some(gave_up.at_offset(Operation::Write, &self.location, *offset))
    }

    /// Tries all waiting writes, because there may be memory again.
    pub(super) fn place_waiting(self: &Arc<Self>) {
        let mut waiting = std::mem::take(&mut self.state.lock().waiting);
        waiting.sort_by_key(|write| write.request.offset);
        for write in waiting {
            self.place(write);
        }
    }

    /// Returns the error for bytes of a part that was already sent.
    fn refuse_again(self: &Arc<Self>, part: u64) -> Error {
        let text = "bytes came again that were sent already; an object can't be written twice";
        let gave_up = GaveUp::at_once(Reason::Unusable, text);
        let offset = part * self.part_bytes;
        let error = gave_up.at_offset(Operation::Write, &self.location, offset);
        self.fail(gave_up, offset);
        error
    }

    /// Fails all later writes, and cancels requests under way.
    pub(super) fn fail(self: &Arc<Self>, gave_up: GaveUp, offset: u64) {
        let waiting = {
            let mut state = self.state.lock();
            state.failure.get_or_insert((gave_up, offset));
            std::mem::take(&mut state.waiting)
        };
        self.stop.set();
        self.changed.notify_all();
        for write in waiting {
            self.place(write);
        }
    }
}

/// The properties that distinguish an upload from others.
pub(super) struct NewUpload {
    pub(super) mark: String,
    pub(super) is_persistent: bool,
    pub(super) before: Option<Version>,
}

/// The result of inspecting an output's location.
pub(super) struct Looked {
    /// Whether the user may inspect the location.
    is_allowed: bool,
    /// The version of the object there.
    pub(super) before: Option<Version>,
}

/// Inspects a location. Fails if no object can be written there, or must not be.
pub(super) fn look(
    caller: &Caller,
    location: &Location,
    settings: &ObjectSettings,
) -> Result<Looked, Error> {
    if !location.scheme.is_store() {
        let text = "HTTP is for reading only: use s3://, gs:// or az://";
        let failure = Failure::new(Reason::Unusable, text);
        return Err(failure.at(Operation::Create, location));
    }
    match caller.head(location, looking()) {
        Ok(_) if settings.no_clobber => {
            Err(Failure::new(Reason::Exists, "").at(Operation::Create, location))
        }
        Ok(there) => Ok(Looked { is_allowed: true, before: Some(there.version) }),
        Err(gave_up) if gave_up.failure.reason == Reason::NoObject => {
            Ok(Looked { is_allowed: true, before: None })
        }
        // A user who may write may not be allowed to read.
        Err(gave_up) if gave_up.failure.reason == Reason::Denied => {
            Ok(Looked { is_allowed: false, before: None })
        }
        Err(gave_up) => Err(gave_up.at(Operation::Create, location)),
    }
}

/// Returns a unique random number in hexadecimal digits.
pub(super) fn new_mark() -> String {
    let half = || RandomState::default().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

impl Abandon for Upload {
    fn abandon(self: Arc<Self>) {
        self.give_up();
    }

    fn traces(&self) -> Option<UploadUnderWay> {
        if !self.location.scheme.has_uploads() {
            return None;
        }
        match &self.state.lock().number {
            UploadNumber::Known(upload) => Some(UploadUnderWay {
                object: self.location.clone(),
                upload: upload.clone(),
                is_resumable: self.is_persistent,
            }),
            _ => None,
        }
    }
}
