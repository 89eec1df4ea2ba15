//! A store's answers: whether repeating a request may help, and if not, why.

use super::ask::Ask;
use super::xml::{ErrorAnswer, parse};
use crate::failure::{Failure, Reason};
use http::{HeaderMap, StatusCode};
use std::ops::Range;

/// Returns the reason for an error code: of S3 and Google, then of Azure.
fn by_code(code: &str) -> Option<Reason> {
    Some(match code {
        "NoSuchBucket" => Reason::NoBucket,
        "NoSuchKey" => Reason::NoObject,
        "NoSuchUpload" => Reason::NoUpload,
        "InvalidPart" | "InvalidPartOrder" => Reason::LostPart,
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => Reason::Expired,
        "AccessDenied"
        | "AllAccessDisabled"
        | "AccountProblem"
        | "InvalidAccessKeyId"
        | "InvalidToken"
        | "SignatureDoesNotMatch"
        | "InvalidSecurity" => Reason::Denied,
        // A conflict with another request, which passes in a moment.
        "ConditionalRequestConflict" | "OperationAborted" => Reason::Unavailable,
        "InternalError"
        | "ServiceUnavailable"
        | "SlowDown"
        | "RequestTimeout"
        | "Throttling"
        | "ThrottlingException"
        | "RequestLimitExceeded"
        | "TooManyRequests" => Reason::Unavailable,
        // The body was damaged or cut in transit.
        "BadDigest"
        | "XAmzContentChecksumMismatch"
        | "XAmzContentSHA256Mismatch"
        | "IncompleteBody" => Reason::Cut,
        "PreconditionFailed" => Reason::Changed,
        // Their status is that of missing credentials.
        "RequestTimeTooSkewed" | "InvalidObjectState" => Reason::Refused,
        _ => return by_azures_code(code),
    })
}

/// Returns the reason for those of Azure's error codes whose status doesn't give it.
fn by_azures_code(code: &str) -> Option<Reason> {
    Some(match code {
        "ContainerNotFound" | "ContainerBeingDeleted" | "ContainerDisabled" => Reason::NoBucket,
        "BlobNotFound" | "ResourceNotFound" => Reason::NoObject,
        "BlobAlreadyExists" => Reason::Exists,
        // Another writer's list of blocks has made the blocks vanish.
        "InvalidBlockList" => Reason::LostPart,
        "Md5Mismatch" => Reason::Cut,
        "InvalidAuthenticationInfo" | "PublicAccessNotPermitted" => Reason::Denied,
        // Its status is that of a failed condition.
        "LeaseIdMissing" => Reason::Refused,
        _ => return None,
    })
}

/// Returns the reason for a status.
fn by_status(status: StatusCode) -> Reason {
    match status.as_u16() {
        401 | 403 => Reason::Denied,
        404 | 410 => Reason::NoObject,
        // The range is beyond the end: the object has become shorter.
        412 | 416 => Reason::Changed,
        408 | 425 | 429 | 500 | 502..=504 => Reason::Unavailable,
        _ => Reason::Refused,
    }
}

/// Returns the failure for an answer.
pub(crate) fn failure(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    let mut answer: ErrorAnswer = parse(body).unwrap_or_default();
    if answer.code.is_empty() {
        // Azure's code, also in an answer without a body.
        answer.code = header(headers, "x-ms-error-code").unwrap_or_default().to_owned();
    }
    let reason = by_code(&answer.code).unwrap_or_else(|| by_status(status));
    let mut detail = status.as_u16().to_string();
    for text in [&answer.code, &answer.message] {
        if !text.is_empty() {
            detail += if detail.len() > 3 { ": " } else { " " };
            detail += text;
        }
    }
    if answer.code.is_empty() {
        detail = format!("{detail} {}", status.canonical_reason().unwrap_or_default());
    }
    if reason == Reason::Refused {
        detail = format!("the store refuses: {detail}{}", way_out(&answer.code));
    }
    Failure::new(reason, detail.trim_end())
}

