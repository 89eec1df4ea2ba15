//! Redirections. None is followed: a signature, a token and the bytes of an output are only for the
//! host that was asked. But if a redirection names the bucket's region, the request is repeated
//! there, at an address that depends only on the region.

use super::answer::header;
use super::xml::{ErrorAnswer, parse};
use crate::failure::{Failure, Reason};
use http::{HeaderMap, StatusCode};

/// The ends of the names of Amazon's hosts.
const DOMAINS: [&str; 2] = [".amazonaws.com", ".amazonaws.com.cn"];

/// Returns the bucket's region according to a refusal.
pub(crate) fn region(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let ErrorAnswer { region, endpoint, .. } = parse(body).unwrap_or_default();
    let said = header(headers, "x-amz-bucket-region").map(str::to_owned);
    let by_location = || header(headers, "location").and_then(host).and_then(region_of_host);
    said.or_else(|| Some(region).filter(|region| !region.is_empty()))
        .or_else(|| region_of_host(&endpoint))
        .or_else(by_location)
        // It becomes part of a host name.
        .filter(|region| is_region(region))
}

/// Returns the failure for a redirection. `region` is the bucket's region, if known, where the
/// request was already tried.
pub(crate) fn redirected(status: StatusCode, headers: &HeaderMap, region: Option<&str>) -> Failure {
    // Without the rest of the URL, which may contain a signature.
    let elsewhere = header(headers, "location").and_then(host).unwrap_or("another address");
    let region = region.map_or_else(String::new, |region| format!(", said to be {region}"));
    let text = format!(
        "the store sends the request to {elsewhere} ({status}), and no redirection is followed: \
         check the endpoint (AWS_ENDPOINT_URL, STORAGE_EMULATOR_HOST, AZURE_STORAGE_ENDPOINT) and \
         the region (AWS_REGION{region})"
    );
    Failure::new(Reason::Refused, text)
}

/// Returns the host in a URL, with its port.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    // Without user name and password.
    host.rsplit('@').next().filter(|host| !host.is_empty())
}

/// Returns the region in one of Amazon's host names: `BUCKET.s3.REGION.amazonaws.com`, or in the
/// older form `BUCKET.s3-REGION.amazonaws.com`.
fn region_of_host(host: &str) -> Option<String> {
    let name = DOMAINS.iter().find_map(|domain| host.strip_suffix(domain))?;
    let region = match name.rsplit_once('.') {
        Some((before, region)) if before == "s3" || before.ends_with(".s3") => region,
        Some((_, last)) => last.strip_prefix("s3-")?,
        None => name.strip_prefix("s3-")?,
    };
    is_region(region).then(|| region.to_owned())
}

/// Returns whether a text may be the name of a region.
fn is_region(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=40).contains(&text.len()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(location: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("location", location.parse().unwrap());
        headers
    }

    #[test]
    fn a_region_comes_from_what_a_refusal_says_of_it() {
        let found = |location: &str, body: &str| region(&at(location), body.as_bytes());
        let of = |name: &str| Some(name.to_owned());
        for (location, expected) in [
            ("https://b.s3.eu-north-1.amazonaws.com/k?x=1", of("eu-north-1")),
            ("https://b.s3-us-west-2.amazonaws.com/k", of("us-west-2")),
            ("https://s3.cn-north-1.amazonaws.com.cn/b/k", of("cn-north-1")),
            ("https://s3-sa-east-1.amazonaws.com", of("sa-east-1")),
            ("https://b.s3.amazonaws.com/k", None),
            ("https://b.s3.eu-north-1.amazonaws.com.evil.example/", None),
            ("https://s3.eu-north-1.amazonaws.com@evil.example/", None),
            ("https://evil.example/s3.eu-north-1.amazonaws.com", None),
            ("/k", None),
        ] {
            assert_eq!(found(location, ""), expected, "{location}");
        }
        let error = "<Error><Code>PermanentRedirect</Code>\
                     <Endpoint>b.s3-eu-west-1.amazonaws.com</Endpoint></Error>";
        assert_eq!(found("/k", error), of("eu-west-1"));
        let error = "<Error><Code>AuthorizationHeaderMalformed</Code>\
                     <Region>eu-west-2</Region></Error>";
        assert_eq!(found("/k", error), of("eu-west-2"));
        assert_eq!(found("/k", "<Error><Region>evil.example/</Region></Error>"), None);
    }

    #[test]
    fn a_redirection_names_the_host_the_region_and_no_signature() {
        let headers = at("https://other.example:9000/k?X-Amz-Signature=abc");
        let failure = redirected(StatusCode::TEMPORARY_REDIRECT, &headers, None);
        assert!(failure.detail.contains("to other.example:9000 (307 "), "{failure:?}");
        assert!(failure.detail.ends_with("the region (AWS_REGION)"), "{failure:?}");
        assert!(!failure.detail.contains("abc"), "{failure:?}");
        let failure = redirected(StatusCode::FOUND, &headers, Some("eu-north-1"));
        assert!(failure.detail.ends_with("(AWS_REGION, said to be eu-north-1)"), "{failure:?}");
    }
}
