//! S3's answers and requests in XML, and what the answers of all stores have in common.

use super::encode::checksum;
use crate::client::Part;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

/// An error. S3 sends it even with status 200, if an answer takes long.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ErrorAnswer {
    pub(crate) code: String,
    pub(crate) message: String,
    /// The bucket's region, if the request was sent to another one.
    pub(crate) region: String,
    pub(crate) endpoint: String,
}

/// A document in a store's answer.
pub(crate) trait Document: DeserializeOwned {
    /// The name of its outermost element.
    const ROOT: &'static str;
}

/// An upload that has begun.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Begun {
    pub(crate) upload_id: String,
}

/// An upload that was completed.
#[derive(Debug, Deserialize)]
pub(crate) struct Completed {
    #[serde(rename = "ETag")]
    pub(crate) etag: Option<String>,
    #[serde(rename = "ChecksumCRC32")]
    pub(crate) checksum_crc32: Option<String>,
}

/// The first character of a page name that is a key after which the page starts, for stores without
/// a token. No token begins with it.
const AFTER: char = '\0';

/// Returns the query parameter that requests the page of this name.
pub(crate) fn page_parameter(name: &str) -> (&'static str, &str) {
    match name.strip_prefix(AFTER) {
        Some(key) => ("start-after", key),
        None => ("continuation-token", name),
    }
}

/// A page of a list of objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ObjectPage {
    #[serde(default)]
    pub(crate) contents: Vec<ListedObject>,
    pub(crate) is_truncated: Option<bool>,
    pub(crate) next_continuation_token: Option<String>,
    /// The bucket, according to the store.
    name: Option<String>,
    /// The prefix of all keys, according to the store.
    prefix: Option<String>,
    /// The token of this page, according to the store.
    continuation_token: Option<String>,
    /// The key after which the page begins, according to the store.
    start_after: Option<String>,
    /// Number of objects on the page, according to the store.
    key_count: Option<usize>,
    /// Prefixes in place of the objects below them, which were not requested.
    #[serde(default)]
    common_prefixes: Vec<IgnoredAny>,
}

/// An object in a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ListedObject {
    pub(crate) key: String,
    pub(crate) size: u64,
    #[serde(default)]
    pub(crate) last_modified: String,
}

/// A page of a list of uploads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct UploadPage {
    #[serde(default, rename = "Upload")]
    pub(crate) uploads: Vec<UploadUnderWay>,
    #[serde(default)]
    pub(crate) is_truncated: bool,
    bucket: Option<String>,
    prefix: Option<String>,
    key_marker: Option<String>,
    #[serde(default)]
    common_prefixes: Vec<IgnoredAny>,
    #[serde(default)]
    pub(crate) next_key_marker: String,
    #[serde(default)]
    pub(crate) next_upload_id_marker: String,
}

/// An upload in a list.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct UploadUnderWay {
    pub(crate) key: String,
    pub(crate) upload_id: String,
    #[serde(default)]
    pub(crate) initiated: String,
}

/// A page of the parts of an upload.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PartPage {
    #[serde(default, rename = "Part")]
    pub(crate) parts: Vec<PartThere>,
    #[serde(default)]
    pub(crate) is_truncated: bool,
    key: Option<String>,
    upload_id: Option<String>,
    #[serde(default)]
    pub(crate) next_part_number_marker: String,
}

/// A part in a list.
#[derive(Debug, Deserialize)]
pub(crate) struct PartThere {
    #[serde(rename = "PartNumber")]
    pub(crate) number: u32,
    #[serde(rename = "ETag", default)]
    pub(crate) etag: String,
    #[serde(rename = "Size")]
    pub(crate) size: u64,
    #[serde(rename = "ChecksumCRC32")]
    pub(crate) checksum_crc32: Option<String>,
}

impl Document for Begun {
    const ROOT: &'static str = "InitiateMultipartUploadResult";
}

impl Document for Completed {
    const ROOT: &'static str = "CompleteMultipartUploadResult";
}

impl Document for ObjectPage {
    const ROOT: &'static str = "ListBucketResult";
}

impl Document for UploadPage {
    const ROOT: &'static str = "ListMultipartUploadsResult";
}

impl Document for PartPage {
    const ROOT: &'static str = "ListPartsResult";
}

