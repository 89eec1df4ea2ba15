//! A request before it has a host and credentials.

use crate::client::Version;
use crate::failure::{Failure, Reason};
use crate::location::Location;
use crate::stop::Stop;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, Method};
use object_store::client::{HttpRequest, HttpRequestBody};

/// Google's header for a condition on the object's generation number; 0 means that there must be no
/// object.
pub(crate) const GENERATION_MATCH: &str = "x-goog-if-generation-match";

/// A request.
pub(crate) struct Ask<'r> {
    pub(crate) method: Method,
    pub(crate) object: &'r Location,
    pub(crate) query: &'r [(&'r str, &'r str)],
    pub(crate) headers: Vec<(&'static str, String)>,
    body: Bytes,
    pub(crate) stop: &'r Stop,
}

impl<'r> Ask<'r> {
    pub(crate) fn new(method: Method, object: &'r Location, stop: &'r Stop) -> Ask<'r> {
        Ask { method, object, query: &[], headers: Vec::new(), body: Bytes::new(), stop }
    }

    pub(crate) fn with_query(self, query: &'r [(&'r str, &'r str)]) -> Ask<'r> {
        Ask { query, ..self }
    }

    pub(crate) fn with_headers(self, headers: Vec<(&'static str, String)>) -> Ask<'r> {
        Ask { headers, ..self }
    }

    /// Returns whether the request has a condition: one version of the object, or none.
    pub(crate) fn has_condition(&self) -> bool {
        let is_condition = |name: &str| name.starts_with("if-") || name == GENERATION_MATCH;
        self.headers.iter().any(|(name, _)| is_condition(name))
    }

    pub(crate) fn with_body(self, body: impl Into<Bytes>) -> Ask<'r> {
        Ask { body: body.into(), ..self }
    }
}

/// Builds a request without its signature.
pub(crate) fn request(url: &str, ask: &Ask<'_>) -> Result<HttpRequest, Failure> {
    let unusable = |what: &str| Failure::new(Reason::Unusable, what);
    let mut request = http::Request::builder()
        .method(&ask.method)
        .uri(url)
        .body(HttpRequestBody::from(ask.body.clone()))
        .map_err(|_| unusable("no such URL can be sent"))?;
    for (name, value) in &ask.headers {
        let value = HeaderValue::from_str(value)
            .map_err(|_| unusable("the store's tag of the object can't be sent back"))?;
        request.headers_mut().insert(*name, value);
    }
    if ask.method == Method::PUT || ask.method == Method::POST {
        request.headers_mut().insert(CONTENT_LENGTH, ask.body.len().into());
    }
    Ok(request)
}

/// Returns the failure for an endpoint that is no URL. It doesn't show a user, a password or a
/// query.
pub(crate) fn no_endpoint(endpoint: &str, example: &str) -> Failure {
    let host = endpoint.rsplit('@').next().unwrap_or_default();
    let host = host.split('?').next().unwrap_or_default();
    Failure::new(Reason::Unusable, format!("the endpoint {host} is no URL: {example}"))
}

/// Returns the headers that restrict a request to the version that was opened. A weak tag never
/// matches, so then the answer's tag is compared instead.
pub(crate) fn conditions(version: &Version) -> Vec<(&'static str, String)> {
    match version {
        Version { etag: Some(etag), .. } if !etag.starts_with("W/") => {
            vec![("if-match", etag.clone())]
        }
        Version { modified: Some(modified), .. } => {
            vec![("if-unmodified-since", modified.clone())]
        }
        _ => Vec::new(),
    }
}

/// Returns a URL as it was given, with all characters encoded that a URL can't contain.
pub(crate) fn web_url(object: &Location) -> String {
    let url = object.text();
    let url = url.split('#').next().unwrap_or_default();
    let mut sent = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b' '
            | b'"'
            | b'<'
            | b'>'
            | b'\\'
            | b'^'
            | b'`'
            | b'{'
            | b'|'
            | b'}'
            | 0x7f..
            | ..0x20 => {
                sent += &format!("%{byte:02X}");
            }
            _ => sent.push(char::from(byte)),
        }
    }
    sent
}
