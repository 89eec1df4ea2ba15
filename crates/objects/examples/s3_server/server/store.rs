//! What is in the store: buckets of objects and of uploads under way, in memory. Their bytes are
//! extents, so completing an upload copies none.

use super::extents::{Extent, Extents};
use super::refusal::{Outcome, Refusal};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Least bytes of a part that isn't the last one.
const PART_BYTES_MIN: u64 = 5 << 20;

/// The store.
pub(crate) struct Store {
    extents: Extents,
    buckets: Mutex<BTreeMap<String, Bucket>>,
    /// For tags and uploads.
    next_number: AtomicU64,
}

/// A bucket.
#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, Arc<Object>>,
    /// By key and number.
    pub(crate) uploads: BTreeMap<(String, String), Upload>,
}

/// An object, which never changes.
pub(crate) struct Object {
    pub(crate) extents: Vec<Arc<Extent>>,
    pub(crate) bytes: u64,
    pub(crate) etag: String,
    pub(crate) modified: SystemTime,
    /// Headers that come back with it.
    pub(crate) headers: Vec<(String, String)>,
    /// In base64, with the number of parts.
    pub(crate) checksum: Option<String>,
}

/// An upload under way.
pub(crate) struct Upload {
    pub(crate) initiated: SystemTime,
    pub(crate) parts: BTreeMap<u32, Part>,
    headers: Vec<(String, String)>,
}

/// A part, or the only one of an object.
pub(crate) struct Part {
    extent: Arc<Extent>,
    pub(crate) etag: String,
    pub(crate) modified: SystemTime,
    /// If one was sent.
    pub(crate) crc: Option<u32>,
}

impl Part {
    pub(crate) fn bytes(&self) -> u64 {
        self.extent.bytes()
    }
}

/// A CRC-32 as headers have it.
pub(crate) fn checksum(crc: u32) -> String {
    BASE64_STANDARD.encode(crc.to_be_bytes())
}

impl Store {
    pub(crate) fn new(directory: &Path) -> io::Result<Store> {
        let extents = Extents::new(directory)?;
        Ok(Store { extents, buckets: Mutex::default(), next_number: AtomicU64::new(1) })
    }

    fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// One that is there stays.
    pub(crate) fn create_bucket(&self, name: &str) {
        self.buckets.lock().entry(name.to_owned()).or_default();
    }

    pub(crate) fn remove_bucket(&self, name: &str) -> Outcome<()> {
        let bucket = self.bucket(name)?;
        let is_empty = bucket.objects.is_empty() && bucket.uploads.is_empty();
        drop(bucket);
        if !is_empty {
            return Err(Refusal::new(409, "BucketNotEmpty", "there is something in it"));
        }
        self.buckets.lock().remove(name);
        Ok(())
    }

    pub(crate) fn bucket_names(&self) -> Vec<String> {
        self.buckets.lock().keys().cloned().collect()
    }