impl ObjectPage {
    /// Fails if this isn't the requested page: the one named `page` of the keys in `bucket` that
    /// begin with `prefix`.
    pub(crate) fn check(
        &self,
        (bucket, prefix): (&str, &str),
        page: Option<&str>,
    ) -> Result<(), String> {
        let (parameter, page) = page.map(page_parameter).unwrap_or_default();
        let asked = |name: &str| if parameter == name { page } else { "" };
        echoed("Name", self.name.as_deref(), bucket_name(bucket))?;
        echoed("Prefix", self.prefix.as_deref(), Some(prefix))?;
        // An empty parameter was not sent, so nothing is compared.
        let token = non_empty(Some(asked("continuation-token")));
        echoed("ContinuationToken", non_empty(self.continuation_token.as_deref()), token)?;
        let after = non_empty(Some(asked("start-after")));
        echoed("StartAfter", non_empty(self.start_after.as_deref()), after)
    }

    /// Returns the name of the next page, if there is one. If the store doesn't say whether there
    /// is one, it is the page after the last key.
    ///
    /// # Errors
    /// Says how the store contradicts itself.
    pub(crate) fn next(&mut self) -> Result<Option<String>, &'static str> {
        if !self.common_prefixes.is_empty() {
            return Err("it has prefixes in place of objects (CommonPrefixes)");
        }
        if self.key_count.is_some_and(|count| count != self.contents.len()) {
            return Err("it has another number of objects than it says (KeyCount)");
        }
        let token = self.next_continuation_token.take().filter(|token| !token.is_empty());
        match (self.is_truncated, token) {
            (None, None) => Ok(self.contents.last().map(|last| format!("{AFTER}{}", last.key))),
            (Some(true), None) => {
                Err("there is more of it (IsTruncated), and it doesn't say from \
                                       where (NextContinuationToken)")
            }
            (Some(false), Some(_)) => Err("it is whole (not IsTruncated), and names a page to \
                                           come (NextContinuationToken)"),
            (_, token) => Ok(token),
        }
    }
}

impl UploadPage {
    /// Fails if this isn't the requested page: the uploads after `marker` in `bucket` whose keys
    /// begin with `prefix`.
    pub(crate) fn check(&self, (bucket, prefix): (&str, &str), marker: &str) -> Result<(), String> {
        if !self.common_prefixes.is_empty() {
            return Err("it has prefixes in place of uploads (CommonPrefixes)".to_owned());
        }
        echoed("Bucket", self.bucket.as_deref(), bucket_name(bucket))?;
        echoed("Prefix", self.prefix.as_deref(), Some(prefix))?;
        let marker = Some(marker).filter(|marker| !marker.is_empty());
        echoed("KeyMarker", non_empty(self.key_marker.as_deref()), marker)
    }
}

impl PartPage {
    /// Fails if this page belongs to another upload.
    pub(crate) fn check(&self, key: &str, upload: &str) -> Result<(), String> {
        echoed("Key", self.key.as_deref(), Some(key))?;
        echoed("UploadId", self.upload_id.as_deref(), Some(upload))
    }
}

/// Fails if the answer's field `name` contradicts the request. A field that only one of the two has
/// contradicts nothing.
pub(crate) fn echoed(name: &str, said: Option<&str>, asked: Option<&str>) -> Result<(), String> {
    match (said, asked) {
        // XML parsers may strip blanks, and control characters arrive in another form.
        (Some(said), Some(asked))
            if said.trim() != asked.trim() && !asked.contains(char::is_control) =>
        {
            let asked = if asked.is_empty() { "nothing" } else { asked };
            Err(format!("it is of another request: {name} is {said}, and was {asked}"))
        }
        _ => Ok(()),
    }
}

/// Returns the text if it isn't empty.
pub(crate) fn non_empty(said: Option<&str>) -> Option<&str> {
    said.filter(|said| !said.is_empty())
}

/// Returns the name of the bucket in answers. `None` for an access point, where answers have
/// another name.
fn bucket_name(bucket: &str) -> Option<&str> {
    let ends = ["-s3alias", "--ol-s3", ".mrap"];
    (!ends.iter().any(|end| bucket.ends_with(end))).then_some(bucket)
}

