//! The parts of Azure's Blob Storage that the client uses, on top of a simulated store. It checks
//! signatures independently, following Azure's description (Authorize with Shared Key). It keeps
//! the blocks of each name; blocks that no object contains are in no list of objects.

use super::{Answer, Asked, BUCKET, PUBLIC, Shared, TOKEN, escape, mac};
use md5::{Digest, Md5};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use xsort_objects::{Client, Failure, Location, Payload, Reason, Stop, Version};

/// The account, with which all paths begin as in an emulator, and its key.
pub(crate) const ACCOUNT: &str = "devaccount";
pub(crate) const ACCOUNT_KEY: &str = "YSBrZXkgb2YgdGhlIHRlc3RzLCBub3QgYSBzZWNyZXQ=";
/// A shared access signature.
pub(crate) const SIGNED: &str = "sv=2023-11-03&sp=rwdl&sig=a%2Fb%2Bc%3D";
const SIGNATURE: &str = "a/b+c=";
/// The header with an object's mark.
pub(crate) const MARK: &str = "x-ms-meta-xsortupload";

/// The path for requesting the machine's token.
pub(crate) const IDENTITY: &str = "/identity";

/// Returns a token for the machine.
pub(super) fn token(asked: &Asked) -> Answer {
    assert_eq!((asked.header("metadata"), asked.value("client_id")), (Some("true"), "me"));
    assert_eq!(asked.value("resource"), "https://storage.azure.com");
    let text = format!("{{\"access_token\": \"{TOKEN}\", \"expires_on\": \"4000000000\"}}");
    Answer { body: text.into_bytes(), ..Answer::new(200) }
}

/// The blocks of one name, by their IDs.
#[derive(Default)]
pub(crate) struct Blocks {
    committed: BTreeMap<String, Vec<u8>>,
    pub(crate) uncommitted: BTreeMap<String, Vec<u8>>,
}