    /// A bucket, which nobody else has meanwhile.
    pub(crate) fn bucket(&self, name: &str) -> Outcome<MappedMutexGuard<'_, Bucket>> {
        MutexGuard::try_map(self.buckets.lock(), |buckets| buckets.get_mut(name))
            .map_err(|_| Refusal::new(404, "NoSuchBucket", "there is no such bucket"))
    }

    pub(crate) fn object(&self, bucket: &str, key: &str) -> Outcome<Arc<Object>> {
        let found = self.bucket(bucket)?.objects.get(key).cloned();
        found.ok_or_else(|| Refusal::new(404, "NoSuchKey", "there is no such object"))
    }

    /// Takes bytes that are of no object yet. `sent`: their checksum, which is compared.
    pub(crate) fn take(&self, from: impl Read, bytes: u64, sent: Option<&str>) -> Outcome<Part> {
        let (extent, crc) = self.extents.take(from, bytes, sent.is_some())?;
        if crc.map(checksum).as_deref() != sent {
            return Err(Refusal::new(400, "BadDigest", "these bytes have another CRC-32"));
        }
        let (etag, modified) = (format!("\"{:016x}\"", self.number()), SystemTime::now());
        Ok(Part { extent: Arc::new(extent), etag, modified, crc })
    }

    /// Makes an object. `is_new`: only if there is none.
    pub(crate) fn put(
        &self,
        bucket: &str,
        key: &str,
        part: Part,
        headers: Vec<(String, String)>,
        is_new: bool,
    ) -> Outcome<Arc<Object>> {
        let object = Arc::new(Object {
            bytes: part.bytes(),
            etag: part.etag,
            modified: part.modified,
            checksum: part.crc.map(checksum),
            extents: vec![part.extent],
            headers,
        });
        self.bucket(bucket)?.add(key, Arc::clone(&object), is_new)?;
        Ok(object)
    }

    /// Removes an object, whether it is there or not; only the one with this tag, if one is named.
    pub(crate) fn remove(&self, bucket: &str, key: &str, etag: Option<&str>) -> Outcome<()> {
        let mut bucket = self.bucket(bucket)?;
        if let Some(wanted) = etag
            && bucket.objects.get(key).is_none_or(|object| object.etag != wanted)
        {
            return Err(precondition());
        }
        let removed = bucket.objects.remove(key);
        drop(bucket);
        // Its space is given back while others go on.
        drop(removed);
        Ok(())
    }

    /// Begins an upload, and returns its number.
    pub(crate) fn begin(
        &self,
        bucket: &str,
        key: &str,
        headers: Vec<(String, String)>,
    ) -> Outcome<String> {
        let number = format!("{:016x}", self.number());
        let upload = Upload { initiated: SystemTime::now(), parts: BTreeMap::new(), headers };
        self.bucket(bucket)?.uploads.insert((key.to_owned(), number.clone()), upload);
        Ok(number)
    }

    pub(crate) fn put_part(
        &self,
        bucket: &str,
        name: &(String, String),
        number: u32,
        part: Part,
    ) -> Outcome<()> {
        let mut bucket = self.bucket(bucket)?;
        let replaced = bucket.upload(name)?.parts.insert(number, part);
        drop(bucket);
        drop(replaced);
        Ok(())
    }

    pub(crate) fn abort(&self, bucket: &str, name: &(String, String)) -> Outcome<()> {
        let mut bucket = self.bucket(bucket)?;
        bucket.upload(name)?;
        let removed = bucket.uploads.remove(name);
        drop(bucket);
        drop(removed);
        Ok(())
    }

    /// Makes an object of the parts that are named, by number and tag.
    pub(crate) fn complete(
        &self,
        bucket: &str,
        name: &(String, String),
        named: &[(u32, String)],
        is_new: bool,
    ) -> Outcome<Arc<Object>> {
        let number = self.number();
        let mut bucket = self.bucket(bucket)?;
        let object = Arc::new(bucket.upload(name)?.object(named, number)?);
        bucket.add(&name.0, Arc::clone(&object), is_new)?;
        let removed = bucket.uploads.remove(name);
        drop(bucket);
        drop(removed);
        Ok(object)
    }
}

fn precondition() -> Refusal {
    Refusal::new(412, "PreconditionFailed", "a condition of the request doesn't hold")
}

impl Bucket {
    pub(crate) fn upload(&mut self, name: &(String, String)) -> Outcome<&mut Upload> {
        let found = self.uploads.get_mut(name);
        found.ok_or_else(|| Refusal::new(404, "NoSuchUpload", "there is no such upload"))
    }

    fn add(&mut self, key: &str, object: Arc<Object>, is_new: bool) -> Outcome<()> {
        if is_new && self.objects.contains_key(key) {
            return Err(precondition());
        }
        self.objects.insert(key.to_owned(), object);
        Ok(())
    }
}

impl Upload {
    /// The object that the named parts are.
    fn object(&self, named: &[(u32, String)], number: u64) -> Outcome<Object> {
        if named.is_empty() || !named.is_sorted_by(|one, other| one.0 < other.0) {
            return Err(Refusal::new(400, "InvalidPartOrder", "parts are named in their order"));
        }
        let mut parts = Vec::with_capacity(named.len());
        for (number, etag) in named {
            let part = self.parts.get(number);
            let part = part.filter(|part| part.etag.trim_matches('"') == etag.trim_matches('"'));
            parts.push(part.ok_or_else(|| {
                Refusal::new(400, "InvalidPart", format!("there is no such part {number}"))
            })?);
        }
        if parts[..parts.len() - 1].iter().any(|part| part.bytes() < PART_BYTES_MIN) {
            return Err(Refusal::new(400, "EntityTooSmall", "a part has less than 5 MiB"));
        }
        let crcs: Option<Vec<[u8; 4]>> =
            parts.iter().map(|part| part.crc.map(u32::to_be_bytes)).collect();
        let of_parts = |crcs: Vec<[u8; 4]>| {
            format!("{}-{}", checksum(crc32fast::hash(crcs.as_flattened())), parts.len())
        };
        Ok(Object {
            extents: parts.iter().map(|part| Arc::clone(&part.extent)).collect(),
            bytes: parts.iter().map(|part| part.bytes()).sum(),
            etag: format!("\"{number:016x}-{}\"", parts.len()),
            modified: SystemTime::now(),
            headers: self.headers.clone(),
            checksum: crcs.map(of_parts),
        })
    }
}
