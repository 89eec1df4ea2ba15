//! The requests of S3, most of which Google's stores and some of which any web server supports.
//! Azure's differing requests are in `az/blobs`.
//!
//! ```text
//!            where           authorised by   checksum of bytes       only if there is none
//!  s3://     s3/aws          a signature     CRC-32 (x-amz-...)      If-None-Match: *
//!  gs://     gs              a token         CRC-32C (x-goog-hash)   x-goog-if-generation-match
//!                                                                    (of uploads: a look before)
//!  az://     az/azure        a signature,    Content-MD5             If-None-Match: *
//!                            or a token
//!  https://  the URL itself  nothing         -                       -
//! ```

use crate::az::{AZURE_MARK, Azure, Blobs, no_uploads};
use crate::client::{
    Body, Checksums, Client, Listed, ListedPage, ListedPart, ListedUpload, ObjectInfo, Part,
    Payload, RangeAnswer, Receipt, Version,
};
use crate::environment::Environment;
use crate::failure::{Failure, Reason};
use crate::gs::Google;
use crate::list_check::untrusted;
use crate::location::{Location, Scheme};
use crate::requests::answer::{
    ContentRange, content_range, failure_of, header, length, no_length, other_length, refused,
};
use crate::requests::ask::{Ask, GENERATION_MATCH, conditions, request, web_url};
use crate::requests::encode;
use crate::requests::exchange::Exchange;
use crate::requests::redirect::{redirected, region};
use crate::requests::stored::{checksums, stored};
use crate::requests::transport::{SharedTransport, Transport, chain};
use crate::requests::xml::{self, Begun, Completed, ObjectPage, PartPage, PartThere, UploadPage};
use crate::s3::Aws;
use crate::stop::Stop;
use bytes::Bytes;
use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use object_store::aws::AwsAuthorizer;
use object_store::client::{HttpRequest, HttpResponse, HttpResponseBody};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use xsort_disk::Error;

/// The header with a part's checksum, which S3 compares.
const CHECKSUM: &str = "x-amz-checksum-crc32";
/// The header with a part's checksum for Google, which uses another polynomial.
const GOOGLE_CHECKSUM: &str = "x-goog-hash";
/// The metadata header that marks an object: first S3's, then Google's.
const MARK: &str = "x-amz-meta-xsort-upload";
const GOOGLE_MARK: &str = "x-goog-meta-xsort-upload";

/// How long the answer to a part is awaited after it is no longer needed: if the store takes a part
/// after it has dropped the upload, it may keep it.
const PART_PATIENCE: Duration = Duration::from_secs(2);

/// S3 and other stores with its interface, Google's, Azure's, and all web servers.
pub(crate) struct Stores {
    transport: SharedTransport,
    environment: Environment,
    aws: OnceLock<Aws>,
    google: OnceLock<Google>,
    azure: OnceLock<Azure>,
    loading: Mutex<()>,
    /// The region of each bucket that isn't in the default one.
    regions: Mutex<HashMap<String, String>>,
    /// False if a store rejects checksum headers.
    knows_checksums: AtomicBool,
}

impl Stores {
    /// Starts HTTP for requests that are tried for `give_up_after`. Looks for credentials only when
    /// they are needed.
    pub(crate) fn connect(
        environment: Environment,
        give_up_after: Duration,
    ) -> Result<Stores, Error> {
        Ok(Stores {
            transport: Arc::new(Transport::new(give_up_after)?),
            environment,
            aws: OnceLock::new(),
            google: OnceLock::new(),
            azure: OnceLock::new(),
            loading: Mutex::new(()),
            regions: Mutex::default(),
            knows_checksums: AtomicBool::new(true),
        })
    }

