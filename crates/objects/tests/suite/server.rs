//! An HTTP server with the parts of S3, of Google's stores and of Azure's that the client uses, on
//! top of a simulated store. It checks signatures independently, following Amazon's description.

#[allow(clippy::duplicate_mod, reason = "the tests of the program have only this one of it")]
#[path = "../../examples/s3_server/server/head.rs"]
mod head;

#[path = "azure_server.rs"]
pub(crate) mod azure;

use azure::Blocks;
use head::Head;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use xsort_objects::{
    Client, Failure, Location, ObjectInfo, Part, Payload, Reason, Receipt, Scheme, SimStore, Stop,
    Version,
};

/// The credentials of the server's only user.
pub(crate) const KEY_ID: &str = "AKIDTEST";
pub(crate) const SECRET: &str = "a secret/with+letters";
/// The bucket, and the one for readers without credentials.
pub(crate) const BUCKET: &str = "bucket";
pub(crate) const PUBLIC: &str = "public";

/// The token of Google's users.
pub(crate) const TOKEN: &str = "ya29.a-token";

const MARK: &str = "x-amz-meta-xsort-upload";
const GOOGLE_MARK: &str = "x-goog-meta-xsort-upload";

/// A request as it arrived.
pub(crate) struct Asked {
    head: Head,
    pub(crate) body: Vec<u8>,
    /// Number of earlier requests.
    pub(crate) number: usize,
    /// Whether a bit of the request was flipped.
    is_damaged: bool,
}

impl Deref for Asked {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

/// A fault of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wrong {
    Nothing,
    /// Refuses the request, with a status and a code.
    Refuse(u16, &'static str),
    /// Refuses the request, with a status and a header's name and value.
    RefuseWith(u16, &'static str, String),
    /// Doesn't carry out the request. Answers with status 200 and this body.
    Say(String),
    /// Carries out the request. Answers with this body.
    DoneAndSay(&'static str),
    /// Carries out the request. The connection ends without an answer.
    NoAnswer,
    /// The connection ends after this many bytes of the body.
    CutAfter(usize),
    /// Ignores ranges.
    NoRanges,
    /// HEAD returns this length.
    HeadSays(u64),
    /// Replaces the values of headers in the answer. An empty value removes the header.
    Says(&'static [(&'static str, &'static str)]),
    /// Flips a bit of the sent data before the store has it. The store compares no checksums, not
    /// even of the parts of a completion.
    FlipSent,
    /// Flips a bit of the answer's body.
    FlipAnswer,
}

type Decide = Box<dyn Fn(&Asked) -> Wrong + Send + Sync>;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    store: Arc<SimStore>,
    decide: Decide,
    /// Methods and targets of all requests.
    seen: Mutex<Vec<String>>,
    /// The blocks of Azure's names.
    blocks: Mutex<BTreeMap<String, Blocks>>,
    is_over: AtomicBool,
}

impl Server {
    pub(crate) fn start(
        store: &Arc<SimStore>,
        decide: impl Fn(&Asked) -> Wrong + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            store: Arc::clone(store),
            decide: Box::new(decide),
            seen: Mutex::default(),
            blocks: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let accept = move || {
            for stream in listener.incoming() {
                if accepting.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let (shared, stream) = (Arc::clone(&accepting), stream.unwrap());
                thread::spawn(move || shared.serve(&stream));
            }
        };
        Server { address, shared, acceptor: Some(thread::spawn(accept)) }
    }

    /// Lets `change` modify the blocks of a name, as another program might.
    pub(crate) fn change_blocks(&self, url: &str, change: impl FnOnce(&mut Blocks)) {
        change(self.shared.blocks.lock().unwrap().entry(url.to_owned()).or_default());
    }

    /// Returns the methods and targets of all requests so far.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        self.acceptor.take().unwrap().join().unwrap();
    }
}

/// An answer.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), body: Vec::new() }
    }