/// Parses an answer if its outermost element is that of `T`.
pub(crate) fn document<T: Document>(text: &[u8]) -> Option<T> {
    if root(text)? == T::ROOT.as_bytes() { parse(text) } else { None }
}

/// Parses an answer, whatever its outermost element is called.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    quick_xml::de::from_reader(without_mark(text)).ok()
}

/// Returns whether an answer is an error.
pub(crate) fn is_error(text: &[u8]) -> bool {
    root(text).is_some_and(|root| root == b"Error")
}

/// Returns the name of the outermost element, without its prefix.
fn root(text: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader::from_reader(without_mark(text));
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) | Event::Empty(element) => {
                return Some(element.local_name().as_ref().to_vec());
            }
            Event::Eof => return None,
            Event::Text(text) if !text.trim_ascii().is_empty() => return None,
            _ => {}
        }
    }
}

/// Returns the text after the outermost element, unless it consists of blanks and comments.
pub(crate) fn rest(text: &[u8]) -> Option<&[u8]> {
    let text = without_mark(text);
    let mut reader = Reader::from_reader(text);
    let mut depth = 0_u32;
    let mut end = 0;
    loop {
        match reader.read_event() {
            Ok(Event::Start(_)) if end == 0 => depth += 1,
            Ok(Event::End(_)) if depth > 1 => depth -= 1,
            Ok(Event::Empty(_)) if depth > 0 => {}
            Ok(Event::End(_) | Event::Empty(_)) if end == 0 => {
                end = usize::try_from(reader.buffer_position()).unwrap_or(text.len());
            }
            Ok(Event::Eof) => return None,
            Ok(Event::Comment(_) | Event::PI(_)) => {}
            Ok(Event::Text(blanks)) if blanks.trim_ascii().is_empty() => {}
            Ok(_) if end == 0 => {}
            _ => return Some(text.get(end..).unwrap_or_default()),
        }
    }
}

/// Removes the byte order mark with which Azure's documents begin.
fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