/// The answer, or the status and the code of a refusal.
type Done = Result<Answer, (u16, &'static str)>;

fn refused(failure: Failure) -> (u16, &'static str) {
    match failure.reason {
        Reason::NoObject => (404, "BlobNotFound"),
        Reason::Exists => (409, "BlobAlreadyExists"),
        Reason::Changed => (412, "ConditionNotMet"),
        _ => panic!("{failure:?}"),
    }
}

impl Shared {
    pub(super) fn answer_as_azure(&self, asked: &Asked) -> Answer {
        assert_eq!(asked.header("x-ms-version"), Some("2023-11-03"));
        let path = asked.path.strip_prefix(&format!("/{ACCOUNT}/")).unwrap();
        let (container, key) = path.split_once('/').unwrap_or((path, ""));
        let object =
            Location { scheme: super::Scheme::S3, bucket: container.into(), key: key.into() };
        let is_reading = matches!(&*asked.method, "GET" | "HEAD");
        let done = match check(asked) {
            Err(code) if container != PUBLIC || !is_reading => Err((403, code)),
            _ if container != BUCKET && container != PUBLIC => Err((404, "ContainerNotFound")),
            _ => self.do_as_azure(asked, &object),
        };
        let answer = done.unwrap_or_else(|(status, code)| {
            Answer::error(status, code).with("x-ms-error-code", code)
        });
        // Azure's documents begin with a byte order mark.
        let is_xml = answer.body.starts_with(b"<?xml");
        let mark: &[u8] = if is_xml { b"\xef\xbb\xbf" } else { b"" };
        Answer { body: [mark, &answer.body].concat(), ..answer }
    }

    fn do_as_azure(&self, asked: &Asked, object: &Location) -> Done {
        let is_new = asked.header("if-none-match") == Some("*");
        match (&*asked.method, asked.value("comp")) {
            ("GET", "list") => {
                assert_eq!((asked.value("restype"), &*object.key), ("container", ""));
                Ok(self.list_blobs(object, asked))
            }
            ("GET", "blocklist") => {
                assert_eq!(asked.value("blocklisttype"), "all");
                self.list_blocks(object)
            }
            ("GET" | "HEAD", "") => self.get(asked, object).map_err(refused),
            ("PUT", "block") => self.put_block(asked, object),
            ("PUT", "blocklist") => self.put_block_list(asked, object, is_new),
            ("PUT", "") => {
                assert_eq!(asked.header("x-ms-blob-type"), Some("BlockBlob"));
                check_md5(asked)?;
                let answer = self.put_blob(asked, object, asked.body.clone(), is_new)?;
                self.blocks.lock().unwrap().remove(&object.text());
                Ok(answer)
            }
            ("DELETE", "") => {
                self.store.head(object, &Stop::default()).map_err(refused)?;
                let etag = asked.header("if-match").map(str::to_owned);
                let version = Version { etag, modified: None };
                self.store.remove(object, &version).map_err(refused)?;
                Ok(Answer::new(202))
            }
            (method, comp) => panic!("{method} {comp} of {object}"),
        }
    }

    fn put_blob(&self, asked: &Asked, object: &Location, bytes: Vec<u8>, is_new: bool) -> Done {
        let (payload, mark) = (Payload::new(bytes.into()), asked.header(MARK).unwrap());
        let stop = Stop::default();
        let put = self.store.put(object, &payload, mark, is_new, &stop).map_err(refused)?;
        let md5 = to_base64(&Md5::digest(&payload.bytes));
        Ok(Answer::new(201).with("etag", put.etag.unwrap()).with("content-md5", md5))
    }

    fn put_block(&self, asked: &Asked, object: &Location) -> Done {
        check_md5(asked)?;
        let id = asked.value("blockid").to_owned();
        let raw = from_base64(&id);
        if raw.is_empty() || raw.len() > 64 || asked.body.is_empty() {
            return Err((400, "InvalidQueryParameterValue"));
        }
        let mut names = self.blocks.lock().unwrap();
        let blocks = names.entry(object.text()).or_default();
        if blocks.uncommitted.keys().any(|other| other.len() != id.len()) {
            return Err((400, "InvalidBlobOrBlock"));
        }
        blocks.uncommitted.insert(id, asked.body.clone());
        Ok(Answer::new(201).with("content-md5", to_base64(&Md5::digest(&asked.body))))
    }

    fn put_block_list(&self, asked: &Asked, object: &Location, is_new: bool) -> Done {
        check_md5(asked)?;
        let text = std::str::from_utf8(&asked.body).unwrap();
        let mut names = self.blocks.lock().unwrap();
        let blocks = names.entry(object.text()).or_default();
        let mut list = BTreeMap::new();
        let mut all = Vec::new();
        for rest in text.split("<Latest>").skip(1) {
            let id = rest.split_once("</Latest>").unwrap().0;
            let block = blocks.uncommitted.get(id).or_else(|| blocks.committed.get(id));
            let block = block.ok_or((400, "InvalidBlockList"))?;
            all.extend_from_slice(block);
            list.insert(id.to_owned(), block.clone());
        }
        let answer = self.put_blob(asked, object, all, is_new)?;
        *blocks = Blocks { committed: list, uncommitted: BTreeMap::new() };
        Ok(answer)
    }

    fn list_blocks(&self, object: &Location) -> Done {
        let names = self.blocks.lock().unwrap();
        let blocks = names.get(&object.text()).ok_or((404, "BlobNotFound"))?;
        let mut text = String::from("<BlockList>");
        for (name, list) in
            [("CommittedBlocks", &blocks.committed), ("UncommittedBlocks", &blocks.uncommitted)]
        {
            let _ = write!(text, "<{name}>");
            for (id, bytes) in list {
                let size = bytes.len();
                let _ = write!(text, "<Block><Name>{id}</Name><Size>{size}</Size></Block>");
            }
            let _ = write!(text, "</{name}>");
        }
        Ok(Answer::xml(&(text + "</BlockList>")))
    }

    /// Lists blobs and a directory, as accounts with directories do.
    fn list_blobs(&self, container: &Location, asked: &Asked) -> Answer {
        let page = Some(asked.value("marker")).filter(|marker| !marker.is_empty());
        let prefix = container.with_key(asked.value("prefix"));
        let listed = self.store.list(&prefix, page, &Stop::default()).unwrap();
        let mut text = format!(
            "<EnumerationResults ServiceEndpoint=\"x\" ContainerName=\"{}\">\
             <Prefix>{}</Prefix><Marker>{}</Marker><Blobs><Blob><Name>a-directory</Name>\
             <Properties><Content-Length>0</Content-Length><ResourceType>directory</ResourceType>\
             </Properties></Blob>",
            container.bucket,
            escape(&prefix.key),
            escape(asked.value("marker"))
        );
        for one in &listed.objects {
            let modified = jiff::Timestamp::from_second(one.modified.unwrap()).unwrap();
            let modified = modified.strftime("%a, %d %b %Y %H:%M:%S GMT");
            let _ = write!(
                text,
                "<Blob><Name>{}</Name><Properties><Last-Modified>{modified}</Last-Modified>\
                 <Content-Length>{}</Content-Length></Properties></Blob>",
                escape(&one.key),
                one.bytes
            );
        }
        let next = listed.next.as_deref().map(escape).unwrap_or_default();
        let _ = write!(text, "</Blobs><NextMarker>{next}</NextMarker></EnumerationResults>");
        Answer::xml(&text)
    }
}

impl Asked {
    pub(super) fn is_azures(&self) -> bool {
        self.path.starts_with(&format!("/{ACCOUNT}/"))
    }
}

fn check_md5(asked: &Asked) -> Result<(), (u16, &'static str)> {
    let sent = asked.header("content-md5").expect("bytes have a checksum");
    let is_same = asked.is_damaged || from_base64(sent) == Md5::digest(&asked.body)[..];
    is_same.then_some(()).ok_or((400, "Md5Mismatch"))
}

/// Checks whether a request is authorised. `Err` is the code of the refusal.
fn check(asked: &Asked) -> Result<(), &'static str> {
    let Some(authorization) = asked.header("authorization") else {
        return match asked.value("sig") {
            SIGNATURE => Ok(()),
            "" => Err("NoAuthenticationInformation"),
            _ => Err("AuthenticationFailed"),
        };
    };
    let is_right = match authorization.strip_prefix("Bearer ") {
        Some(token) => token == TOKEN,
        None => authorization == format!("SharedKey {ACCOUNT}:{}", signature(asked)),
    };
    is_right.then_some(()).ok_or("AuthenticationFailed")
}