/// Returns the failure for the answer to a request. If the request had no condition, a failed
/// condition is not a change of the object.
pub(crate) fn failure_of(
    ask: &Ask<'_>,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Failure {
    let failure = failure(status, headers, body);
    match status == StatusCode::RANGE_NOT_SATISFIABLE || ask.has_condition() {
        true => failure,
        false => refused(failure, false),
    }
}

/// Returns advice for errors that have no reason of their own.
fn way_out(code: &str) -> &'static str {
    match code {
        "RequestTimeTooSkewed" => ": set this machine's clock",
        "EntityTooSmall" | "EntityTooLarge" | "RequestBodyTooLarge" => {
            ": choose other parts (--s3-part-size)"
        }
        "PermanentRedirect"
        | "AuthorizationHeaderMalformed"
        | "IllegalLocationConstraintException" => ": check the region (AWS_REGION)",
        "InvalidBlobOrBlock" | "BlockCountExceedsLimit" => {
            ": parts of this name that were sent before may be in the way, until an object is made \
             of them or a week is over: choose another key"
        }
        "InvalidBlobType" => ": what is there is made of pages or appended to: choose another key",
        "InvalidObjectState" | "BlobArchived" | "BlobBeingRehydrated" => {
            ": have the store bring it back from its archive"
        }
        "QuotaExceeded" | "StorageFull" | "XMinioStorageFull" => ": free some space there",
        _ => "",
    }
}

/// Returns why an object wasn't written. With `is_new` the condition was that there is none, so a
/// failed condition means that there is one. Without it, another party has set the condition.
pub(crate) fn refused(failure: Failure, is_new: bool) -> Failure {
    match failure.reason {
        Reason::Changed if is_new => Failure::new(Reason::Exists, failure.detail),
        Reason::Changed | Reason::Exists if !is_new => {
            let text = format!(
                "the store refuses: {}: a condition that was not asked for: a rule of the bucket, \
                 or what stands between, has set it, as one that keeps objects from being replaced",
                failure.detail
            );
            Failure::new(Reason::Refused, text)
        }
        _ => failure,
    }
}

/// Returns a header's value.
pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The part of an object in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentRange {
    /// Its first byte.
    pub(crate) start: u64,
    /// The offset after its last byte.
    pub(crate) end: u64,
    /// The length of the whole object in bytes, if the answer has it.
    pub(crate) whole: Option<u64>,
}

impl ContentRange {
    /// Returns the range that covers all of an object.
    pub(crate) fn whole(bytes: u64) -> ContentRange {
        ContentRange { start: 0, end: bytes, whole: Some(bytes) }
    }

    /// Fails if the `sent` range isn't the requested one. Returns the length of the whole object.
    pub(crate) fn check(sent: Option<ContentRange>, asked: &Range<u64>) -> Result<u64, Failure> {
        let unusable = |text: &str| {
            let text = format!("{text}: copy the file with another program, and read the copy");
            Failure::new(Reason::Unusable, text)
        };
        match sent {
            Some(ContentRange { whole: Some(whole), .. }) if whole < asked.end => {
                Err(other_length(asked.end, whole))
            }
            Some(ContentRange { start, end, whole }) if (start..end) == *asked => {
                whole.ok_or_else(|| unusable("the server doesn't say how long the whole file is"))
            }
            _ => Err(unusable("the server doesn't send the ranges that it is asked for")),
        }
    }
}

/// Returns the failure for an object whose length no answer gives.
pub(crate) fn no_length() -> Failure {
    let text = "the server doesn't say how long it is: copy the file with another program, and \
                read the copy";
    Failure::new(Reason::Unusable, text)
}

/// Returns the failure for an answer to a read with another length than the object had when it was
/// opened.
pub(crate) fn other_length(opened: u64, whole: u64) -> Failure {
    let text = format!(
        "{opened} bytes were announced, and the answer to a read says that it has {whole}: run \
         again when nobody writes to it; if nobody does, the server announces a wrong length, so \
         copy the file with another program, and read the copy"
    );
    Failure::new(Reason::Refused, text)
}

