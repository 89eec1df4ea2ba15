//! The content of a simulated store.

use crate::client::{Checksums, ListedPart, ObjectInfo, Part, Receipt, StoredChecksum, Version};
use crate::failure::{Failure, Reason};
use bytes::Bytes;
use md5::{Digest, Md5};
use std::collections::{BTreeMap, HashMap};

/// Time at which the store was created, in seconds since 1970.
const EPOCH: i64 = 1_700_000_000;

/// An object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) bytes: Bytes,
    pub(super) etag: String,
    pub(super) modified: i64,
    checksum: Option<StoredChecksum>,
    mark: Option<String>,
}

impl Object {
    pub(super) fn info(&self) -> ObjectInfo {
        let modified = jiff::Timestamp::from_second(self.modified).ok();
        let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
        let modified = modified.and_then(|time| printer.timestamp_to_rfc9110_string(&time).ok());
        let version = Version { etag: Some(self.etag.clone()), modified };
        let (bytes, mark) = (self.bytes.len() as u64, self.mark.clone());
        ObjectInfo { bytes, version, mark, is_distinct: true, checksums: self.checksums() }
    }

    pub(super) fn receipt(&self) -> Receipt {
        Receipt { etag: Some(self.etag.clone()), checksums: self.checksums() }
    }

    /// Returns the MD5 in its tag, if tags depend on the content, and the CRC-32 that the store has
    /// computed.
    fn checksums(&self) -> Checksums {
        Checksums { crc32: self.checksum, ..Checksums::of_tag(Some(&self.etag)) }
    }
}

/// An upload under way.
#[derive(Debug)]
pub(super) struct Upload {
    pub(super) key: String,
    /// Time in seconds since 1970.
    pub(super) begun: i64,
    mark: Option<String>,
    /// Bytes, tag and checksum of each part.
    pub(super) parts: BTreeMap<u32, (Bytes, String, u32)>,
}

/// The content of a store. Keys are full URLs.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) objects: BTreeMap<String, Object>,
    pub(super) uploads: BTreeMap<String, Upload>,
    /// The old object that is still seen at a key, and how many more times.
    old: HashMap<String, (Option<Object>, u32)>,
    /// Number of changes so far.
    clock: i64,
    /// Number of times that each request was made.
    attempts: HashMap<u64, u32>,
}

/// How a new object is tagged and seen.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) has_opaque_tags: bool,
    pub(super) keeps_marks: bool,
    /// If set, a bit is flipped when parts are put together.
    pub(super) flips_whole: bool,
    /// How many more times the old object is seen.
    pub(super) stale_looks: u32,
    /// The checksum that is returned: 0 none, 1 over all bytes, 2 over the parts.
    pub(super) checksum: u64,
}

impl Objects {
    /// Returns how many times this request was made before.
    pub(super) fn attempt(&mut self, place: u64) -> u32 {
        let attempts = self.attempts.entry(place).or_default();
        *attempts += 1;
        *attempts - 1
    }

    /// Returns the object as seen by a request; it may be the old one.
    pub(super) fn seen(&mut self, key: &str) -> Option<Object> {
        if let Some((old, left)) = self.old.get_mut(key)
            && *left > 0
        {
            *left -= 1;
            return old.clone();
        }
        self.objects.get(key).cloned()
    }

    pub(super) fn put(
        &mut self,
        key: &str,
        bytes: Bytes,
        mark: Option<&str>,
        style: Style,
    ) -> Receipt {
        let tag = format!("\"{}\"", hex(&Md5::digest(&bytes)));
        let whole = StoredChecksum::Whole(crc32fast::hash(&bytes));
        let checksum = (style.checksum == 1).then_some(whole);
        self.replace(key, bytes, (tag, mark.map(str::to_owned)), checksum, style)
    }

    fn replace(
        &mut self,
        key: &str,
        bytes: Bytes,
        (tag, mark): (String, Option<String>),
        checksum: Option<StoredChecksum>,
        style: Style,
    ) -> Receipt {
        self.clock += 1;
        let etag = if style.has_opaque_tags { format!("\"opaque-{}\"", self.clock) } else { tag };
        let modified = EPOCH + self.clock;
        let mark = mark.filter(|_| style.keeps_marks);
        let object = Object { bytes, etag, modified, checksum, mark };
        let receipt = object.receipt();
        let old = self.objects.insert(key.to_owned(), object);
        self.old.insert(key.to_owned(), (old, style.stale_looks));
        receipt
    }