/// Returns a request's signature: the HMAC-SHA256 of its method, these headers, Azure's headers,
/// and the resource.
fn signature(asked: &Asked) -> String {
    let header = |name: &str| asked.header(name).unwrap_or_default();
    let mut text = format!("{}\n", asked.method);
    for name in [
        "content-encoding",
        "content-language",
        "content-length",
        "content-md5",
        "content-type",
        "date",
        "if-modified-since",
        "if-match",
        "if-none-match",
        "if-unmodified-since",
        "range",
    ] {
        let is_none = name == "content-length" && header(name) == "0"
            || name == "date" && !header("x-ms-date").is_empty();
        let _ = writeln!(text, "{}", if is_none { "" } else { header(name) });
    }
    // Headers and parameters are sorted by name.
    for (name, value) in asked.headers.iter().filter(|(name, _)| name.starts_with("x-ms-")) {
        let _ = writeln!(text, "{name}:{value}");
    }
    let path = asked.target.split('?').next().unwrap();
    let _ = write!(text, "/{ACCOUNT}{path}");
    for (name, value) in &asked.query {
        let _ = write!(text, "\n{}:{value}", name.to_lowercase());
    }
    to_base64(&mac(&from_base64(ACCOUNT_KEY), text.as_bytes()))
}

const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | usize::from(*three.get(n).unwrap_or(&0)));
        for digit in 0..4 {
            let letter = ALPHABET[bits >> (18 - 6 * digit) & 63] as char;
            text.push(if digit <= three.len() { letter } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for four in text.as_bytes().chunks(4) {
        let letters = four.iter().filter(|letter| **letter != b'=').count();
        let value = |letter| ALPHABET.iter().position(|other| other == letter).unwrap_or(0);
        let bits = four.iter().fold(0, |bits, letter| bits << 6 | value(letter));
        bytes
            .extend_from_slice(&[(bits >> 16) as u8, (bits >> 8) as u8, bits as u8][..letters - 1]);
    }
    bytes
}
