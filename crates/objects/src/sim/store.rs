//! The simulated store as a client.

use super::objects::{Objects, Style};
use super::options::{StoreCall, StoreOptions, StoreTrouble, share};
use crate::client::{
    Body, Client, Listed, ListedPage, ListedPart, ListedUpload, ObjectInfo, Part, Payload,
    RangeAnswer, Receipt, Version,
};
use crate::failure::{Failure, Reason};
use crate::location::Location;
use crate::stop::Stop;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// A small number, so that lists have several pages.
const PAGE_OBJECTS: usize = 2;

/// A store in memory that fails as its options say. All buckets exist in it.
#[derive(Debug)]
pub struct SimStore {
    options: StoreOptions,
    objects: Mutex<Objects>,
    requests: Mutex<HashMap<StoreCall, u64>>,
}

impl SimStore {
    /// Creates an empty store.
    ///
    /// # Panics
    /// If a share in the options is out of its range.
    pub fn new(options: StoreOptions) -> SimStore {
        options.check();
        SimStore { options, objects: Mutex::default(), requests: Mutex::default() }
    }

    /// Creates or replaces an object, as another program might. It is visible at once.
    pub fn put_object(&self, url: &str, bytes: impl Into<Vec<u8>>) {
        let style = Style { stale_looks: 0, ..self.style(0) };
        self.objects.lock().put(url, Bytes::from(bytes.into()), None, style);
    }

    /// Removes an object, as another program might.
    pub fn remove_object(&self, url: &str) {
        self.objects.lock().objects.remove(url);
    }

    /// Returns the bytes of an object, if it exists.
    pub fn object(&self, url: &str) -> Option<Bytes> {
        self.objects.lock().objects.get(url).map(|object| object.bytes.clone())
    }

    /// Returns the number of requests of this kind so far.
    pub fn requests(&self, call: StoreCall) -> u64 {
        self.requests.lock().get(&call).copied().unwrap_or_default()
    }

    /// Returns the URLs of all objects, sorted.
    pub fn urls(&self) -> Vec<PathBuf> {
        self.objects.lock().objects.keys().map(PathBuf::from).collect()
    }

    /// Lets `change` modify the parts of all uploads to this URL, as another program might.
    pub fn change_parts(&self, url: &str, mut change: impl FnMut(&mut BTreeMap<u32, Bytes>)) {
        let mut objects = self.objects.lock();
        let uploads = objects.uploads.iter().filter(|(_, upload)| upload.key == url);
        let uploads: Vec<String> = uploads.map(|(number, _)| number.clone()).collect();
        for upload in uploads {
            let before =
                std::mem::take(&mut objects.uploads.get_mut(&upload).expect("it is there").parts);
            let mut parts = before.iter().map(|(number, part)| (*number, part.0.clone())).collect();
            change(&mut parts);
            for (number, bytes) in parts {
                let same = before.get(&number).filter(|part| part.0 == bytes).cloned();
                match same {
                    Some(part) => {
                        let upload = objects.uploads.get_mut(&upload).expect("it is there");
                        upload.parts.insert(number, part);
                    }
                    None => {
                        let crc = crc32fast::hash(&bytes);
                        let put = objects.put_part(&upload, number, (bytes, crc), self.style(0));
                        put.expect("it is there");
                    }
                }
            }
        }
    }

    /// Aborts all uploads to this URL, as another program might.
    pub fn abort_uploads(&self, url: &str) {
        self.objects.lock().uploads.retain(|_, upload| upload.key != url);
    }

    /// Returns the number of uploads under way.
    pub fn uploads(&self) -> usize {
        self.objects.lock().uploads.len()
    }

    /// Returns the bytes of parts whose uploads are under way: they cost money and are invisible.
    pub fn upload_bytes(&self) -> u64 {
        let objects = self.objects.lock();
        let parts = objects.uploads.values().flat_map(|upload| upload.parts.values());
        parts.map(|(bytes, _, _)| bytes.len() as u64).sum()
    }

    /// Returns how a new object is tagged and seen.
    fn style(&self, place: u64) -> Style {
        let dice = self.options.hash(&(0x57, place));
        let stale_looks = if self.options.is_stale { (dice % 4) as u32 } else { 0 };
        let has_checksum =
            !matches!(self.options.trouble, Some(StoreTrouble::FlipBit | StoreTrouble::FlipWhole));
        Style {
            has_opaque_tags: self.options.has_opaque_tags,
            keeps_marks: self.options.keeps_marks,
            flips_whole: self.options.trouble == Some(StoreTrouble::FlipWhole),
            stale_looks,
            checksum: if has_checksum { (dice >> 8) % 3 } else { 0 },
        }
    }

    /// Returns a number for an object and one of its parts or ranges.
    fn place(&self, object: &Location, number: u64) -> u64 {
        self.options.hash(&(object, number))
    }

