//! A store that a process reaches only for a limited number of requests. After that the process is
//! dead from the store's point of view. The last request may still be carried out.

use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xsort_objects::{
    Client, Failure, ListedPage, ListedPart, ListedUpload, Location, ObjectInfo, Part, Payload,
    RangeAnswer, Reason, Receipt, SimStore, Stop, Version,
};

/// The parts that were sent to uploads, as the sender knows them.
pub(crate) type Sent = Arc<Mutex<HashMap<(String, u32), ListedPart>>>;

/// One process's view of a store.
pub(crate) struct Mortal {
    store: Arc<SimStore>,
    left: AtomicU64,
    is_last_done: bool,
    /// Number of parts that were sent.
    pub(crate) parts_sent: AtomicUsize,
    /// If set, the process doesn't list the store's parts but trusts this record.
    believes: Option<Sent>,
    /// Another process completes each upload a moment earlier.
    is_overtaken: bool,
}

impl Mortal {
    pub(crate) fn new(store: &Arc<SimStore>, requests: u64) -> Mortal {
        Mortal {
            store: Arc::clone(store),
            left: AtomicU64::new(requests),
            is_last_done: requests.is_multiple_of(2),
            parts_sent: AtomicUsize::new(0),
            believes: None,
            is_overtaken: false,
        }
    }

    pub(crate) fn believing(self, sent: &Sent) -> Mortal {
        Mortal { believes: Some(Arc::clone(sent)), ..self }
    }

    pub(crate) fn overtaken(self) -> Mortal {
        Mortal { is_overtaken: true, ..self }
    }

    fn request<T>(&self, done: impl FnOnce(&SimStore) -> Result<T, Failure>) -> Result<T, Failure> {
        let less = |left: u64| left.checked_sub(1);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(1..) if self.left.load(Ordering::Relaxed) > 0 => done(&self.store),
            Ok(_) => {
                if self.is_last_done {
                    let _ = done(&self.store);
                }
                Err(Failure::new(Reason::Stopped, "the process is dead"))
            }
            Err(_) => Err(Failure::new(Reason::Stopped, "the process is dead")),
        }
    }
}

impl Client for Mortal {
    fn head(&self, object: &Location, stop: &Stop) -> Result<ObjectInfo, Failure> {
        self.request(|store| store.head(object, stop))
    }

    fn get_range(
        &self,
        object: &Location,
        version: &Version,
        range: Range<u64>,
        stop: &Stop,
    ) -> Result<RangeAnswer, Failure> {
        self.request(|store| store.get_range(object, version, range, stop))
    }

    fn put(
        &self,
        object: &Location,
        payload: &Payload,
        mark: &str,
        is_new: bool,
        stop: &Stop,
    ) -> Result<Receipt, Failure> {
        self.request(|store| store.put(object, payload, mark, is_new, stop))
    }

    fn create_multipart(&self, object: &Location, mark: &str) -> Result<String, Failure> {
        self.request(|store| store.create_multipart(object, mark))
    }

    fn put_part(
        &self,
        object: &Location,
        upload: &str,
        number: u32,
        payload: &Payload,
        stop: &Stop,
    ) -> Result<Receipt, Failure> {
        self.parts_sent.fetch_add(1, Ordering::Relaxed);
        let receipt =
            self.request(|store| store.put_part(object, upload, number, payload, stop))?;
        if let Some(sent) = &self.believes {
            let (bytes, etag) = (payload.bytes.len() as u64, receipt.etag.clone().unwrap());
            let part = ListedPart { number, bytes, etag, crc: Some(payload.crc) };
            sent.lock().unwrap().insert((upload.to_owned(), number), part);
        }
        Ok(receipt)
    }

    fn list_parts(&self, object: &Location, upload: &str) -> Result<Vec<ListedPart>, Failure> {
        let Some(sent) = &self.believes else {
            return self.request(|store| store.list_parts(object, upload));
        };
        let sent = sent.lock().unwrap();
        let parts = sent.iter().filter(|((of, _), _)| of == upload);
        Ok(parts.map(|(_, part)| part.clone()).collect())
    }

    fn complete(
        &self,
        object: &Location,
        upload: &str,
        parts: &[Part],
        is_new: bool,
    ) -> Result<Receipt, Failure> {
        if self.is_overtaken {
            self.store.complete(object, upload, parts, is_new)?;
        }
        self.request(|store| store.complete(object, upload, parts, is_new))
    }

    fn abort(&self, object: &Location, upload: &str) -> Result<(), Failure> {
        self.request(|store| store.abort(object, upload))
    }

    fn remove(&self, object: &Location, version: &Version) -> Result<(), Failure> {
        self.request(|store| store.remove(object, version))
    }

    fn list(
        &self,
        prefix: &Location,
        page: Option<&str>,
        stop: &Stop,
    ) -> Result<ListedPage, Failure> {
        self.request(|store| store.list(prefix, page, stop))
    }

    fn list_multipart(&self, prefix: &Location, stop: &Stop) -> Result<Vec<ListedUpload>, Failure> {
        self.request(|store| store.list_multipart(prefix, stop))
    }

    fn pause(&self, pause: Duration, stop: &Stop) {
        self.store.pause(pause, stop);
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}

/// Returns a part in which every byte differs.
pub(crate) fn inverted(bytes: &Bytes) -> Bytes {
    bytes.iter().map(|byte| !byte).collect()
}