    fn xml(body: &str) -> Answer {
        let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}").into_bytes();
        Answer { body, ..Answer::new(200) }
    }

    fn error(status: u16, code: &str) -> Answer {
        let text =
            format!("<Error><Code>{code}</Code><Message>The message of {code}</Message></Error>");
        Answer { status, ..Answer::xml(&text) }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    /// Applies a fault to an answer.
    fn go_wrong(&mut self, wrong: &Wrong, method: &str) {
        let mut set = |changed: &'static str, value: &str| {
            self.headers.retain(|(name, _)| *name != changed);
            self.headers.extend((!value.is_empty()).then(|| (changed, value.to_owned())));
        };
        match wrong {
            Wrong::HeadSays(bytes) if method == "HEAD" => set("content-length", &bytes.to_string()),
            Wrong::Says(headers) => headers.iter().for_each(|(name, value)| set(name, value)),
            Wrong::FlipAnswer => self.body.iter_mut().take(1).for_each(|byte| *byte ^= 1),
            _ => {}
        }
    }
}

impl Shared {
    /// Serves one connection until it ends.
    fn serve(&self, stream: &TcpStream) {
        // An answer's body doesn't wait until its head is acknowledged.
        let _ = stream.set_nodelay(true);
        let mut reader = BufReader::new(stream);
        while let Some(asked) = self.read(&mut reader) {
            let wrong = (self.decide)(&asked);
            let mut answer = match &wrong {
                Wrong::Refuse(status, code) => Answer::error(*status, code),
                Wrong::RefuseWith(status, header, value) => {
                    Answer::error(*status, "Refused").with(header, value.as_str())
                }
                Wrong::Say(body) => Answer { body: body.clone().into_bytes(), ..Answer::new(200) },
                Wrong::DoneAndSay(body) => Answer { body: (*body).into(), ..self.answer(&asked) },
                Wrong::NoRanges => self.answer(&asked.without_range()),
                Wrong::FlipSent => self.answer(&asked.damaged()),
                _ => self.answer(&asked),
            };
            answer.go_wrong(&wrong, &asked.method);
            if wrong == Wrong::NoAnswer {
                return;
            }
            if !answer.headers.iter().any(|(name, _)| *name == "content-length") {
                let length = answer.body.len().to_string();
                answer = answer.with("content-length", length);
            }
            if asked.method == "HEAD" {
                answer.body.clear();
            }
            if let Wrong::CutAfter(bytes) = wrong {
                answer.body.truncate(bytes);
                let _ = write_answer(stream, &answer);
                return;
            }
            if write_answer(stream, &answer).is_err() {
                return;
            }
        }
    }

