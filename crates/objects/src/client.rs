//! The interface of an object store: one call is one request. The caller counts bytes, compares
//! tags and repeats requests; a client only reports the store's answer.
//!
//! Calls block their thread. Stores over HTTP and the simulated store implement the same interface.

use crate::failure::Failure;
use crate::location::Location;
use crate::stop::Stop;
use bytes::Bytes;
use std::ops::Range;
use std::time::Duration;

/// Identifies one version of the object with a key, to find out whether it was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// The entity tag, with its quotes.
    pub etag: Option<String>,
    /// When it was written, as an HTTP date.
    pub modified: Option<String>,
}

impl Version {
    /// Returns whether this can still be the version that was `opened`: it must have the same tag
    /// and time. A tag that no other content has makes up for a missing time.
    pub fn agrees_with(&self, opened: &Version) -> bool {
        let agree = |now: &Option<String>, opened: &Option<String>| match (now, opened) {
            (Some(now), Some(opened)) => now == opened,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        let is_timeless = self.modified.is_none() && self.is_surely(opened);
        agree(&self.etag, &opened.etag) && (is_timeless || agree(&self.modified, &opened.modified))
    }

    /// Returns a message about a property that `opened` has and this version lacks. Empty if there
    /// is none.
    pub(crate) fn missing(&self, opened: &Version) -> &'static str {
        match self.etag.is_none() && opened.etag.is_some() {
            true => "it had a tag (ETag) then, and the store says none any more",
            false if self.modified.is_none() && opened.modified.is_some() => {
                "it had a time of change (Last-Modified) then, and the store says none any more"
            }
            false => "",
        }
    }

    /// Returns whether both have the same strong tag, which no other content has.
    pub fn is_surely(&self, other: &Version) -> bool {
        let etag = self.etag.as_ref().filter(|etag| !etag.starts_with("W/"));
        etag.is_some() && self.etag == other.etag
    }
}

/// A store's information about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its version.
    pub version: Version,
    /// The mark set by its writer, if the store keeps marks.
    pub mark: Option<String>,
    /// Whether `version` distinguishes the object from later versions: it has a tag, or a time that
    /// had passed when the store answered.
    pub is_distinct: bool,
    /// The store's checksums of its bytes.
    pub checksums: Checksums,
}

/// Bytes to be sent to a store, with their CRC-32, which the store compares.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The bytes.
    pub bytes: Bytes,
    /// Their CRC-32, as in zlib.
    pub crc: u32,
}

impl Payload {
    /// Creates a payload and computes its checksum.
    pub fn new(bytes: Bytes) -> Payload {
        let crc = crc32fast::hash(&bytes);
        Payload { bytes, crc }
    }
}

/// A store's answer for an object that it has put together, or for a part that it has taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The entity tag.
    pub etag: Option<String>,
    /// The checksums that the store has computed.
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

/// A store's checksums of an object or a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checksums {
    /// Their MD5.
    pub md5: Option<[u8; 16]>,
    /// The MD5 of the MD5s of all parts, and the number of parts.
    pub md5_of_parts: Option<([u8; 16], usize)>,
    /// Their CRC-32, as in zlib.
    pub crc32: Option<StoredChecksum>,
    /// Their CRC-32C.
    pub crc32c: Option<u32>,
    /// Their CRC-64/NVME.
    pub crc64: Option<u64>,
}

/// A part that a store has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part's number, from 1.
    pub number: u32,
    /// Its length in bytes.
    pub bytes: u64,
    /// The store's tag of it.
    pub etag: String,
    /// Its CRC-32.
    pub crc: u32,
}

/// A part of an upload under way, as listed by the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPart {
    /// The part's number, from 1.
    pub number: u32,
    /// Its length in bytes.
    pub bytes: u64,
    /// The store's tag of it.
    pub etag: String,
    /// Its CRC-32, if the store returns it.
    pub crc: Option<u32>,
}

/// An object in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its full key.
    pub key: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was written, in seconds since 1970, if the store returns it.
    pub modified: Option<i64>,
}

