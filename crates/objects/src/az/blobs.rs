//! The requests of Azure's Blob Storage that differ from S3's: an object consists of blocks.
//!
//! ```text
//!  Put Block       an invisible block with an ID
//!  Put Block List  the blocks that form the object from now on; all others of the name vanish
//! ```
//!
//! Uploads can't be begun, listed or aborted. Blocks belong to the object's name, not to a sender,
//! and unused blocks vanish after a week. So the writer generates the upload's number, which is in
//! the ID of each of its blocks: two writers of a name never mix their blocks. The first to finish
//! makes the other's blocks vanish, and the other fails.

use super::block::BlockId;
use super::xml::{self, BlobPage, Block, BlockList};
use crate::client::{Checksums, Listed, ListedPage, ListedPart, Part, Payload, Receipt, Version};
use crate::failure::{Failure, Reason};
use crate::list_check::untrusted;
use crate::location::Location;
use crate::requests::answer::{header, refused};
use crate::requests::ask::{Ask, conditions};
use crate::requests::encode;
use crate::requests::exchange::Exchange;
use crate::stop::Stop;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::fmt::rfc2822;
use md5::{Digest, Md5};

/// The metadata header that marks an object: Azure allows no hyphens in names.
pub(crate) const AZURE_MARK: &str = "x-ms-meta-xsortupload";

/// Azure's requests about objects.
pub(crate) struct Blobs<'s, S>(pub(crate) &'s S);