    fn read(&self, reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
        let head = Head::read(&mut *reader).ok()??;
        let length = head.header("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut seen = self.seen.lock().unwrap();
        let number = seen.len();
        seen.push(format!("{} {}", head.method, head.target));
        Some(Asked { head, body, number, is_damaged: false })
    }

    fn answer(&self, asked: &Asked) -> Answer {
        if asked.path == azure::IDENTITY {
            return azure::token(asked);
        }
        if asked.is_azures() {
            return self.answer_as_azure(asked);
        }
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        let path = path.strip_prefix('/').unwrap();
        let bucket = path.split('/').next().unwrap();
        if bucket != PUBLIC {
            if asked.is_googles() {
                if asked.headers["authorization"] != format!("Bearer {TOKEN}") {
                    return Answer::error(401, "AuthenticationRequired");
                }
                assert!(!asked.headers.keys().any(|name| name.starts_with("x-amz-")));
            } else if let Err(code) = check_signature(asked, path, query) {
                return Answer::error(403, code);
            }
            if bucket != BUCKET {
                return Answer::error(404, "NoSuchBucket");
            }
        }
        let key = asked.path[1..].split_once('/').map_or("", |(_, key)| key);
        let object = Location { scheme: Scheme::S3, bucket: bucket.to_owned(), key: key.into() };
        self.dispatch(asked, &object).unwrap_or_else(|failure| {
            let status = match failure.reason {
                Reason::NoObject | Reason::NoUpload => 404,
                Reason::Changed | Reason::Exists => 412,
                _ => 400,
            };
            let code = failure.detail.split(' ').nth(1).unwrap_or("InternalError").to_owned();
            Answer::error(status, &code)
        })
    }

    fn dispatch(&self, asked: &Asked, object: &Location) -> Result<Answer, Failure> {
        let stop = Stop::default();
        let (has, value) = (|name| asked.has(name), |name| asked.value(name));
        let header = |name| asked.header(name);
        let is_google = asked.is_googles();
        let mark = if is_google { GOOGLE_MARK } else { MARK };
        let is_new = match is_google {
            true => header("x-goog-if-generation-match") == Some("0"),
            false => header("if-none-match") == Some("*"),
        };
        match asked.method.as_str() {
            "GET" if has("list-type") => {
                self.list(object, value("prefix"), value("continuation-token"))
            }
            "GET" if has("uploads") => {
                self.list_uploads(object, value("prefix"), value("key-marker"))
            }
            "GET" if has("uploadId") => {
                self.list_parts(object, value("uploadId"), value("part-number-marker"))
            }
            "GET" | "HEAD" => self.get(asked, object),
            "PUT" if has("uploadId") => {
                let number = value("partNumber").parse().unwrap();
                let payload = payload(asked)?;
                let receipt =
                    self.store.put_part(object, value("uploadId"), number, &payload, &stop)?;
                Ok(taken(&receipt))
            }
            "PUT" => {
                let (payload, mark) = (payload(asked)?, header(mark).unwrap());
                Ok(taken(&self.store.put(object, &payload, mark, is_new, &stop)?))
            }
            "POST" if has("uploads") => {
                let algorithm = if is_google { None } else { Some("CRC32") };
                assert_eq!(header("x-amz-checksum-algorithm"), algorithm);
                let number = self.store.create_multipart(object, header(mark).unwrap())?;
                Ok(Answer::xml(&format!(
                    "<InitiateMultipartUploadResult \
                     xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                     <UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
                )))
            }
            "POST" => self.complete(asked, object, value("uploadId"), is_new),
            "DELETE" if has("uploadId") => {
                self.store.abort(object, value("uploadId"))?;
                Ok(Answer::new(204))
            }
            "DELETE" => self.remove(asked, object),
            method => panic!("{method} of {object}"),
        }
    }

    fn get(&self, asked: &Asked, object: &Location) -> Result<Answer, Failure> {
        let ObjectInfo { bytes, version, mark, .. } = self.store.head(object, &Stop::default())?;
        let etag = version.etag.clone().unwrap();
        if asked.headers.get("if-match").is_some_and(|wanted| *wanted != etag) {
            return Ok(Answer::error(412, "PreconditionFailed"));
        }
        let mark_name = match () {
            () if asked.is_azures() => azure::MARK,
            () if asked.is_googles() => GOOGLE_MARK,
            () => MARK,
        };
        let described = |status| {
            Answer::new(status)
                .with("etag", etag.clone())
                .with("last-modified", version.modified.clone().unwrap())
                .with(mark_name, mark.clone().unwrap_or_default())
                .with("x-goog-generation", generation(&version))
        };
        // Google sends compressed objects unchanged only to clients that accept them compressed.
        let accepted = &*asked.headers["accept-encoding"];
        assert!(accepted == "identity" && !asked.is_googles() || accepted == "gzip");
        if asked.method == "HEAD" {
            return Ok(described(200).with("content-length", bytes.to_string()));
        }
        let range = asked.headers.get("range").map(|range| {
            let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            (first.parse::<u64>().unwrap(), last.parse::<u64>().unwrap() + 1)
        });
        let (start, end) = range.unwrap_or((0, bytes));
        if start >= end.min(bytes) && bytes > 0 || range.is_some() && bytes == 0 {
            return Ok(Answer::error(416, "InvalidRange"));
        }
        let end = end.min(bytes);
        let mut all = Vec::new();
        if end > start {
            let stop = Stop::default();
            let mut body = self.store.get_range(object, &version, start..end, &stop)?.body;
            while let Some(piece) = body.next(&stop)? {
                all.extend_from_slice(&piece);
            }
        }
        let answer = match range {
            None => described(200),
            Some(_) => {
                described(206).with("content-range", format!("bytes {start}-{}/{bytes}", end - 1))
            }
        };
        Ok(Answer { body: all, ..answer })
    }

    fn list(&self, bucket: &Location, prefix: &str, page: &str) -> Result<Answer, Failure> {
        let page = Some(page).filter(|page| !page.is_empty());
        let listed = self.store.list(&bucket.with_key(prefix), page, &Stop::default())?;
        let mut text = format!(
            "<ListBucketResult><Name>{}</Name><Prefix>{}</Prefix><ContinuationToken>{}\
             </ContinuationToken>",
            bucket.bucket,
            escape(prefix),
            escape(page.unwrap_or_default())
        );
        for one in &listed.objects {
            let key = escape(&one.key);
            let modified = jiff::Timestamp::from_second(one.modified.unwrap()).unwrap();
            let _ = write!(
                text,
                "<Contents><Key>{key}</Key><LastModified>{modified}</LastModified>\
                 <Size>{}</Size></Contents>",
                one.bytes
            );
        }
        let _ = write!(text, "<IsTruncated>{}</IsTruncated>", listed.next.is_some());
        if let Some(token) = listed.next.as_deref().map(escape) {
            let _ = write!(text, "<NextContinuationToken>{token}</NextContinuationToken>");
        }
        Ok(Answer::xml(&(text + "</ListBucketResult>")))
    }

    /// Lists uploads, one on each page.
    fn list_uploads(
        &self,
        bucket: &Location,
        prefix: &str,
        after: &str,
    ) -> Result<Answer, Failure> {
        let mut listed = self.store.list_multipart(&bucket.with_key(prefix), &Stop::default())?;
        listed.sort_by(|one, other| one.key.cmp(&other.key));
        let rest: Vec<_> = listed.into_iter().filter(|one| one.key.as_str() > after).collect();
        let mut text = format!(
            "<ListMultipartUploadsResult><Bucket>{}</Bucket><Prefix>{}</Prefix>\
             <KeyMarker>{}</KeyMarker>",
            bucket.bucket,
            escape(prefix),
            escape(after)
        );
        if let Some(one) = rest.first() {
            let (key, upload) = (escape(&one.key), &one.upload);
            let begun = jiff::Timestamp::from_second(one.begun.unwrap()).unwrap();
            let _ = write!(
                text,
                "<Upload><Key>{key}</Key><UploadId>{upload}</UploadId>\
                 <Initiated>{begun}</Initiated></Upload>\
                 <NextKeyMarker>{key}</NextKeyMarker>\
                 <NextUploadIdMarker>{upload}</NextUploadIdMarker>"
            );
        }
        let _ = write!(text, "<IsTruncated>{}</IsTruncated>", rest.len() > 1);
        Ok(Answer::xml(&(text + "</ListMultipartUploadsResult>")))
    }
}

impl Shared {
    /// Lists parts, two on each page. Tags have no quotes, as in some stores.
    fn list_parts(&self, object: &Location, upload: &str, after: &str) -> Result<Answer, Failure> {
        let after = if after.is_empty() { 0 } else { after.parse::<u32>().unwrap() };
        let listed = self.store.list_parts(object, upload)?;
        let rest: Vec<_> = listed.into_iter().filter(|part| part.number > after).collect();
        let page = &rest[..rest.len().min(2)];
        let (next, is_truncated) = (page.last().map_or(0, |part| part.number), rest.len() > 2);
        let mut text = format!(
            "<ListPartsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
             <Key>{}</Key><UploadId>{upload}</UploadId>\
             <Initiator><ID>x</ID></Initiator><PartNumberMarker>{after}</PartNumberMarker>\
             <NextPartNumberMarker>{next}</NextPartNumberMarker>\
             <IsTruncated>{is_truncated}</IsTruncated>",
            escape(&object.key)
        );
        for part in page {
            let (number, bytes, etag) = (part.number, part.bytes, part.etag.trim_matches('"'));
            let _ = write!(
                text,
                "<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag><Size>{bytes}</Size>\
                 <LastModified>2010-11-10T20:48:34.000Z</LastModified></Part>"
            );
        }
        Ok(Answer::xml(&(text + "</ListPartsResult>")))
    }
}

/// Computes CRC-32C (Castagnoli) from its polynomial.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let shifted = |crc: u32| (0..8).fold(crc, |crc, _| (crc >> 1) ^ ((crc & 1) * 0x82f6_3b78));
    let table: Vec<u32> = (0..256).map(shifted).collect();
    let next = |crc: u32, byte: &u8| (crc >> 8) ^ table[(crc as u8 ^ byte) as usize];
    !bytes.iter().fold(!0, next)
}