    /// Makes one request. It fails as the options say, before or after it was carried out.
    fn request<T>(
        &self,
        call: StoreCall,
        place: u64,
        done: impl FnOnce(&mut Objects, u32) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        *self.requests.lock().entry(call).or_default() += 1;
        let attempt = self.objects.lock().attempt(self.options.hash(&(call, place)));
        let delay = self.options.delay(call, place, attempt);
        if !delay.is_zero() {
            thread::sleep(delay);
        }
        match self.options.failure(call, place, attempt) {
            None => done(&mut self.objects.lock(), attempt),
            Some((reason, is_done)) => {
                if is_done {
                    let _ = done(&mut self.objects.lock(), attempt);
                }
                Err(Failure::new(reason, "simulated"))
            }
        }
    }

    /// Returns whether the store loses this part.
    fn loses(&self, place: u64) -> bool {
        use StoreTrouble::{CompleteWithoutPart, LosePart};
        matches!(self.options.trouble, Some(LosePart | CompleteWithoutPart))
            && self.options.hash(&(0x105e, place)).is_multiple_of(2)
    }

    /// Takes bytes as a store does: returns a copy if their checksum is right.
    fn take(&self, payload: &Payload) -> Result<Bytes, Failure> {
        if crc32fast::hash(&payload.bytes) != payload.crc {
            return Err(Failure::new(Reason::Cut, "400 BadDigest"));
        }
        let mut bytes = payload.bytes.to_vec();
        if let (Some(StoreTrouble::FlipBit), Some(byte)) = (self.options.trouble, bytes.last_mut())
        {
            *byte ^= 1;
        }
        Ok(bytes.into())
    }
}

impl Client for SimStore {
    fn head(&self, object: &Location, _stop: &Stop) -> Result<ObjectInfo, Failure> {
        self.request(StoreCall::Head, self.place(object, 0), |objects, _| {
            let seen = objects.seen(&object.text()).ok_or_else(no_object)?;
            let mut info = seen.info();
            if self.options.trouble == Some(StoreTrouble::ShortLength) {
                info.bytes /= 2;
            }
            Ok(info)
        })
    }

    fn get_range(
        &self,
        object: &Location,
        version: &Version,
        range: Range<u64>,
        _stop: &Stop,
    ) -> Result<RangeAnswer, Failure> {
        let place = self.place(object, range.start);
        self.request(StoreCall::GetRange, place, |objects, attempt| {
            let found = objects.objects.get(&object.text()).ok_or_else(no_object)?;
            if !found.info().version.agrees_with(version) {
                return Err(Failure::new(Reason::Changed, "412 PreconditionFailed"));
            }
            let all = &found.bytes;
            assert!(
                range.start < range.end && range.end <= all.len() as u64,
                "{range:?} is no range of {} bytes",
                all.len()
            );
            let bytes = all.slice(range.start as usize..range.end as usize);
            let dice = self.options.hash(&(0xb0d, place, attempt));
            let is_bad = share(dice) < self.options.bad_bodies;
            let names_version = found.info().version.is_surely(version);
            let whole_bytes = all.len() as u64;
            let body = Box::new(SimBody::new(bytes, dice, is_bad));
            Ok(RangeAnswer { body, names_version, whole_bytes })
        })
    }

    fn put(
        &self,
        object: &Location,
        payload: &Payload,
        mark: &str,
        is_new: bool,
        _stop: &Stop,
    ) -> Result<Receipt, Failure> {
        let place = self.place(object, 0);
        self.request(StoreCall::Put, place, |objects, _| {
            let key = object.text();
            if is_new && objects.objects.contains_key(&key) {
                return Err(Failure::new(Reason::Exists, "412 PreconditionFailed"));
            }
            Ok(objects.put(&key, self.take(payload)?, Some(mark), self.style(place)))
        })
    }

    fn create_multipart(&self, object: &Location, mark: &str) -> Result<String, Failure> {
        let place = self.place(object, 0);
        self.request(StoreCall::CreateMultipart, place, |objects, _| {
            Ok(objects.begin(&object.text(), mark))
        })
    }

    fn put_part(
        &self,
        object: &Location,
        upload: &str,
        number: u32,
        payload: &Payload,
        _stop: &Stop,
    ) -> Result<Receipt, Failure> {
        let place = self.place(object, u64::from(number));
        self.request(StoreCall::PutPart, place, |objects, _| {
            let bytes = (self.take(payload)?, payload.crc);
            let receipt = objects.put_part(upload, number, bytes, self.style(place))?;
            if self.loses(place)
                && let Some(upload) = objects.uploads.get_mut(upload)
            {
                upload.parts.remove(&number);
            }
            Ok(receipt)
        })
    }

    fn list_parts(&self, object: &Location, upload: &str) -> Result<Vec<ListedPart>, Failure> {
        let place = self.place(object, 2);
        self.request(StoreCall::ListParts, place, |objects, _| {
            objects.list_parts(upload, self.options.seed & 1 == 0)
        })
    }