/// A page of a list of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPage {
    /// The objects of this page.
    pub objects: Vec<Listed>,
    /// The store's name of the next page, if there is one.
    pub next: Option<String>,
}

/// An upload in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUpload {
    /// The key that the object will have.
    pub key: String,
    /// The store's identifier of the upload.
    pub upload: String,
    /// When it began, in seconds since 1970, if the store returns it.
    pub begun: Option<i64>,
}

/// The bytes of an answer, as they arrive.
pub trait Body: Send {
    /// Returns the next bytes; `None` at the end.
    ///
    /// # Errors
    /// If the connection ends before the answer does.
    fn next(&mut self, stop: &Stop) -> Result<Option<Bytes>, Failure>;
}

/// A store's answer to a request for a range.
pub struct RangeAnswer {
    /// The bytes of the range.
    pub body: Box<dyn Body>,
    /// Whether the answer's tag confirms that it is of the requested version.
    pub names_version: bool,
    /// The length of the whole object according to this answer, in bytes.
    pub whole_bytes: u64,
}

/// A store of objects. All methods may be called from any thread.
pub trait Client: Send + Sync {
    /// Returns length and version of an object.
    ///
    /// # Errors
    /// For this and every other call: the store's error, or the reason why there was no answer.
    fn head(&self, object: &Location, stop: &Stop) -> Result<ObjectInfo, Failure>;

    /// Requests a range of an object. Fails with [`Reason::Changed`](crate::Reason::Changed) if the
    /// object has another version.
    fn get_range(
        &self,
        object: &Location,
        version: &Version,
        range: Range<u64>,
        stop: &Stop,
    ) -> Result<RangeAnswer, Failure>;

    /// Writes an object with these bytes and this mark. With `is_new`, only if there is none.
    fn put(
        &self,
        object: &Location,
        payload: &Payload,
        mark: &str,
        is_new: bool,
        stop: &Stop,
    ) -> Result<Receipt, Failure>;

    /// Begins an upload of parts, and returns its identifier. The object will have this mark.
    fn create_multipart(&self, object: &Location, mark: &str) -> Result<String, Failure>;

    /// Sends a part. It replaces an earlier part with the same number.
    fn put_part(
        &self,
        object: &Location,
        upload: &str,
        number: u32,
        payload: &Payload,
        stop: &Stop,
    ) -> Result<Receipt, Failure>;

    /// Lists all parts that the store has of an upload under way. Fails with
    /// [`Reason::NoUpload`](crate::Reason::NoUpload) if there is no such upload.
    fn list_parts(&self, object: &Location, upload: &str) -> Result<Vec<ListedPart>, Failure>;

    /// Completes an upload: forms the object from the parts. With `is_new`, only if there is none.
    fn complete(
        &self,
        object: &Location,
        upload: &str,
        parts: &[Part],
        is_new: bool,
    ) -> Result<Receipt, Failure>;

    /// Aborts an upload, so that its parts vanish.
    fn abort(&self, object: &Location, upload: &str) -> Result<(), Failure>;

    /// Removes an object if it still has this version.
    fn remove(&self, object: &Location, version: &Version) -> Result<(), Failure>;

    /// Lists a page of the objects whose keys begin with the key of `prefix`: the first page, or
    /// the page that the previous one named. In the list's order keys that begin alike are
    /// adjacent. Fails with [`Reason::Untrusted`](crate::Reason::Untrusted) if the answer doesn't
    /// say whether there is more.
    fn list(
        &self,
        prefix: &Location,
        page: Option<&str>,
        stop: &Stop,
    ) -> Result<ListedPage, Failure>;

    /// Lists all uploads under way to keys that begin with the key of `prefix`. `stop` ends the
    /// wait.
    fn list_multipart(&self, prefix: &Location, stop: &Stop) -> Result<Vec<ListedUpload>, Failure>;

    /// Waits before a request is repeated.
    fn pause(&self, pause: Duration, stop: &Stop);

    /// Returns the kind of store, for reports: "S3".
    fn describe(&self) -> String;
}