/// Returns a version's number in Google's form.
fn generation(version: &Version) -> String {
    crc32c(format!("{version:?}").as_bytes()).to_string()
}

impl Shared {
    fn complete(
        &self,
        asked: &Asked,
        object: &Location,
        upload: &str,
        is_new: bool,
    ) -> Result<Answer, Failure> {
        let is_google = asked.is_googles();
        // Google has no conditions for this request.
        assert!(!is_google || !is_new && !asked.headers.contains_key("if-none-match"));
        let mut parts = parts(&asked.body, !is_google);
        if is_google || asked.is_damaged {
            let there = self.store.list_parts(object, upload)?;
            let crcs: BTreeMap<u32, Option<u32>> =
                there.iter().map(|part| (part.number, part.crc)).collect();
            for part in &mut parts {
                part.crc = crcs.get(&part.number).copied().flatten().unwrap_or_default();
            }
        }
        let receipt = self.store.complete(object, upload, &parts, is_new)?;
        let etag = receipt.etag.unwrap().replace('"', "&quot;");
        Ok(Answer::xml(&format!(
            "<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"
        )))
    }

    fn remove(&self, asked: &Asked, object: &Location) -> Result<Answer, Failure> {
        if asked.is_googles() {
            let there = self.store.head(object, &Stop::default())?.version;
            let sent = asked.headers.get("x-goog-if-generation-match");
            if Some(&generation(&there)) != sent {
                return Ok(Answer::error(412, "PreconditionFailed"));
            }
        }
        let etag = asked.headers.get("if-match").cloned();
        self.store.remove(object, &Version { etag, modified: None })?;
        Ok(Answer::new(204))
    }
}

