//! What is asked of an object store: one call, one request. Whoever calls counts bytes, compares
//! tags and asks again; a client only says what the store said.
//!
//! Calls block their thread. A store that answers over HTTP and one that is simulated implement the
//! same.

use crate::failure::Failure;
use crate::location::Location;
use crate::stop::Stop;
use bytes::Bytes;
use std::ops::Range;
use std::time::Duration;

/// Which of the objects that a key had over time: what is compared to find out that it was
/// replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// The entity tag, with its quotes.
    pub etag: Option<String>,
    /// When it was written, as an HTTP date.
    pub modified: Option<String>,
}

impl Version {
    /// Whether this can still be the version that was `opened`: it has all that the other has, and
    /// the same. A tag that no other content has makes up for a time that is missing.
    pub fn agrees_with(&self, opened: &Version) -> bool {
        let agree = |now: &Option<String>, opened: &Option<String>| match (now, opened) {
            (Some(now), Some(opened)) => now == opened,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        let is_timeless = self.modified.is_none() && self.is_surely(opened);
        agree(&self.etag, &opened.etag) && (is_timeless || agree(&self.modified, &opened.modified))
    }

    /// What the version that was `opened` has and this one hasn't, for messages.
    pub(crate) fn missing(&self, opened: &Version) -> &'static str {
        match self.etag.is_none() && opened.etag.is_some() {
            true => "it had a tag (ETag) then, and the store says none any more",
            false if self.modified.is_none() && opened.modified.is_some() => {
                "it had a time of change (Last-Modified) then, and the store says none any more"
            }
            false => "",
        }
    }

    /// Whether both have a tag, the same, and one that no other content has.
    pub fn is_surely(&self, other: &Version) -> bool {
        let etag = self.etag.as_ref().filter(|etag| !etag.starts_with("W/"));
        etag.is_some() && self.etag == other.etag
    }
}

/// What a store knows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length.
    pub bytes: u64,
    /// Which one it is.
    pub version: Version,
    /// What its writer has marked it with, if the store keeps that.
    pub mark: Option<String>,
    /// Whether `version` distinguishes it from what is written there later: it has a tag, or a
    /// time that was over when the store answered.
    pub is_distinct: bool,
    /// What the store says of its bytes.
    pub checksums: Checksums,
}

/// Bytes on their way to a store, with their CRC-32, which the store compares.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The bytes.
    pub bytes: Bytes,
    /// Their CRC-32, the one of zlib.
    pub crc: u32,
}

impl Payload {
    /// Computes the checksum.
    pub fn new(bytes: Bytes) -> Payload {
        let crc = crc32fast::hash(&bytes);
        Payload { bytes, crc }
    }
}

/// What a store says of an object that it has put together, or of a part that it has taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The entity tag.
    pub etag: Option<String>,
    /// What it computed of the bytes.
    pub checksums: Checksums,
}

/// A CRC-32 that a store has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredChecksum {
    /// The CRC-32 of all bytes.
    Whole(u32),
    /// The CRC-32 of the CRC-32s of all parts.
    OfParts(u32),
}

/// What a store says of the bytes of an object or a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    /// Their MD5.
    pub md5: Option<[u8; 16]>,
    /// The MD5 of the MD5s of all parts, and how many there are.
    pub md5_of_parts: Option<([u8; 16], usize)>,
    /// Their CRC-32, the one of zlib.
    pub crc32: Option<StoredChecksum>,
    /// Their CRC-32C.
    pub crc32c: Option<u32>,
    /// Their CRC-64/NVME.
    pub crc64: Option<u64>,
}

/// A part that a store has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 1 on.
    pub number: u32,
    /// Its length.
    pub bytes: u64,
    /// What the store calls it.
    pub etag: String,
    /// Its CRC-32.
    pub crc: u32,
}

/// A part of an upload under way, as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPart {
    /// From 1 on.
    pub number: u32,
    /// Its length.
    pub bytes: u64,
    /// What the store calls it.
    pub etag: String,
    /// Its CRC-32, if the store says that.
    pub crc: Option<u32>,
}

