//! What S3 answers, and what it is sent, in XML.

use super::encode::checksum;
use crate::client::Part;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// An error. S3 sends it also with status 200, where an answer takes long.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct ErrorAnswer {
    pub(super) code: String,
    pub(super) message: String,
}

/// An upload that has begun.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Begun {
    pub(super) upload_id: String,
}

/// An upload that was completed.
#[derive(Debug, Deserialize)]
pub(super) struct Completed {
    #[serde(rename = "ETag")]
    pub(super) etag: Option<String>,
    #[serde(rename = "ChecksumCRC32")]
    pub(super) checksum_crc32: Option<String>,
}

/// A page of a list of objects.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ObjectPage {
    #[serde(default)]
    pub(super) contents: Vec<ListedObject>,
    pub(super) next_continuation_token: Option<String>,
}

/// An object in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListedObject {
    pub(super) key: String,
    pub(super) size: u64,
}

/// A page of a list of uploads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UploadPage {
    #[serde(default, rename = "Upload")]
    pub(super) uploads: Vec<UploadUnderWay>,
    #[serde(default)]
    pub(super) is_truncated: bool,
    #[serde(default)]
    pub(super) next_key_marker: String,
    #[serde(default)]
    pub(super) next_upload_id_marker: String,
}

/// An upload in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct UploadUnderWay {
    pub(super) key: String,
    pub(super) upload_id: String,
}

/// What an answer says, if it is of this kind.
pub(super) fn parse<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    quick_xml::de::from_reader(text).ok()
}

/// Whether an answer is an error.
pub(super) fn is_error(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let body = text.trim_start();
    let body = match body.strip_prefix("<?") {
        Some(rest) => rest.split_once("?>").map_or("", |(_, body)| body.trim_start()),
        None => body,
    };
    body.starts_with("<Error>") || body.starts_with("<Error ")
}

/// The list of parts that makes an upload an object.
pub(super) fn completion(parts: &[Part], has_checksums: bool) -> String {
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