impl Asked {
    /// Returns whether the request has a token.
    fn is_googles(&self) -> bool {
        let has_token =
            self.headers.get("authorization").is_some_and(|value| value.starts_with("Bearer "));
        has_token && !self.is_azures()
    }

    /// Returns the request with a bit flipped.
    fn damaged(&self) -> Asked {
        let mut body = self.body.clone();
        let flipped = usize::from(self.method == "PUT");
        body.iter_mut().take(flipped).for_each(|byte| *byte ^= 1);
        Asked { head: self.head.clone(), body, number: self.number, is_damaged: true }
    }

    fn without_range(&self) -> Asked {
        let mut head = self.head.clone();
        head.headers.remove("range");
        Asked { head, body: self.body.clone(), number: self.number, is_damaged: false }
    }
}

fn write_answer(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    for (name, value) in &answer.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    stream.write_all(&answer.body)
}

/// Returns the sent data if it matches the checksum in the request.
fn payload(asked: &Asked) -> Result<Payload, Failure> {
    let payload = Payload::new(asked.body.clone().into());
    if asked.is_damaged {
        return Ok(payload);
    }
    if asked.is_googles() {
        let sent = asked.headers["x-goog-hash"].strip_prefix("crc32c=").unwrap();
        assert_eq!(crc_of(sent), crc32c(&asked.body));
        return Ok(payload);
    }
    let sent = asked.headers.get("x-amz-checksum-crc32").expect("bytes have a checksum");
    if crc_of(sent) != payload.crc {
        return Err(Failure::new(Reason::Refused, "400 BadDigest"));
    }
    Ok(payload)
}