/// An object in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The whole key.
    pub key: String,
    /// Its length.
    pub bytes: u64,
    /// When it was written, in seconds since 1970, if the store says so.
    pub modified: Option<i64>,
}

/// A page of a list of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPage {
    /// Some of them.
    pub objects: Vec<Listed>,
    /// What the store calls the next page, if there is one.
    pub next: Option<String>,
}

/// An upload in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUpload {
    /// The key that the object is to have.
    pub key: String,
    /// The upload's number.
    pub upload: String,
    /// When it began, in seconds since 1970, if the store says so.
    pub begun: Option<i64>,
}

/// The bytes of an answer, as they come.
pub trait Body: Send {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// If the connection ends before the answer does.
    fn next(&mut self, stop: &Stop) -> Result<Option<Bytes>, Failure>;

    /// Whether it says by its tag that it is of the version that was asked for.
    fn names_version(&self) -> bool;

    /// The length of the whole object, as this answer says it.
    fn whole_bytes(&self) -> u64;
}

/// A store of objects. All methods may be called from any thread.
pub trait Client: Send + Sync {
    /// Length and version of an object.
    ///
    /// # Errors
    /// Of this and of every other call: what the store said, or why it said nothing.
    fn head(&self, object: &Location, stop: &Stop) -> Result<ObjectInfo, Failure>;

    /// A range of an object. Fails with [`Reason::Changed`](crate::Reason::Changed) if the object
    /// isn't of this version.
    fn get_range(
        &self,
        object: &Location,
        version: &Version,
        range: Range<u64>,
        stop: &Stop,
    ) -> Result<Box<dyn Body>, Failure>;

    /// Makes an object of these bytes, with this mark. `is_new`: only if there is none.
    fn put(
        &self,
        object: &Location,
        payload: &Payload,
        mark: &str,
        is_new: bool,
        stop: &Stop,
    ) -> Result<Receipt, Failure>;

    /// Begins an upload of parts, and returns its number. The object will have this mark.
    fn create_multipart(&self, object: &Location, mark: &str) -> Result<String, Failure>;

    /// Sends a part. One that has the same number replaces it.
    fn put_part(
        &self,
        object: &Location,
        upload: &str,
        number: u32,
        payload: &Payload,
        stop: &Stop,
    ) -> Result<Receipt, Failure>;

    /// All parts that the store has of an upload under way. Fails with
    /// [`Reason::NoUpload`](crate::Reason::NoUpload) if there is no such upload.
    fn list_parts(&self, object: &Location, upload: &str) -> Result<Vec<ListedPart>, Failure>;

    /// Makes an object of the parts. `is_new`: only if there is none.
    fn complete(
        &self,
        object: &Location,
        upload: &str,
        parts: &[Part],
        is_new: bool,
    ) -> Result<Receipt, Failure>;

    /// Gives up an upload: its parts vanish.
    fn abort(&self, object: &Location, upload: &str) -> Result<(), Failure>;

    /// Removes an object if it is still of this version.
    fn remove(&self, object: &Location, version: &Version) -> Result<(), Failure>;

    /// A page of the objects whose keys begin with the key of `prefix`, in an order in which keys
    /// that begin alike follow each other: the first page, or that which the one before names.
    /// Fails with [`Reason::Untrusted`](crate::Reason::Untrusted) if it doesn't say whether there
    /// is more.
    fn list(
        &self,
        prefix: &Location,
        page: Option<&str>,
        stop: &Stop,
    ) -> Result<ListedPage, Failure>;

    /// All uploads under way to keys that begin with the key of `prefix`. `stop` ends the waiting.
    fn list_multipart(&self, prefix: &Location, stop: &Stop) -> Result<Vec<ListedUpload>, Failure>;

    /// Waits before a request is made again.
    fn pause(&self, pause: Duration, stop: &Stop);

    /// What it is, for reports: "S3".
    fn describe(&self) -> String;
}