/// Returns the list of parts that completes an upload.
pub(crate) fn completion(parts: &[Part], has_checksums: bool) -> String {
    let mut text = String::from("<CompleteMultipartUpload>");
    for Part { number, etag, crc, .. } in parts {
        let etag = quick_xml::escape::escape(etag);
        text += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag>");
        if has_checksums {
            text += &format!("<ChecksumCRC32>{}</ChecksumCRC32>", checksum(*crc));
        }
        text += "</Part>";
    }
    text + "</CompleteMultipartUpload>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_contradict_themselves_are_not_trusted() {
        let next = |more: &str| {
            let text = format!(
                "<ListBucketResult><IsTruncated>false</IsTruncated>{more}\
                 <Contents><Key>a</Key><Size>5</Size></Contents></ListBucketResult>"
            );
            parse::<ObjectPage>(text.as_bytes()).unwrap().next()
        };
        assert_eq!(next(""), Ok(None));
        assert_eq!(next("<KeyCount>1</KeyCount>"), Ok(None));
        assert!(next("<KeyCount>2</KeyCount>").unwrap_err().contains("KeyCount"));
        let rolled_up = "<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>";
        assert!(next(rolled_up).unwrap_err().contains("CommonPrefixes"));
    }

    #[test]
    fn a_page_of_another_request_is_not_taken() {
        let page = |more: &str| -> ObjectPage {
            parse(format!("<ListBucketResult>{more}</ListBucketResult>").as_bytes()).unwrap()
        };
        let asked = ("b", "p/");
        let whole = "<Name>b</Name><Prefix>p/</Prefix><ContinuationToken />";
        page(whole).check(asked, None).unwrap();
        page(whole).check(asked, Some("t")).unwrap();
        page("").check(asked, Some("t")).unwrap();
        page("<ContinuationToken>t</ContinuationToken>").check(asked, Some("t")).unwrap();
        let after = format!("{AFTER}p/a");
        page("<StartAfter>p/a</StartAfter>").check(asked, Some(&after)).unwrap();
        page("<Name>other</Name>").check(("x-s3alias", ""), None).unwrap();
        for (more, name) in [
            ("<Name>c</Name>", None),
            ("<Prefix>p</Prefix>", None),
            ("<Prefix />", None),
            ("<ContinuationToken>u</ContinuationToken>", Some("t")),
            ("<StartAfter>p/b</StartAfter>", Some(&*after)),
        ] {
            let wrong = page(more).check(asked, name).unwrap_err();
            assert!(wrong.contains("of another request"), "{wrong}");
        }
    }

    #[test]
    fn what_follows_a_document_is_found() {
        let is_alone = |text: &str| rest(text.as_bytes()).is_none();
        assert!(is_alone(
            "\u{feff}<?xml version=\"1.0\"?>\n<!-- x --><a><b/>x<a>y</a></a>\n<!-- y -->"
        ));
        assert!(is_alone("<a/> ") && is_alone("<a></a>"));
        for (more, text) in [
            ("<a>", "<a>x</a> <a>"),
            ("rubbish", "<a><b/></a>rubbish"),
            ("<?xml version=\"1.0\"?><a/>", "<a/><?xml version=\"1.0\"?><a/>"),
            ("</a>", "<a></a></a>"),
            ("<b/>", "<a/><b/>"),
            ("&lt;", "<a/>&lt;"),
            ("\0", "<a/>\0"),
        ] {
            let found = rest(text.as_bytes()).map(|rest| String::from_utf8_lossy(rest));
            assert_eq!(found.as_deref().map(str::trim), Some(more), "{text}");
        }
    }

    #[test]
    fn answers_are_read_as_amazon_sends_them() {
        let page: ObjectPage = parse(
            br#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
            <Prefix></Prefix><KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys>
            <IsTruncated>true</IsTruncated><NextContinuationToken>1/2=</NextContinuationToken>
            <Contents><Key>a &amp; b+c%20</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>
            <ETag>&quot;x&quot;</ETag><Size>5</Size><StorageClass>STANDARD</StorageClass></Contents>
            <Contents><Key>  z </Key><Size>0</Size></Contents></ListBucketResult>"#,
        )
        .unwrap();
        let keys: Vec<_> = page.contents.iter().map(|one| (one.key.as_str(), one.size)).collect();
        assert_eq!(keys, [("a & b+c%20", 5), ("  z ", 0)]);
        assert_eq!(page.next_continuation_token.as_deref(), Some("1/2="));
        let completed: Completed = parse(
            b"<CompleteMultipartUploadResult><Location>x</Location><Key>k</Key>\
              <ETag>&#34;abc-2&#34;</ETag><ChecksumCRC32>NhCmhg==-2</ChecksumCRC32>\
              </CompleteMultipartUploadResult>",
        )
        .unwrap();
        assert_eq!(completed.etag.as_deref(), Some("\"abc-2\""));
        assert_eq!(completed.checksum_crc32.as_deref(), Some("NhCmhg==-2"));
        let uploads: UploadPage = parse(
            b"<ListMultipartUploadsResult><Bucket>b</Bucket><IsTruncated>false</IsTruncated>\
              <Upload><Key>k</Key><UploadId>u</UploadId><Initiated>x</Initiated></Upload>\
              </ListMultipartUploadsResult>",
        )
        .unwrap();
        assert_eq!(uploads.uploads[0].upload_id, "u");
        assert_eq!(uploads.uploads[0].initiated, "x");
    }

    #[test]
    fn an_error_is_one_whatever_the_status_says() {
        let error =
            b"<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>m</Message></Error>";
        assert!(is_error(error) && !is_error(b"<Completed><Error>x</Error></Completed>"));
        assert!(!is_error(b"") && !is_error(b"<?xml"));
        let answer: ErrorAnswer = parse(error).unwrap();
        assert_eq!((answer.code.as_str(), answer.message.as_str()), ("SlowDown", "m"));
    }

    #[test]
    fn a_completion_names_each_part_with_its_checksum() {
        let part = Part { number: 7, bytes: 5, etag: "\"a\"".into(), crc: 0x3610_a686 };
        assert_eq!(
            completion(&[part], true),
            "<CompleteMultipartUpload><Part><PartNumber>7</PartNumber><ETag>&quot;a&quot;</ETag>\
             <ChecksumCRC32>NhCmhg==</ChecksumCRC32></Part></CompleteMultipartUpload>"
        );
    }
}