/// Decodes four bytes in base64.
fn crc_of(text: &str) -> u32 {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').bytes();
    let value = |letter| alphabet.iter().position(|other| *other == letter).unwrap() as u64;
    let bits = digits.fold(0, |bits, letter| bits << 6 | value(letter));
    u32::try_from(bits >> 4).unwrap()
}

fn taken(receipt: &Receipt) -> Answer {
    Answer::new(200).with("etag", receipt.etag.clone().unwrap())
}

/// Parses the parts of a completion.
fn parts(body: &[u8], have_crcs: bool) -> Vec<Part> {
    let text = std::str::from_utf8(body).unwrap();
    let between = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>")).unwrap();
        rest.split_once(&format!("</{name}>")).unwrap().0.replace("&quot;", "\"")
    };
    let part = |part: &str| Part {
        number: between(part, "PartNumber").parse().unwrap(),
        bytes: 0,
        etag: between(part, "ETag"),
        crc: if have_crcs { crc_of(&between(part, "ChecksumCRC32")) } else { 0 },
    };
    assert_eq!(text.contains("ChecksumCRC32"), have_crcs);
    text.split("<Part>").skip(1).map(part).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// Compares a request's signature with the expected one. `Err` is the code of the failure.
fn check_signature(asked: &Asked, path: &str, query: &str) -> Result<(), &'static str> {
    let header = |name: &str| asked.headers.get(name).map_or("", String::as_str);
    if header("x-amz-security-token") == "expired" {
        return Err("ExpiredToken");
    }
    let authorization = header("authorization").strip_prefix("AWS4-HMAC-SHA256 ");
    let fields: BTreeMap<&str, &str> = authorization
        .ok_or("AccessDenied")?
        .split(", ")
        .map(|field| field.split_once('=').unwrap())
        .collect();
    let (key_id, scope) = fields["Credential"].split_once('/').unwrap();
    if key_id != KEY_ID {
        return Err("InvalidAccessKeyId");
    }
    let hash = header("x-amz-content-sha256");
    if hash != "UNSIGNED-PAYLOAD" && hash != hex(&Sha256::digest(&asked.body)) {
        return Err("XAmzContentSHA256Mismatch");
    }
    let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_unstable();
    let mut lines = String::new();
    for name in fields["SignedHeaders"].split(';') {
        let _ = writeln!(lines, "{name}:{}", header(name));
    }
    for name in ["host", "x-amz-content-sha256", "x-amz-date"] {
        assert!(fields["SignedHeaders"].split(';').any(|signed| signed == name), "{name}");
    }
    let request = format!(
        "{}\n/{path}\n{}\n{lines}\n{}\n{hash}",
        asked.method,
        pairs.join("&"),
        fields["SignedHeaders"]
    );
    let (date, request_hash) = (header("x-amz-date"), hex(&Sha256::digest(request)));
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{request_hash}");
    let mut key = format!("AWS4{SECRET}").into_bytes();
    for word in scope.split('/') {
        key = mac(&key, word.as_bytes());
    }
    let expected = hex(&mac(&key, text.as_bytes()));
    if expected == fields["Signature"] { Ok(()) } else { Err("SignatureDoesNotMatch") }
}

/// Computes HMAC-SHA256 (RFC 2104) for keys of at most one block.
fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut block = [0u8; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text);
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c));
    outer.chain_update(inner.finalize()).finalize().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
