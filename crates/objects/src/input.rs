//! An object that is read: ranges of the version that existed when it was opened, read directly
//! into the request's memory.

use crate::checksums::Coverage;
use crate::client::{Client, ObjectInfo, RangeAnswer, Version};
use crate::failure::{Failure, GaveUp, Reason};
use crate::location::Location;
use crate::requests::answer::other_length;
use crate::retry::Caller;
use crate::stop::{Stop, looking};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xsort_disk::{Error, Operation, Request};

/// Maximum number of bytes of one answer. A connection that ends early loses no work, because the
/// next request begins where it ended. But a store serves each request with one machine.
const RANGE_BYTES: usize = 16 << 20;

/// An object open for reading.
pub(crate) struct Input {
    pub(crate) location: Location,
    pub(crate) info: ObjectInfo,
    caller: Arc<Caller>,
    /// Set when the object is closed: data still being read is no longer needed.
    pub(crate) stop: Stop,
    /// True if an answer didn't confirm that it is of the version that was opened.
    is_doubtful: AtomicBool,
    /// The ranges read, if the store has a checksum of the whole object.
    coverage: Option<Coverage>,
}

impl Input {
    /// Opens the version that is `known`; if that is `None`, requests the current version.
    pub(crate) fn open(
        caller: &Arc<Caller>,
        location: Location,
        known: Option<ObjectInfo>,
    ) -> Result<Input, Error> {
        let info = match known {
            Some(info) => info,
            None => caller
                .head(&location, looking())
                .map_err(|gave_up| gave_up.at(Operation::Open, &location))?,
        };
        // Without a distinct version no answer can confirm it.
        let is_doubtful = AtomicBool::new(!info.is_distinct);
        let (caller, stop) = (Arc::clone(caller), Stop::default());
        let expected = info.checksums.expected();
        let coverage = expected.map(|expected| Coverage::new(expected, info.bytes));
        Ok(Input { location, info, caller, stop, is_doubtful, coverage })
    }

    /// Returns whether every answer confirmed that it is of the version that was opened.
    pub(crate) fn is_of_one_version(&self) -> bool {
        !self.is_doubtful.load(Ordering::Relaxed)
    }

    /// Fails if the object isn't the one that was opened.
    pub(crate) fn check_unchanged(&self) -> Result<(), Error> {
        let now = self
            .caller
            .head(&self.location, &self.stop)
            .map_err(|gave_up| gave_up.at(Operation::Inspect, &self.location))?;
        if now.bytes == self.info.bytes && now.version.agrees_with(&self.info.version) {
            return Ok(());
        }
        let missing = now.version.missing(&self.info.version);
        Err(Failure::new(Reason::Changed, missing).at(Operation::Read, &self.location))
    }

    /// Removes the object that was opened; fails if it was replaced.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        self.check_unchanged()?;
        self.caller
            .call(&self.stop, |client| client.remove(&self.location, &self.info.version))
            .map_err(|gave_up| gave_up.at(Operation::Remove, &self.location))
    }

    /// Carries out a submitted read.
    pub(crate) fn read(&self, request: &mut Request) -> Result<(), Error> {
        let present = self.info.bytes.saturating_sub(request.offset);
        let bytes = usize::try_from(present).unwrap_or(usize::MAX).min(request.bytes);
        if bytes < request.bytes_needed {
            return Err(Error::at(
                Operation::Read,
                self.location.url(),
                self.info.bytes,
                io::Error::new(io::ErrorKind::UnexpectedEof, "the object ends here"),
            ));
        }
        let mut offset = request.offset;
        for into in request.lease[..bytes].chunks_mut(RANGE_BYTES) {
            self.caller.pass(into.len() as u64);
            self.read_range(offset, into)?;
            if self.coverage.as_ref().is_some_and(|coverage| !coverage.add(offset, into)) {
                let failure = Failure::new(Reason::DamagedRead, "");
                return Err(failure.at(Operation::Read, &self.location));
            }
            offset += into.len() as u64;
        }
        Ok(())
    }

    /// Reads one range, with as many requests as needed.
    fn read_range(&self, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        let mut arrived = 0;
        let mut tries = self.caller.tries();
        while arrived < into.len() {
            let before = arrived;
            let answer = tries.attempt(|client| {
                let asked = offset + arrived as u64..offset + into.len() as u64;
                let (input, into, arrived) = (self, &mut *into, &mut arrived);
                let receiver = Receiver { client, input, into, arrived };
                receiver.receive(asked)
            });
            if arrived > before {
                tries.has_progressed();
            }
            if let Err(failure) = answer {
                tries.pause(failure, &self.stop).map_err(|gave_up: GaveUp| {
                    gave_up.at_offset(Operation::Read, &self.location, offset + arrived as u64)
                })?;
            }
        }
        Ok(())
    }

    /// Returns the version that was opened.
    pub(crate) fn version(&self) -> &Version {
        &self.info.version
    }
}

/// The memory of a range while an answer fills it.
struct Receiver<'a> {
    client: &'a dyn Client,
    input: &'a Input,
    into: &'a mut [u8],
    /// Number of bytes filled so far.
    arrived: &'a mut usize,
}

impl Receiver<'_> {
    /// Receives one answer, which must have exactly the requested bytes.
    fn receive(self, asked: std::ops::Range<u64>) -> Result<(), Failure> {
        let Receiver { client, input, into, arrived } = self;
        let before = *arrived;
        let version = input.version();
        let answer = client.get_range(&input.location, version, asked, &input.stop)?;
        let RangeAnswer { mut body, names_version, whole_bytes } = answer;
        if whole_bytes != input.info.bytes {
            return Err(other_length(input.info.bytes, whole_bytes));
        }
        if !names_version {
            input.is_doubtful.store(true, Ordering::Relaxed);
        }
        while let Some(bytes) = body.next(&input.stop)? {
            let Some(room) = into[*arrived..].get_mut(..bytes.len()) else {
                // The surplus bytes may as well have come first.
                *arrived = before;
                return Err(Failure::new(Reason::Cut, "an answer with more bytes than asked for"));
            };
            room.copy_from_slice(&bytes);
            *arrived += bytes.len();
        }
        if *arrived < into.len() {
            let missing = into.len() - *arrived;
            return Err(Failure::new(Reason::Cut, format!("{missing} bytes are missing")));
        }
        Ok(())
    }
}