    /// Returns what `place` holds; loads it first if it is empty, one thread at a time.
    fn loaded<'s, T>(
        &'s self,
        place: &'s OnceLock<T>,
        load: fn(&Environment, &Transport) -> Result<T, Failure>,
    ) -> Result<&'s T, Failure> {
        let _one_at_a_time = self.loading.lock();
        if let Some(there) = place.get() {
            return Ok(there);
        }
        let new = load(&self.environment, &self.transport)?;
        Ok(place.get_or_init(|| new))
    }

    fn send_to_google(&self, ask: &Ask<'_>) -> Result<HttpResponse, Failure> {
        let google = self.loaded(&self.google, Google::load)?;
        let path = encode::path(&ask.object.key) + &encode::query(ask.query);
        let mut request = request(&google.url(&ask.object.bucket, &path), ask)?;
        google.authorise(&mut request, &self.transport)?;
        // Otherwise objects marked as compressed would be sent decompressed, and without ranges.
        accept(&mut request, if ask.query.is_empty() { "gzip" } else { "identity" });
        let answer = self.transport.exchange(request, ask.stop)?;
        self.answer(ask, answer).map_err(|(failure, _)| denied(failure, google.kind()))
    }

    fn send_to_azure(&self, ask: &Ask<'_>) -> Result<HttpResponse, Failure> {
        let azure = self.loaded(&self.azure, Azure::load)?;
        let path = encode::path(&ask.object.key) + &encode::query(ask.query);
        let mut request = request(&azure.url(&ask.object.bucket, &path), ask)?;
        azure.authorise(&mut request, &self.transport)?;
        accept(&mut request, "identity");
        let answer = self.transport.exchange(request, ask.stop)?;
        self.answer(ask, answer).map_err(|(failure, _)| denied(failure, azure.kind()))
    }

    fn send_to_s3(&self, ask: &Ask<'_>) -> Result<HttpResponse, Failure> {
        let aws = self.loaded(&self.aws, Aws::load)?;
        let bucket = &ask.object.bucket;
        let path = encode::path(&ask.object.key) + &encode::query(ask.query);
        let known = self.regions.lock().get(bucket).cloned();
        let mut region = known.unwrap_or_else(|| aws.region().to_owned());
        let mut redirected = false;
        loop {
            let mut request = request(&aws.url(&region, bucket, &path), ask)?;
            self.sign(&mut request, aws, &region)?;
            // Not signed, because proxies change it.
            accept(&mut request, "identity");
            let answer = self.transport.exchange(request, ask.stop)?;
            match self.answer(ask, answer) {
                Ok(answer) => return Ok(answer),
                Err((_, Some(other))) if other != region && !redirected => {
                    self.regions.lock().insert(bucket.clone(), other.clone());
                    (region, redirected) = (other, true);
                }
                Err((failure, _)) => return Err(denied(failure, aws.kind())),
            }
        }
    }

    fn sign(&self, request: &mut HttpRequest, aws: &Aws, region: &str) -> Result<(), Failure> {
        let credential = aws.credential(&self.transport)?;
        // Parts have a checksum, and TLS protects the rest.
        let has_payload = request.headers().contains_key(CHECKSUM);
        AwsAuthorizer::new(&credential, "s3", region)
            .with_sign_payload(!has_payload)
            .try_authorize(request, None)
            .map_err(|error| Failure::new(Reason::Unusable, chain(&error)))
    }

    /// Returns a successful answer, or its failure and the region that the bucket is in.
    fn answer(
        &self,
        ask: &Ask<'_>,
        answer: HttpResponse,
    ) -> Result<HttpResponse, (Failure, Option<String>)> {
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        // If the body is lost, the status is enough.
        let body = self.transport.all(body).unwrap_or_default();
        let region = region(&parts.headers, &body);
        let mut no = failure_of(ask, parts.status, &parts.headers, &body);
        if parts.status.is_redirection() {
            no = redirected(parts.status, &parts.headers, region.as_deref());
        }
        let had_checksum = ask.headers.iter().any(|(name, _)| name.starts_with("x-amz-checksum"));
        if parts.status == StatusCode::NOT_IMPLEMENTED && had_checksum {
            self.knows_checksums.store(false, Ordering::Relaxed);
            no.reason = Reason::Unavailable;
        }
        Err((no, region))
    }

    /// Returns the headers for a payload.
    fn payload_headers(&self, object: &Location, payload: &Payload) -> Vec<(&'static str, String)> {
        if object.scheme == Scheme::Gs {
            let crc = crc32c::crc32c(&payload.bytes);
            return vec![(GOOGLE_CHECKSUM, format!("crc32c={}", encode::checksum(crc)))];
        }
        if self.knows_checksums.load(Ordering::Relaxed) {
            vec![(CHECKSUM, encode::checksum(payload.crc))]
        } else {
            Vec::new()
        }
    }

    /// Removes one of Google's objects. The condition for that is a generation number, not a tag.
    fn remove_generation(&self, object: &Location, opened: &Version) -> Result<(), Failure> {
        let stop = Stop::default();
        let there = self.send(&Ask::new(Method::HEAD, object, &stop))?;
        let generation = header(there.headers(), "x-goog-generation");
        if !version(there.headers()).agrees_with(opened) {
            return Err(Failure::new(Reason::Changed, ""));
        }
        let condition = generation.map(|number| (GENERATION_MATCH, number.to_owned()));
        let headers = condition.into_iter().collect();
        self.send(&Ask::new(Method::DELETE, object, &stop).with_headers(headers)).map(drop)
    }

    /// Makes a HEAD request that includes the checksum that S3 keeps.
    fn ask_head(&self, object: &Location, stop: &Stop) -> Result<HttpResponse, Failure> {
        let ask = || Ask::new(Method::HEAD, object, stop);
        if object.scheme != Scheme::S3 || !self.knows_checksums.load(Ordering::Relaxed) {
            return self.send(&ask());
        }
        let headers = vec![("x-amz-checksum-mode", "ENABLED".to_owned())];
        match self.send(&ask().with_headers(headers)) {
            // For encrypted objects the store returns it only to users who may decrypt.
            Err(failure) if failure.reason == Reason::Denied => self.send(&ask()),
            answer => answer,
        }
    }

    /// Requests an object's information with GET. `refused` is the failure of HEAD; the failure of
    /// GET has a reason.
    fn look_again(
        &self,
        object: &Location,
        stop: &Stop,
        refused: Failure,
    ) -> Result<ObjectInfo, Failure> {
        match self.first_byte(object, stop)? {
            Some(headers) => {
                let bytes = content_range(&headers).map_or(length(&headers), |range| range.whole);
                info(object.scheme, bytes.ok_or(refused)?, &headers)
            }
            None => Err(refused),
        }
    }

    /// Checks an object that is empty according to HEAD, which some servers return for every
    /// object. If GET agrees, returns `empty`.
    fn look_at_empty(
        &self,
        object: &Location,
        stop: &Stop,
        empty: ObjectInfo,
    ) -> Result<ObjectInfo, Failure> {
        let Some(headers) = self.first_byte(object, stop)? else { return Ok(empty) };
        match content_range(&headers).map_or(length(&headers), |range| range.whole) {
            Some(0) => Ok(empty),
            Some(bytes) => Err(other_length(0, bytes)),
            None => Err(no_length()),
        }
    }

    /// Returns the headers of an answer with at most the first byte of an object; `None` if it is
    /// empty.
    fn first_byte(&self, object: &Location, stop: &Stop) -> Result<Option<HeaderMap>, Failure> {
        let headers = vec![("range", "bytes=0-0".to_owned())];
        match self.send(&Ask::new(Method::GET, object, stop).with_headers(headers)) {
            Ok(answer) => Ok(Some(answer.headers().clone())),
            // Beyond the end of an empty object.
            Err(failure) if failure.reason == Reason::Changed => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// Sets the encoding in which bytes are requested: unchanged, so that lengths and offsets are
/// right.
fn accept(request: &mut HttpRequest, encoding: &'static str) {
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
}

/// Returns the name of the header with an object's mark.
fn mark_name(object: &Location) -> &'static str {
    match object.scheme {
        Scheme::Gs => GOOGLE_MARK,
        Scheme::Az => AZURE_MARK,
        _ => MARK,
    }
}

/// Adds the source of the credentials to a refusal.
fn denied(failure: Failure, kind: &str) -> Failure {
    match failure.reason {
        Reason::Denied => {
            let text = format!("{} (credentials from {kind})", failure.detail);
            Failure::new(Reason::Denied, text)
        }
        _ => failure,
    }
}

/// Returns the version in an answer's headers.
fn version(headers: &HeaderMap) -> Version {
    let text = |name| header(headers, name).map(str::to_owned);
    Version { etag: text("etag"), modified: text("last-modified") }
}

/// Returns whether an answer distinguishes its version from later ones: by a tag, or by a time of
/// writing that had passed when the server answered. Times have whole seconds.
fn is_distinct(headers: &HeaderMap) -> bool {
    let second = |name| rfc2822::parse(header(headers, name)?).ok().map(|it| it.timestamp());
    match (second("last-modified"), second("date")) {
        // Several versions may have the same weak tag.
        _ if header(headers, "etag").is_some_and(|etag| !etag.starts_with("W/")) => true,
        (Some(modified), Some(now)) => modified < now,
        (modified, _) => modified.is_some(),
    }
}

/// Returns an object's information from an answer.
fn info(scheme: Scheme, bytes: u64, headers: &HeaderMap) -> Result<ObjectInfo, Failure> {
    // An account of Azure's may have directories, which are not objects.
    if header(headers, "x-ms-meta-hdi_isfolder") == Some("true") {
        return Err(Failure::new(Reason::NoObject, "it is a directory"));
    }
    let is_page = header(headers, "content-type").is_some_and(|kind| kind.starts_with("text/html"));
    let is_store = !matches!(scheme, Scheme::Https | Scheme::Http);
    if is_store && is_page && !["etag", "last-modified"].iter().any(|it| headers.contains_key(*it))
    {
        let text = "a page of HTML came in place of the object, as a proxy answers that wants a \
                    sign-in: no store answers so";
        return Err(Failure::new(Reason::Denied, text));
    }
    let mark = [MARK, GOOGLE_MARK, AZURE_MARK].iter().find_map(|name| header(headers, name));
    let mark = mark.map(str::to_owned);
    let (is_distinct, checksums) = (is_distinct(headers), checksums(scheme, headers));
    Ok(ObjectInfo { bytes, version: version(headers), mark, is_distinct, checksums })
}

fn receipt(scheme: Scheme, headers: &HeaderMap) -> Receipt {
    let etag = header(headers, "etag").map(str::to_owned);
    Receipt { etag, checksums: checksums(scheme, headers) }
}

impl Exchange for Stores {
    fn send(&self, ask: &Ask<'_>) -> Result<HttpResponse, Failure> {
        match ask.object.scheme {
            Scheme::S3 => self.send_to_s3(ask),
            Scheme::Gs => self.send_to_google(ask),
            Scheme::Az => self.send_to_azure(ask),
            Scheme::Https | Scheme::Http => {
                let mut request = request(&web_url(ask.object), ask)?;
                accept(&mut request, "identity");
                let answer = self.transport.exchange_with_web(request, ask.stop)?;
                self.answer(ask, answer).map_err(|(failure, _)| failure)
            }
        }
    }

    fn transport(&self) -> &Transport {
        &self.transport
    }
}

impl Client for Stores {
    fn head(&self, object: &Location, stop: &Stop) -> Result<ObjectInfo, Failure> {
        let answer = match self.ask_head(object, stop) {
            Ok(answer) => answer,
            Err(failure) if failure.reason.is_passing() => return Err(failure),
            Err(failure) => return self.look_again(object, stop, failure),
        };
        let Some(bytes) = length(answer.headers()) else {
            return self.look_again(object, stop, no_length());
        };
        let info = info(object.scheme, bytes, answer.headers())?;
        if bytes == 0 { self.look_at_empty(object, stop, info) } else { Ok(info) }
    }

    fn get_range(
        &self,
        object: &Location,
        asked: &Version,
        range: Range<u64>,
        stop: &Stop,
    ) -> Result<RangeAnswer, Failure> {
        let mut headers = conditions(asked);
        headers.push(("range", format!("bytes={}-{}", range.start, range.end - 1)));
        let answer = self.send(&Ask::new(Method::GET, object, stop).with_headers(headers))?;
        let (parts, body) = answer.into_parts();
        let sent_version = version(&parts.headers);
        if !sent_version.agrees_with(asked) {
            return Err(Failure::new(Reason::Changed, sent_version.missing(asked)));
        }
        let sent = match parts.status {
            StatusCode::PARTIAL_CONTENT => content_range(&parts.headers),
            _ => length(&parts.headers).map(ContentRange::whole),
        };
        let whole_bytes = ContentRange::check(sent, &range)?;
        let names_version = sent_version.is_surely(asked);
        let body = Box::new(HttpBody { transport: Arc::clone(&self.transport), body });
        Ok(RangeAnswer { body, names_version, whole_bytes })
    }

    fn put(
        &self,
        object: &Location,
        payload: &Payload,
        mark: &str,
        is_new: bool,
        stop: &Stop,
    ) -> Result<Receipt, Failure> {
        if object.scheme == Scheme::Az {
            return Blobs(self).put(object, payload, mark, is_new, stop);
        }
        let mut headers = self.payload_headers(object, payload);
        headers.push((mark_name(object), mark.to_owned()));
        headers.extend(is_new.then(|| match object.scheme {
            Scheme::Gs => (GENERATION_MATCH, "0".to_owned()),
            _ => ("if-none-match", "*".to_owned()),
        }));
        let ask = Ask::new(Method::PUT, object, stop).with_headers(headers);
        let sent = self.send(&ask.with_body(payload.bytes.clone()));
        let answer = sent.map_err(|failure| refused(failure, is_new))?;
        Ok(receipt(object.scheme, answer.headers()))
    }

    fn create_multipart(&self, object: &Location, mark: &str) -> Result<String, Failure> {
        if !object.scheme.has_uploads() {
            // No request is needed: each block has it in its ID.
            return Ok(mark.to_owned());
        }
        let stop = Stop::default();
        let mut ask = Ask::new(Method::POST, object, &stop).with_query(&[("uploads", "")]);
        if object.scheme == Scheme::S3 && self.knows_checksums.load(Ordering::Relaxed) {
            ask.headers.push(("x-amz-checksum-algorithm", "CRC32".to_owned()));
        }
        ask.headers.push((mark_name(object), mark.to_owned()));
        let Begun { upload_id } = self.document(&ask)?;
        match upload_id.is_empty() {
            // Some stores would take a part without an upload for a whole object.
            true => Err(Failure::new(Reason::Unclear, "an upload without a number (UploadId)")),
            false => Ok(upload_id),
        }
    }

    fn put_part(
        &self,
        object: &Location,
        upload: &str,
        number: u32,
        payload: &Payload,
        stop: &Stop,
    ) -> Result<Receipt, Failure> {
        if object.scheme == Scheme::Az {
            return Blobs(self).put_part(object, upload, number, payload, stop);
        }
        let number = number.to_string();
        let query = [("partNumber", number.as_str()), ("uploadId", upload)];
        let headers = self.payload_headers(object, payload);
        let stop = &stop.patient(PART_PATIENCE);
        let ask = Ask::new(Method::PUT, object, stop).with_query(&query).with_headers(headers);
        let answer = self.send(&ask.with_body(payload.bytes.clone()))?;
        Ok(receipt(object.scheme, answer.headers()))
    }

    fn list_parts(&self, object: &Location, upload: &str) -> Result<Vec<ListedPart>, Failure> {
        if object.scheme == Scheme::Az {
            return Blobs(self).list_parts(object, upload);
        }
        let stop = Stop::default();
        let mut listed = Vec::new();
        let mut marker = String::new();
        loop {
            let query = [("uploadId", upload), ("part-number-marker", marker.as_str())];
            let query = if marker.is_empty() { &query[..1] } else { &query[..] };
            let ask = Ask::new(Method::GET, object, &stop).with_query(query);
            let page: PartPage = self.document(&ask).map_err(no_upload)?;
            page.check(&object.key, upload).map_err(untrusted)?;
            listed.extend(page.parts.into_iter().map(listed_part));
            let number = |marker: &str| marker.parse::<u32>().unwrap_or(0);
            // A page that says that there are more, but not from where, counts as the last one:
            // parts that aren't listed are sent again.
            if !page.is_truncated || number(&page.next_part_number_marker) <= number(&marker) {
                return Ok(listed);
            }
            marker = page.next_part_number_marker;
        }
    }

    fn complete(
        &self,
        object: &Location,
        upload: &str,
        parts: &[Part],
        is_new: bool,
    ) -> Result<Receipt, Failure> {
        if object.scheme == Scheme::Az {
            return Blobs(self).complete(object, upload, parts, is_new);
        }
        let (stop, query) = (Stop::default(), [("uploadId", upload)]);
        let mut ask = Ask::new(Method::POST, object, &stop).with_query(&query);
        let is_s3 = object.scheme == Scheme::S3;
        if is_new && !is_s3 {
            // Google has no conditions for uploads: another program may write in between.
            match self.head(object, &stop) {
                Ok(_) => return Err(Failure::new(Reason::Exists, "")),
                Err(failure) if failure.reason == Reason::NoObject => {}
                Err(failure) => return Err(failure),
            }
        }
        ask.headers.extend((is_new && is_s3).then(|| ("if-none-match", "*".to_owned())));
        let has_checksums = is_s3 && self.knows_checksums.load(Ordering::Relaxed);
        let ask = ask.with_body(xml::completion(parts, has_checksums));
        let completed = self.document_and_headers(&ask).map_err(no_upload);
        let completed = completed.map_err(|failure| refused(failure, is_new));
        let (Completed { etag, checksum_crc32 }, mut headers) = completed?;
        if let Some(tag) = etag.as_deref().and_then(|etag| etag.parse().ok()) {
            headers.insert("etag", tag);
        }
        let crc32 = checksum_crc32.as_deref().and_then(stored);
        let checksums = Checksums { crc32, ..checksums(object.scheme, &headers) };
        Ok(Receipt { etag, checksums })
    }

    fn abort(&self, object: &Location, upload: &str) -> Result<(), Failure> {
        if !object.scheme.has_uploads() {
            // Unused parts are invisible, and vanish after a week.
            return Ok(());
        }
        let (stop, query) = (Stop::default(), [("uploadId", upload)]);
        match self.send(&Ask::new(Method::DELETE, object, &stop).with_query(&query)) {
            Err(failure) if failure.reason != Reason::NoUpload => Err(failure),
            _ => Ok(()),
        }
    }

    fn remove(&self, object: &Location, version: &Version) -> Result<(), Failure> {
        if !object.scheme.is_store() {
            return Err(Failure::new(Reason::Unusable, "HTTP is for reading only"));
        }
        let stop = Stop::default();
        match object.scheme {
            Scheme::Gs => return self.remove_generation(object, version),
            Scheme::Az => return Blobs(self).remove(object, version),
            _ => {}
        }
        let ask = |headers| Ask::new(Method::DELETE, object, &stop).with_headers(headers);
        let conditions = conditions(version).into_iter().filter(|(name, _)| *name == "if-match");
        match self.send(&ask(conditions.collect())) {
            // The caller has checked a moment ago; this store can't do more.
            Err(failure) if failure.reason == Reason::Refused => self.send(&ask(Vec::new())),
            answer => answer,
        }
        .map(drop)
    }

    fn list(
        &self,
        prefix: &Location,
        page: Option<&str>,
        stop: &Stop,
    ) -> Result<ListedPage, Failure> {
        if prefix.scheme == Scheme::Az {
            return Blobs(self).list(prefix, page, stop);
        }
        let bucket = prefix.with_key("");
        let mut query = vec![("list-type", "2"), ("prefix", prefix.key.as_str())];
        query.extend(page.map(xml::page_parameter));
        let ask = Ask::new(Method::GET, &bucket, stop).with_query(&query);
        let mut sent: ObjectPage = self.document(&ask)?;
        sent.check((&prefix.bucket, &prefix.key), page).map_err(untrusted)?;
        let next = sent.next().map_err(untrusted)?;
        let objects = sent.contents.into_iter().map(|one| Listed {
            key: one.key,
            bytes: one.size,
            modified: seconds(&one.last_modified),
        });
        Ok(ListedPage { objects: objects.collect(), next })
    }

    fn list_multipart(&self, prefix: &Location, stop: &Stop) -> Result<Vec<ListedUpload>, Failure> {
        if !prefix.scheme.has_uploads() {
            return Err(no_uploads());
        }
        let bucket = prefix.with_key("");
        let mut listed = Vec::new();
        let mut markers = (String::new(), String::new());
        let mut seen = HashSet::from([markers.clone()]);
        loop {
            let query = [
                ("uploads", ""),
                ("prefix", prefix.key.as_str()),
                ("key-marker", markers.0.as_str()),
                ("upload-id-marker", markers.1.as_str()),
            ];
            let ask = Ask::new(Method::GET, &bucket, stop).with_query(&query);
            let page: UploadPage = self.document(&ask)?;
            page.check((&prefix.bucket, &prefix.key), &markers.0).map_err(untrusted)?;
            listed.extend(page.uploads.into_iter().map(|one| ListedUpload {
                begun: seconds(&one.initiated),
                key: one.key,
                upload: one.upload_id,
            }));
            if !page.is_truncated {
                return Ok(listed);
            }
            let next = (page.next_key_marker, page.next_upload_id_marker);
            if !seen.insert(next.clone()) {
                return Err(untrusted("there is more of it, and it doesn't say from where"));
            }
            markers = next;
        }
    }

    fn pause(&self, pause: Duration, stop: &Stop) {
        self.transport.pause(pause, stop);
    }

    fn describe(&self) -> String {
        "objects over HTTP".to_owned()
    }
}

/// Returns the seconds since 1970 for a time in a list.
fn seconds(time: &str) -> Option<i64> {
    time.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

/// In a request about an upload, a missing object means a missing upload, whatever the store calls
/// it.
fn no_upload(failure: Failure) -> Failure {
    match failure.reason {
        Reason::NoObject => Failure::new(Reason::NoUpload, failure.detail),
        _ => failure,
    }
}

fn listed_part(part: PartThere) -> ListedPart {
    let PartThere { number, etag, size, checksum_crc32 } = part;
    let crc = checksum_crc32.as_deref().and_then(encode::parse_checksum);
    ListedPart { number, bytes: size, etag, crc }
}

/// The body of an answer over HTTP.
struct HttpBody {
    transport: SharedTransport,
    body: HttpResponseBody,
}

impl Body for HttpBody {
    fn next(&mut self, stop: &Stop) -> Result<Option<Bytes>, Failure> {
        self.transport.next(&mut self.body, stop)
    }
}