impl<S: Exchange> Blobs<'_, S> {
    /// Writes a small object.
    pub(crate) fn put(
        &self,
        object: &Location,
        payload: &Payload,
        mark: &str,
        is_new: bool,
        stop: &Stop,
    ) -> Result<Receipt, Failure> {
        let mut headers = new_object(mark, is_new);
        headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
        headers.push(checksum(&payload.bytes));
        let ask = Ask::new(Method::PUT, object, stop).with_headers(headers);
        let sent = self.0.send(&ask.with_body(payload.bytes.clone()));
        let answer = sent.map_err(|failure| refused(failure, is_new))?;
        Ok(taken_receipt(answer.headers()))
    }

    pub(crate) fn put_part(
        &self,
        object: &Location,
        upload: &str,
        number: u32,
        payload: &Payload,
        stop: &Stop,
    ) -> Result<Receipt, Failure> {
        let id = BlockId { upload: upload.to_owned(), number, crc: payload.crc }.encoded();
        let query = [("comp", "block"), ("blockid", id.as_str())];
        let headers = vec![checksum(&payload.bytes)];
        let ask = Ask::new(Method::PUT, object, stop).with_query(&query).with_headers(headers);
        let answer = self.0.send(&ask.with_body(payload.bytes.clone()))?;
        // A block has no tag; its ID contains everything.
        Ok(Receipt { etag: None, ..taken_receipt(answer.headers()) })
    }

    /// Lists the blocks of an upload, including blocks that are already part of an object. An
    /// upload without blocks is unknown to Azure, so that is no error.
    pub(crate) fn list_parts(
        &self,
        object: &Location,
        upload: &str,
    ) -> Result<Vec<ListedPart>, Failure> {
        let (stop, query) = (Stop::default(), [("comp", "blocklist"), ("blocklisttype", "all")]);
        let ask = Ask::new(Method::GET, object, &stop).with_query(&query);
        let there: BlockList = match self.0.document(&ask) {
            Ok(there) => there,
            Err(failure) if failure.reason == Reason::NoObject => return Ok(Vec::new()),
            Err(failure) => return Err(failure),
        };
        let part = |Block { name, size }| {
            let BlockId { number, crc, .. } =
                BlockId::parse(&name).filter(|id| id.upload == upload)?;
            Some(ListedPart { number, bytes: size, etag: String::new(), crc: Some(crc) })
        };
        let blocks = there.committed_blocks.list.into_iter().chain(there.uncommitted_blocks.list);
        Ok(blocks.filter_map(part).collect())
    }

    pub(crate) fn complete(
        &self,
        object: &Location,
        upload: &str,
        parts: &[Part],
        is_new: bool,
    ) -> Result<Receipt, Failure> {
        let id = |part: &Part| {
            let Part { number, crc, .. } = *part;
            BlockId { upload: upload.to_owned(), number, crc }
        };
        let body = Bytes::from(xml::completion(parts.iter().map(id)));
        let mut headers = new_object(upload, is_new);
        headers.push(checksum(&body));
        let (stop, query) = (Stop::default(), [("comp", "blocklist")]);
        let ask = Ask::new(Method::PUT, object, &stop).with_query(&query).with_headers(headers);
        let sent = self.0.send(&ask.with_body(body));
        match sent.map_err(|failure| refused(failure, is_new)) {
            Ok(answer) => Ok(receipt(answer.headers())),
            // An earlier process may have completed it, and died.
            Err(failure) if failure.reason == Reason::Exists && self.has(object, upload) => {
                Ok(Receipt::default())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Returns whether the object has this mark.
    fn has(&self, object: &Location, mark: &str) -> bool {
        let stop = Stop::default();
        let there = self.0.send(&Ask::new(Method::HEAD, object, &stop));
        there.is_ok_and(|there| header(there.headers(), AZURE_MARK) == Some(mark))
    }

    pub(crate) fn remove(&self, object: &Location, version: &Version) -> Result<(), Failure> {
        let stop = Stop::default();
        let ask = Ask::new(Method::DELETE, object, &stop).with_headers(conditions(version));
        self.0.send(&ask).map(drop)
    }

    pub(crate) fn list(
        &self,
        prefix: &Location,
        page: Option<&str>,
        stop: &Stop,
    ) -> Result<ListedPage, Failure> {
        let container = prefix.with_key("");
        let mut query = vec![("restype", "container"), ("comp", "list")];
        // A parameter without a value is signed in more than one way.
        query.extend((!prefix.key.is_empty()).then_some(("prefix", prefix.key.as_str())));
        query.extend(page.map(|marker| ("marker", marker)));
        let ask = Ask::new(Method::GET, &container, stop).with_query(&query);
        let mut sent: BlobPage = self.0.document(&ask)?;
        let next_marker = sent.next_marker.take();
        let blobs = sent.check((&prefix.bucket, &prefix.key), page).map_err(untrusted)?;
        // Accounts with directories list them as blobs.
        let blobs = blobs.into_iter().filter(|it| it.properties.resource != "directory");
        let objects = blobs.map(|it| {
            let not_encoded = || untrusted("a name in the list is not encoded");
            let key = it.name.decoded().ok_or_else(not_encoded)?;
            let modified = rfc2822::parse(&it.properties.modified);
            let modified = modified.ok().map(|time| time.timestamp().as_second());
            Ok(Listed { key, bytes: it.properties.bytes, modified })
        });
        let next = next_marker
            .ok_or_else(|| untrusted("it doesn't say whether there is more of it (NextMarker)"))?;
        let next = Some(next).filter(|marker| !marker.is_empty());
        Ok(ListedPage { objects: objects.collect::<Result<_, Failure>>()?, next })
    }
}

/// Returns the failure for a request about uploads.
pub(crate) fn no_uploads() -> Failure {
    let text = "Azure has no uploads to list or remove: what a killed job has sent is in no list, \
                and vanishes after a week";
    Failure::new(Reason::Unusable, text)
}

/// Returns the headers for a new object.
fn new_object(mark: &str, is_new: bool) -> Vec<(&'static str, String)> {
    let mut headers = vec![(AZURE_MARK, mark.to_owned())];
    headers.extend(is_new.then(|| ("if-none-match", "*".to_owned())));
    headers
}

/// Returns the receipt for a new object.
fn receipt(headers: &HeaderMap) -> Receipt {
    let etag = header(headers, "etag").map(str::to_owned);
    Receipt { etag, checksums: Checksums::default() }
}

/// Returns the receipt for bytes that Azure has taken, with the MD5 that it has computed. In an
/// answer to a list of blocks this is the list's MD5.
fn taken_receipt(headers: &HeaderMap) -> Receipt {
    let md5 = header(headers, "content-md5").and_then(encode::parse_bytes);
    Receipt { checksums: Checksums { md5, ..Checksums::default() }, ..receipt(headers) }
}

/// Returns the header with the checksum that Azure compares with the bytes of a request.
fn checksum(bytes: &[u8]) -> (&'static str, String) {
    ("content-md5", BASE64_STANDARD.encode(Md5::digest(bytes)))
}
