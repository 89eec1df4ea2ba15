//! What is asked of the store, by method and query, and what is answered.

use super::head::Head;
use super::http::{Answer, Sent, escape};
use super::lists;
use super::refusal::{Outcome, Refusal};
use super::store::{Object, Part, Store, checksum};
use jiff::fmt::rfc2822::DateTimePrinter;
use serde::Deserialize;
use std::ops::Range;

/// Most parts of an upload.
const PARTS_MAX: u32 = 10_000;

/// Answers a request.
pub(crate) fn answer(store: &Store, asked: &Head, sent: &mut Sent<'_>) -> Answer {
    let path = asked.path.strip_prefix('/').unwrap_or(&asked.path);
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    let answer = match (bucket, key) {
        ("", _) => Ok(lists::buckets(store)),
        (bucket, "") => of_bucket(store, bucket, asked),
        (bucket, key) => of_object(store, bucket, key, asked, sent),
    };
    answer.unwrap_or_else(|refusal| refusal.answer())
}

fn of_bucket(store: &Store, name: &str, asked: &Head) -> Outcome<Answer> {
    match asked.method.as_str() {
        "PUT" => {
            store.create_bucket(name);
            Ok(Answer::new(200))
        }
        "DELETE" => store.remove_bucket(name).map(|()| Answer::new(204)),
        "HEAD" => store.bucket(name).map(|_| Answer::new(200)),
        "GET" if asked.has("location") => {
            drop(store.bucket(name)?);
            Ok(Answer::xml(200, "<LocationConstraint></LocationConstraint>"))
        }
        "GET" if asked.has("uploads") => Ok(lists::uploads(&*store.bucket(name)?, name, asked)),
        "GET" if asked.value("list-type") == "2" => {
            Ok(lists::objects(&*store.bucket(name)?, name, asked))
        }
        _ => Err(unknown(asked)),
    }
}

fn of_object(
    store: &Store,
    bucket: &str,
    key: &str,
    asked: &Head,
    sent: &mut Sent<'_>,
) -> Outcome<Answer> {
    let upload = || (key.to_owned(), asked.value("uploadId").to_owned());
    let is_new = asked.header("if-none-match") == Some("*");
    match asked.method.as_str() {
        "GET" if asked.has("uploadId") => {
            Ok(lists::parts(store.bucket(bucket)?.upload(&upload())?, asked))
        }
        "GET" | "HEAD" => get(&*store.object(bucket, key)?, asked),
        "PUT" if asked.has("uploadId") => {
            let number = asked.value("partNumber").parse().ok();
            let number = number.filter(|number| (1..=PARTS_MAX).contains(number));
            let number = number.ok_or_else(|| {
                Refusal::new(400, "InvalidArgument", "parts have the numbers 1 to 10,000")
            })?;
            store.bucket(bucket)?.upload(&upload())?;
            let part = take(store, asked, sent)?;
            let answer = taken(&part.etag, part.crc.map(checksum));
            store.put_part(bucket, &upload(), number, part)?;
            Ok(answer)
        }
        "PUT" => {
            drop(store.bucket(bucket)?);
            let part = take(store, asked, sent)?;
            let object = store.put(bucket, key, part, kept_headers(asked), is_new)?;
            Ok(taken(&object.etag, object.checksum.clone()))
        }
        "POST" if asked.has("uploads") => {
            let number = store.begin(bucket, key, kept_headers(asked))?;
            let text = format!(
                "<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{}</Key>\
                 <UploadId>{number}</UploadId></InitiateMultipartUploadResult>",
                escape(key)
            );
            Ok(Answer::xml(200, &text))
        }
        "POST" if asked.has("uploadId") => {
            let named = named_parts(&sent.text()?)?;
            complete(&*store.complete(bucket, &upload(), &named, is_new)?, bucket, key)
        }
        "DELETE" if asked.has("uploadId") => {
            store.abort(bucket, &upload()).map(|()| Answer::new(204))
        }
        "DELETE" => store.remove(bucket, key, asked.header("if-match")).map(|()| Answer::new(204)),
        _ => Err(unknown(asked)),
    }
}