/// Returns the length of an answer's body, from its header.
pub(crate) fn length(headers: &HeaderMap) -> Option<u64> {
    header(headers, "content-length")?.parse().ok()
}

/// Returns the part of an object in an answer, from its header.
pub(crate) fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    let range = header(headers, "content-range")?.trim().strip_prefix("bytes ")?;
    let (range, whole) = range.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let end = last.trim().parse::<u64>().ok()?.checked_add(1)?;
    Some(ContentRange { start: first.trim().parse().ok()?, end, whole: whole.trim().parse().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(status: u16, code: &str) -> (Reason, String) {
        let body = format!("<Error><Code>{code}</Code><Message>says why</Message></Error>");
        let body = if code.is_empty() { "<html>" } else { &body };
        let status = StatusCode::from_u16(status).unwrap();
        let failure = failure(status, &HeaderMap::new(), body.as_bytes());
        (failure.reason, failure.detail)
    }

    #[test]
    fn codes_decide_and_else_the_status() {
        let expected = [
            (404, "NoSuchBucket", Reason::NoBucket),
            (404, "NoSuchKey", Reason::NoObject),
            (404, "NoSuchUpload", Reason::NoUpload),
            (404, "", Reason::NoObject),
            (403, "AccessDenied", Reason::Denied),
            (400, "ExpiredToken", Reason::Expired),
            (403, "", Reason::Denied),
            (412, "PreconditionFailed", Reason::Changed),
            (409, "ConditionalRequestConflict", Reason::Unavailable),
            (200, "InternalError", Reason::Unavailable),
            (503, "SlowDown", Reason::Unavailable),
            (429, "", Reason::Unavailable),
            (408, "", Reason::Unavailable),
            (500, "", Reason::Unavailable),
            (501, "NotImplemented", Reason::Refused),
            (400, "BadDigest", Reason::Cut),
            (400, "InvalidPart", Reason::LostPart),
            (409, "BucketAlreadyExists", Reason::Refused),
            (404, "ContainerNotFound", Reason::NoBucket),
            (409, "BlobAlreadyExists", Reason::Exists),
            (412, "ConditionNotMet", Reason::Changed),
            (412, "LeaseIdMissing", Reason::Refused),
            (503, "ServerBusy", Reason::Unavailable),
        ];
        for (status, code, reason_expected) in expected {
            assert_eq!(reason(status, code).0, reason_expected, "{status} {code}");
        }
        assert_eq!(reason(503, "SlowDown").1, "503 SlowDown: says why");
        assert_eq!(reason(503, "").1, "503 Service Unavailable");
        assert_eq!(
            reason(403, "RequestTimeTooSkewed"),
            (
                Reason::Refused,
                "the store refuses: 403 RequestTimeTooSkewed: says why: set this machine's clock"
                    .to_owned()
            )
        );
        let archived = reason(403, "InvalidObjectState");
        assert!(archived.0 == Reason::Refused && archived.1.ends_with("from its archive"));
        let mut headers = HeaderMap::new();
        headers.insert("x-ms-error-code", "ContainerNotFound".parse().unwrap());
        let failure = failure(StatusCode::NOT_FOUND, &headers, b"");
        assert_eq!(failure, Failure::new(Reason::NoBucket, "404 ContainerNotFound"));
    }

    #[test]
    fn ranges_are_read_from_their_header() {
        let mut headers = HeaderMap::new();
        headers.insert("content-range", "bytes 5-9/100".parse().unwrap());
        let range = ContentRange { start: 5, end: 10, whole: Some(100) };
        assert_eq!(content_range(&headers), Some(range));
        headers.insert("content-range", "bytes 5-9/*".parse().unwrap());
        assert_eq!(content_range(&headers), Some(ContentRange { whole: None, ..range }));
        headers.insert("content-range", "bytes */100".parse().unwrap());
        assert_eq!(content_range(&headers), None);
    }
}