    fn complete(
        &self,
        object: &Location,
        upload: &str,
        parts: &[Part],
        is_new: bool,
    ) -> Result<Receipt, Failure> {
        let place = self.place(object, 0);
        self.request(StoreCall::Complete, place, |objects, _| {
            if is_new && objects.objects.contains_key(&object.text()) {
                return Err(Failure::new(Reason::Exists, "412 PreconditionFailed"));
            }
            let is_lenient = self.options.trouble == Some(StoreTrouble::CompleteWithoutPart);
            let least = self.options.part_bytes_min;
            objects.complete(upload, parts, least, is_lenient, self.style(place))
        })
    }

    fn abort(&self, object: &Location, upload: &str) -> Result<(), Failure> {
        self.request(StoreCall::Abort, self.place(object, 0), |objects, _| {
            objects.uploads.remove(upload);
            Ok(())
        })
    }

    fn remove(&self, object: &Location, version: &Version) -> Result<(), Failure> {
        self.request(StoreCall::Remove, self.place(object, 0), |objects, _| {
            let key = object.text();
            match objects.objects.get(&key) {
                // Like S3, which reports success for a missing object.
                None => Ok(()),
                Some(there) if there.info().version.agrees_with(version) => {
                    objects.objects.remove(&key);
                    Ok(())
                }
                Some(_) => Err(Failure::new(Reason::Changed, "412 PreconditionFailed")),
            }
        })
    }

    fn list(
        &self,
        prefix: &Location,
        page: Option<&str>,
        _stop: &Stop,
    ) -> Result<ListedPage, Failure> {
        self.request(StoreCall::List, self.place(prefix, 0), |objects, _| {
            let begin = prefix.text();
            let bucket = prefix.with_key("").text();
            let after = page.map(|page| format!("{bucket}{page}"));
            let keys = objects.objects.keys().filter(|key| key.starts_with(&begin));
            let mut keys: Vec<String> =
                keys.filter(|key| Some(*key) > after.as_ref()).cloned().collect();
            let is_last = keys.len() <= PAGE_OBJECTS;
            keys.truncate(PAGE_OBJECTS);
            let next = keys.last().filter(|_| !is_last).map(|key| key[bucket.len()..].to_owned());
            let listed = keys.into_iter().filter_map(|key| {
                let object = objects.seen(&key)?;
                let (bytes, modified) = (object.bytes.len() as u64, Some(object.modified));
                Some(Listed { key: key[bucket.len()..].to_owned(), bytes, modified })
            });
            Ok(ListedPage { objects: listed.collect(), next })
        })
    }

    fn list_multipart(
        &self,
        prefix: &Location,
        _stop: &Stop,
    ) -> Result<Vec<ListedUpload>, Failure> {
        self.request(StoreCall::List, self.place(prefix, 1), |objects, _| {
            let begin = prefix.text();
            let bucket = prefix.with_key("").text();
            let uploads = objects.uploads.iter().filter(|(_, it)| it.key.starts_with(&begin));
            let listed = uploads.map(|(number, upload)| ListedUpload {
                key: upload.key[bucket.len()..].to_owned(),
                upload: number.clone(),
                begun: Some(upload.begun),
            });
            Ok(listed.collect())
        })
    }

    fn pause(&self, _pause: Duration, _stop: &Stop) {
        thread::yield_now();
    }

    fn describe(&self) -> String {
        "simulated store".to_owned()
    }
}

fn no_object() -> Failure {
    Failure::new(Reason::NoObject, "404 NoSuchKey")
}

/// An answer that arrives in pieces, and may be bad.
struct SimBody {
    pieces: VecDeque<Bytes>,
    is_cut: bool,
}

impl SimBody {
    fn new(mut bytes: Bytes, dice: u64, is_bad: bool) -> SimBody {
        let mut is_cut = false;
        if is_bad {
            let some = (dice >> 16) as usize % (bytes.len() + 1);
            match dice % 3 {
                0 => (bytes, is_cut) = (bytes.slice(..some), true),
                1 => bytes = bytes.slice(..some),
                _ => bytes = [&bytes[..], &[7; 100]].concat().into(),
            }
        }
        let piece = 1 + (dice >> 24) as usize % 20_000;
        let mut pieces = VecDeque::new();
        while !bytes.is_empty() {
            pieces.push_back(bytes.split_to(piece.min(bytes.len())));
        }
        SimBody { pieces, is_cut }
    }
}

impl Body for SimBody {
    fn next(&mut self, _stop: &Stop) -> Result<Option<Bytes>, Failure> {
        match self.pieces.pop_front() {
            None if self.is_cut => Err(Failure::new(Reason::Cut, "simulated")),
            piece => Ok(piece),
        }
    }
}