fn unknown(asked: &Head) -> Refusal {
    Refusal::missing(&format!("{} {}", asked.method, asked.target))
}

/// Takes the bytes of an object or a part.
fn take(store: &Store, asked: &Head, sent: &mut Sent<'_>) -> Outcome<Part> {
    if asked.headers.contains_key("x-amz-copy-source") {
        return Err(Refusal::missing("copies"));
    }
    if asked.header("content-encoding").is_some_and(|encoding| encoding.contains("aws-chunked")) {
        return Err(Refusal::missing("bodies in chunks (aws-chunked)"));
    }
    let bytes = sent.bytes_left();
    store.take(sent, bytes, asked.header("x-amz-checksum-crc32"))
}

/// The headers that come back with the object.
fn kept_headers(asked: &Head) -> Vec<(String, String)> {
    let is_kept = |name: &str| name == "content-type" || name.starts_with("x-amz-meta-");
    let kept = asked.headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn taken(etag: &str, checksum: Option<String>) -> Answer {
    let answer = Answer::new(200).with("etag", etag);
    match checksum {
        Some(checksum) => answer.with("x-amz-checksum-crc32", checksum),
        None => answer,
    }
}

fn complete(object: &Object, bucket: &str, key: &str) -> Outcome<Answer> {
    let checksum = object.checksum.as_ref();
    let checksum = checksum.map(|sum| format!("<ChecksumCRC32>{sum}</ChecksumCRC32>"));
    Ok(Answer::xml(
        200,
        &format!(
            "<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{}</Key>\
             <ETag>{}</ETag>{}</CompleteMultipartUploadResult>",
            escape(key),
            escape(&object.etag),
            checksum.unwrap_or_default()
        ),
    ))
}

/// An object, or a range of it.
fn get(object: &Object, asked: &Head) -> Outcome<Answer> {
    if asked.header("if-match").is_some_and(|wanted| wanted != object.etag) {
        return Err(Refusal::new(412, "PreconditionFailed", "it has another tag"));
    }
    let bytes = object.bytes;
    let range = asked.header("range").map(|range| parse_range(range, bytes)).transpose()?;
    let mut answer = Answer::new(if range.is_some() { 206 } else { 200 });
    if let Some(Range { start, end }) = &range {
        answer = answer.with("content-range", format!("bytes {start}-{}/{bytes}", end - 1));
    }
    let modified = DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&lists::timestamp(object.modified))
        .map_err(|_| Refusal::new(500, "InternalError", "the clock is not set"))?;
    answer = answer
        .with("etag", &*object.etag)
        .with("last-modified", modified)
        .with("accept-ranges", "bytes");
    for (name, value) in &object.headers {
        answer = answer.with(name, &**value);
    }
    let range = range.unwrap_or(0..bytes);
    Ok(match asked.method.as_str() {
        "HEAD" => answer.with_length(range.end - range.start),
        _ => answer.with_extents(object.extents.clone(), range),
    })
}

/// `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-LENGTH`.
fn parse_range(text: &str, bytes: u64) -> Outcome<Range<u64>> {
    let parse = || {
        let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
        Some(match (first, last) {
            ("", length) => bytes.saturating_sub(length.parse().ok()?)..bytes,
            (first, "") => first.parse().ok()?..bytes,
            (first, last) => first.parse().ok()?..last.parse::<u64>().ok()?.saturating_add(1),
        })
    };
    let range = parse().map(|range| range.start..range.end.min(bytes));
    range
        .filter(|range| range.start < range.end)
        .ok_or_else(|| Refusal::new(416, "InvalidRange", "the object has no such range"))
}

/// What completes an upload.
#[derive(Deserialize)]
struct Completion {
    #[serde(rename = "Part", default)]
    parts: Vec<NamedPart>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NamedPart {
    part_number: u32,
    #[serde(rename = "ETag")]
    etag: String,
}

/// The parts that a completion names.
fn named_parts(text: &str) -> Outcome<Vec<(u32, String)>> {
    let completion: Completion = quick_xml::de::from_str(text)
        .map_err(|error| Refusal::new(400, "MalformedXML", error.to_string()))?;
    Ok(completion.parts.into_iter().map(|part| (part.part_number, part.etag)).collect())
}
