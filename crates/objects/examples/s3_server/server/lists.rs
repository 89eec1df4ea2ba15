//! Lists in S3's XML, page by page: objects, uploads, parts, buckets.

use super::head::Head;
use super::http::{Answer, escape};
use super::store::{Bucket, Store, Upload, checksum};
use jiff::Timestamp;
use std::fmt::Write;
use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};

/// Most entries of a page.
const PAGE_ENTRIES: usize = 1000;

/// A time in whole seconds.
pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    Timestamp::from_second(seconds).unwrap_or_default()
}

/// Text with everything but unreserved letters and slashes as `%` and two digits.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// How many entries are wanted.
fn entries_max(asked: &Head, name: &str) -> usize {
    asked.value(name).parse().unwrap_or(PAGE_ENTRIES).min(PAGE_ENTRIES)
}

/// How names are written: encoded if that is asked for.
fn writer(asked: &Head) -> fn(&str) -> String {
    if asked.value("encoding-type") == "url" { encode } else { escape }
}

/// The directory, as far as the delimiter, that a key is in below the prefix.
fn directory<'k>(key: &'k str, prefix: &str, delimiter: &str) -> Option<&'k str> {
    if delimiter.is_empty() {
        return None;
    }
    let at = key[prefix.len()..].find(delimiter)?;
    Some(&key[..prefix.len() + at + delimiter.len()])
}

/// ListObjectsV2.
pub(crate) fn objects(bucket: &Bucket, name: &str, asked: &Head) -> Answer {
    let (prefix, delimiter, write_name) =
        (asked.value("prefix"), asked.value("delimiter"), writer(asked));
    let token = asked.value("continuation-token");
    let after = if token.is_empty() { asked.value("start-after") } else { token };
    let begin = if after < prefix { Bound::Included(prefix) } else { Bound::Excluded(after) };
    let keys = bucket.objects.range::<str, _>((begin, Bound::Unbounded));
    let (mut text, mut count, mut last, mut has_more) = (String::new(), 0, String::new(), false);
    for (key, object) in keys.take_while(|(key, _)| key.starts_with(prefix)) {
        let directory = directory(key, prefix, delimiter);
        if directory.is_some_and(|directory| last == directory || after == directory) {
            continue;
        }
        if count == entries_max(asked, "max-keys") {
            has_more = true;
            break;
        }
        count += 1;
        last = directory.unwrap_or(key).to_owned();
        let listed = write_name(&last);
        let _ = match directory {
            Some(_) => write!(text, "<CommonPrefixes><Prefix>{listed}</Prefix></CommonPrefixes>"),
            None => write!(
                text,
                "<Contents><Key>{listed}</Key><LastModified>{}</LastModified>\
                 <ETag>{}</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                timestamp(object.modified),
                escape(&object.etag),
                object.bytes
            ),
        };
    }
    let token = if has_more {
        format!("<NextContinuationToken>{}</NextContinuationToken>", escape(&last))
    } else {
        String::new()
    };
    Answer::xml(
        200,
        &format!(
            "<ListBucketResult><Name>{name}</Name><Prefix>{}</Prefix><KeyCount>{count}</KeyCount>\
             <IsTruncated>{has_more}</IsTruncated>{token}{}{text}</ListBucketResult>",
            write_name(prefix),
            encoding_type(asked)
        ),
    )
}

fn encoding_type(asked: &Head) -> &'static str {
    match asked.value("encoding-type") {
        "url" => "<EncodingType>url</EncodingType>",
        _ => "",
    }
}

/// ListMultipartUploads.
pub(crate) fn uploads(bucket: &Bucket, name: &str, asked: &Head) -> Answer {
    let (prefix, write_name) = (asked.value("prefix"), writer(asked));
    let (key_marker, upload_marker) = (asked.value("key-marker"), asked.value("upload-id-marker"));
    let is_after = |key: &str, upload: &str| {
        key > key_marker || key == key_marker && !upload_marker.is_empty() && upload > upload_marker
    };
    let mut rest = bucket
        .uploads
        .iter()
        .filter(|((key, upload), _)| key.starts_with(prefix) && is_after(key, upload));
    let page: Vec<_> = rest.by_ref().take(entries_max(asked, "max-uploads")).collect();
    let mut text = String::new();
    for ((key, number), upload) in &page {
        let (key, initiated) = (write_name(key), timestamp(upload.initiated));
        let _ = write!(
            text,
            "<Upload><Key>{key}</Key><UploadId>{number}</UploadId>\
             <Initiated>{initiated}</Initiated></Upload>"
        );
    }
    if let Some(((key, number), _)) = page.last() {
        let key = write_name(key);
        let _ = write!(
            text,
            "<NextKeyMarker>{key}</NextKeyMarker>\
             <NextUploadIdMarker>{number}</NextUploadIdMarker>"
        );
    }
    Answer::xml(
        200,
        &format!(
            "<ListMultipartUploadsResult><Bucket>{name}</Bucket>{}{text}\
             <IsTruncated>{}</IsTruncated></ListMultipartUploadsResult>",
            encoding_type(asked),
            rest.next().is_some()
        ),
    )
}

/// ListParts.
pub(crate) fn parts(upload: &Upload, asked: &Head) -> Answer {
    let after = asked.value("part-number-marker").parse().unwrap_or(0);
    let mut rest = upload.parts.range(after + 1..);
    let (mut text, mut last) = (String::new(), after);
    for (number, part) in rest.by_ref().take(entries_max(asked, "max-parts")) {
        last = *number;
        let (modified, etag) = (timestamp(part.modified), escape(&part.etag));
        let _ = write!(
            text,
            "<Part><PartNumber>{number}</PartNumber><LastModified>{modified}</LastModified>\
             <ETag>{etag}</ETag><Size>{}</Size>",
            part.bytes()
        );
        if let Some(crc) = part.crc {
            let _ = write!(text, "<ChecksumCRC32>{}</ChecksumCRC32>", checksum(crc));
        }
        text += "</Part>";
    }
    let has_more = rest.next().is_some();
    Answer::xml(
        200,
        &format!(
            "<ListPartsResult>{text}<NextPartNumberMarker>{last}</NextPartNumberMarker>\
             <IsTruncated>{has_more}</IsTruncated></ListPartsResult>"
        ),
    )
}

/// ListBuckets.
pub(crate) fn buckets(store: &Store) -> Answer {
    let mut text = String::new();
    for name in store.bucket_names() {
        let _ = write!(text, "<Bucket><Name>{name}</Name></Bucket>");
    }
    let text =
        format!("<ListAllMyBucketsResult><Buckets>{text}</Buckets></ListAllMyBucketsResult>");
    Answer::xml(200, &text)
}