    pub(super) fn begin(&mut self, key: &str, mark: &str) -> String {
        self.clock += 1;
        let number = format!("upload-{}", self.clock);
        let (key, mark) = (key.to_owned(), Some(mark.to_owned()));
        let upload = Upload { key, begun: EPOCH + self.clock, mark, parts: BTreeMap::new() };
        self.uploads.insert(number.clone(), upload);
        number
    }

    pub(super) fn put_part(
        &mut self,
        upload: &str,
        number: u32,
        (bytes, crc): (Bytes, u32),
        style: Style,
    ) -> Result<Receipt, Failure> {
        self.clock += 1;
        let Some(upload) = self.uploads.get_mut(upload) else { return Err(no_upload()) };
        let etag = match style.has_opaque_tags {
            true => format!("\"part-{}\"", self.clock),
            false => format!("\"{}\"", hex(&Md5::digest(&bytes))),
        };
        upload.parts.insert(number, (bytes, etag.clone(), crc));
        let checksums = Checksums::of_tag(Some(&etag));
        Ok(Receipt { etag: Some(etag), checksums })
    }

    /// Lists the parts of an upload; with `says_crcs`, including their checksums.
    pub(super) fn list_parts(
        &self,
        upload: &str,
        says_crcs: bool,
    ) -> Result<Vec<ListedPart>, Failure> {
        let upload = self.uploads.get(upload).ok_or_else(no_upload)?;
        let listed = upload.parts.iter().map(|(number, (bytes, etag, crc))| ListedPart {
            number: *number,
            bytes: bytes.len() as u64,
            etag: etag.clone(),
            crc: says_crcs.then_some(*crc),
        });
        Ok(listed.collect())
    }

    /// Puts the parts together like S3. With `is_lenient`, uses only the existing parts.
    pub(super) fn complete(
        &mut self,
        number: &str,
        parts: &[Part],
        part_bytes_min: u64,
        is_lenient: bool,
        style: Style,
    ) -> Result<Receipt, Failure> {
        let Some(upload) = self.uploads.get(number) else { return Err(no_upload()) };
        let refuse = |reason, text: &str| Err(Failure::new(reason, text));
        let (mut bytes, mut digests, mut crcs) = (Vec::new(), Md5::new(), Vec::new());
        let mut last = 0;
        for part in parts {
            if part.number <= last || part.number > 10_000 {
                return refuse(Reason::Refused, "400 InvalidPartOrder");
            }
            last = part.number;
            let Some((stored, etag, crc)) = upload.parts.get(&part.number) else {
                if is_lenient {
                    continue;
                }
                return refuse(Reason::LostPart, "400 InvalidPart");
            };
            if *etag != part.etag || *crc != part.crc {
                return refuse(Reason::LostPart, "400 InvalidPart");
            }
            let is_last = part.number == parts[parts.len() - 1].number;
            if !is_last && (stored.len() as u64) < part_bytes_min {
                return refuse(Reason::Refused, "400 EntityTooSmall");
            }
            let mut stored = stored.to_vec();
            if let (true, Some(byte)) = (style.flips_whole, stored.last_mut()) {
                *byte ^= 1;
            }
            bytes.extend_from_slice(&stored);
            digests.update(Md5::digest(&stored));
            crcs.extend(crc.to_be_bytes());
        }
        if parts.is_empty() {
            return refuse(Reason::Refused, "400 MalformedXML");
        }
        let tag = format!("\"{}-{}\"", hex(&digests.finalize()), parts.len());
        let checksum = match style.checksum {
            _ if is_lenient => None,
            1 => Some(StoredChecksum::Whole(crc32fast::hash(&bytes))),
            2 => Some(StoredChecksum::OfParts(crc32fast::hash(&crcs))),
            _ => None,
        };
        let (key, mark) = (upload.key.clone(), upload.mark.clone());
        self.uploads.remove(number);
        Ok(self.replace(&key, bytes.into(), (tag, mark), checksum, style))
    }
}

fn no_upload() -> Failure {
    Failure::new(Reason::NoUpload, "404 NoSuchUpload")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
