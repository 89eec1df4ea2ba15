//! A server that speaks HTTP and as much of S3 as is asked of it, over a simulated store. It checks
//! signatures by itself, from the description of Amazon's.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use xsort_objects::{
    Body, Client, Failure, Location, ObjectInfo, Part, Payload, Reason, Receipt, Scheme, SimStore,
    Stop, Version,
};

/// What the server knows of its only user.
pub(crate) const KEY_ID: &str = "AKIDTEST";
pub(crate) const SECRET: &str = "a secret/with+letters";
/// The bucket that is there, and the one for readers without credentials.
pub(crate) const BUCKET: &str = "bucket";
pub(crate) const PUBLIC: &str = "public";

const MARK: &str = "x-amz-meta-xsort-upload";

/// A request as it came.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query, encoded.
    pub(crate) target: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// How many requests came before.
    pub(crate) number: usize,
}

/// What goes wrong with an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wrong {
    Nothing,
    /// Another answer, and nothing is done: status and code.
    Refuse(u16, &'static str),
    /// The same with a header.
    RefuseWith(u16, &'static str, String),
    /// It is done, and the connection ends without an answer.
    NoAnswer,
    /// The connection ends after so many bytes of the body.
    CutAfter(usize),
    /// Ranges are ignored.
    NoRanges,
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
    /// Method and target of all requests.
    seen: Mutex<Vec<String>>,
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

    /// Method and target of all requests so far.
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
}

impl Shared {
    /// Serves one connection until it ends.
    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(asked) = self.read(&mut reader) {
            let wrong = (self.decide)(&asked);
            let mut answer = match &wrong {
                Wrong::Refuse(status, code) => Answer::error(*status, code),
                Wrong::RefuseWith(status, header, value) => {
                    Answer::error(*status, "Refused").with(header, value.as_str())
                }
                Wrong::NoRanges => self.answer(&asked.without_range()),
                _ => self.answer(&asked),
            };
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
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut seen = self.seen.lock().unwrap();
        let number = seen.len();
        seen.push(format!("{method} {target}"));
        Some(Asked { method, target, headers, body, number })
    }

    fn answer(&self, asked: &Asked) -> Answer {
        let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
        let path = path.strip_prefix('/').unwrap();
        let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
        if bucket != PUBLIC {
            if let Err(code) = check_signature(asked, path, query) {
                return Answer::error(403, code);
            }
            if bucket != BUCKET {
                return Answer::error(404, "NoSuchBucket");
            }
        }
        let object = Location { scheme: Scheme::S3, bucket: bucket.to_owned(), key: decode(key) };
        let query: BTreeMap<String, String> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .map(|(name, value)| (decode(name), decode(value)))
            .collect();
        self.dispatch(asked, &object, &query).unwrap_or_else(|failure| {
            let status = match failure.reason {
                Reason::NoObject | Reason::NoUpload => 404,
                Reason::Changed | Reason::Exists => 412,
                _ => 400,
            };
            let code = failure.detail.split(' ').nth(1).unwrap_or("InternalError").to_owned();
            Answer::error(status, &code)
        })
    }

    fn dispatch(
        &self,
        asked: &Asked,
        object: &Location,
        query: &BTreeMap<String, String>,
    ) -> Result<Answer, Failure> {
        let stop = Stop::default();
        let has = |name: &str| query.contains_key(name);
        let value = |name: &str| query.get(name).map_or("", String::as_str);
        let header = |name: &str| asked.headers.get(name).map(String::as_str);
        let is_new = header("if-none-match") == Some("*");
        match asked.method.as_str() {
            "GET" if has("list-type") => {
                self.list(object, value("prefix"), value("continuation-token"))
            }
            "GET" if has("uploads") => {
                self.list_uploads(object, value("prefix"), value("key-marker"))
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
                let (payload, mark) = (payload(asked)?, header(MARK).unwrap());
                Ok(taken(&self.store.put(object, &payload, mark, is_new, &stop)?))
            }
            "POST" if has("uploads") => {
                assert_eq!(header("x-amz-checksum-algorithm"), Some("CRC32"));
                let number = self.store.create_multipart(object, header(MARK).unwrap())?;
                Ok(Answer::xml(&format!(
                    "<InitiateMultipartUploadResult \
                     xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                     <UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
                )))
            }
            "POST" => {
                let parts = parts(&asked.body);
                let receipt = self.store.complete(object, value("uploadId"), &parts, is_new)?;
                let etag = receipt.etag.unwrap().replace('"', "&quot;");
                Ok(Answer::xml(&format!(
                    "<CompleteMultipartUploadResult><ETag>{etag}</ETag>\
                     </CompleteMultipartUploadResult>"
                )))
            }
            "DELETE" if has("uploadId") => {
                self.store.abort(object, value("uploadId"))?;
                Ok(Answer::new(204))
            }
            "DELETE" => {
                let etag = header("if-match").map(str::to_owned);
                self.store.remove(object, &Version { etag, modified: None })?;
                Ok(Answer::new(204))
            }
            method => panic!("{method} of {object}"),
        }
    }

    fn get(&self, asked: &Asked, object: &Location) -> Result<Answer, Failure> {
        let ObjectInfo { bytes, version, mark } = self.store.head(object)?;
        let etag = version.etag.clone().unwrap();
        if asked.headers.get("if-match").is_some_and(|wanted| *wanted != etag) {
            return Ok(Answer::error(412, "PreconditionFailed"));
        }
        let described = |status| {
            Answer::new(status)
                .with("etag", etag.clone())
                .with("last-modified", version.modified.clone().unwrap())
                .with(MARK, mark.clone().unwrap_or_default())
        };
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
            let mut body = self.store.get_range(object, &version, start..end, &stop)?;
            while let Some(piece) = Body::next(&mut *body, &stop)? {
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
        let listed = self.store.list(&bucket.with_key(prefix), page)?;
        let mut text = String::from("<ListBucketResult>");
        for one in &listed.objects {
            let key = escape(&one.key);
            let _ = write!(text, "<Contents><Key>{key}</Key><Size>{}</Size></Contents>", one.bytes);
        }
        if let Some(token) = listed.next.as_deref().map(escape) {
            let _ = write!(
                text,
                "<IsTruncated>true</IsTruncated>\
                 <NextContinuationToken>{token}</NextContinuationToken>"
            );
        }
        Ok(Answer::xml(&(text + "</ListBucketResult>")))
    }

    /// One upload a page.
    fn list_uploads(
        &self,
        bucket: &Location,
        prefix: &str,
        after: &str,
    ) -> Result<Answer, Failure> {
        let mut listed = self.store.list_multipart(&bucket.with_key(prefix))?;
        listed.sort_by(|one, other| one.key.cmp(&other.key));
        let rest: Vec<_> = listed.into_iter().filter(|one| one.key.as_str() > after).collect();
        let mut text = String::from("<ListMultipartUploadsResult>");
        if let Some(one) = rest.first() {
            let (key, upload) = (escape(&one.key), &one.upload);
            let _ = write!(
                text,
                "<Upload><Key>{key}</Key><UploadId>{upload}</UploadId></Upload>\
                 <NextKeyMarker>{key}</NextKeyMarker>\
                 <NextUploadIdMarker>{upload}</NextUploadIdMarker>"
            );
        }
        let _ = write!(text, "<IsTruncated>{}</IsTruncated>", rest.len() > 1);
        Ok(Answer::xml(&(text + "</ListMultipartUploadsResult>")))
    }
}

impl Asked {
    fn without_range(&self) -> Asked {
        let mut headers = self.headers.clone();
        headers.remove("range");
        let (method, target, body) = (self.method.clone(), self.target.clone(), self.body.clone());
        Asked { method, target, headers, body, number: self.number }
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

/// What was sent, if its checksum is the one that was sent.
fn payload(asked: &Asked) -> Result<Payload, Failure> {
    let payload = Payload::new(asked.body.clone().into());
    let sent = asked.headers.get("x-amz-checksum-crc32").expect("bytes have a checksum");
    if crc_of(sent) != payload.crc {
        return Err(Failure::new(Reason::Refused, "400 BadDigest"));
    }
    Ok(payload)
}

/// Four bytes in base64.
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

/// The parts of a completion.
fn parts(body: &[u8]) -> Vec<Part> {
    let text = std::str::from_utf8(body).unwrap();
    let between = |text: &str, name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>")).unwrap();
        rest.split_once(&format!("</{name}>")).unwrap().0.replace("&quot;", "\"")
    };
    let part = |part: &str| Part {
        number: between(part, "PartNumber").parse().unwrap(),
        bytes: 0,
        etag: between(part, "ETag"),
        crc: crc_of(&between(part, "ChecksumCRC32")),
    };
    text.split("<Part>").skip(1).map(part).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                let digits = std::str::from_utf8(&digits).unwrap().to_owned();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Compares a request's signature with its own; `Err` is the code of what is wrong.
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

/// HMAC-SHA256 (RFC 2104), of keys that are no longer than a block.
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
