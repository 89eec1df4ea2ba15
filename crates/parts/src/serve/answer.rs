//! Answers to requests.

use super::request::{Asked, range_of};
use super::resource::Resource;
use super::served::Served;

/// A status, and the content sent with it.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Header lines, without the length.
    pub(super) headers: Vec<String>,
    /// The content, and the range of its bytes to send. For HEAD only the length is sent.
    pub(super) body: Option<(Resource, u64, u64)>,
    /// True if nothing more is read from this connection.
    pub(super) is_last: bool,
}

impl Answer {
    fn refusal(status: u16) -> Answer {
        Answer { status, headers: Vec::new(), body: None, is_last: false }
    }
}

impl Served {
    pub(super) fn answer(&self, asked: &Asked) -> Answer {
        if asked.has_body {
            // The body would have to be skipped.
            return Answer { is_last: true, ..Answer::refusal(413) };
        }
        if asked.method != "GET" && asked.method != "HEAD" {
            return Answer::refusal(405);
        }
        let Some(resource) = self.find(&asked.target) else { return Answer::refusal(404) };
        let is_wanted = |wanted: &str| {
            wanted == "*" || wanted.split(',').any(|tag| tag.trim() == resource.tag())
        };
        if !asked.if_match.as_deref().is_none_or(is_wanted) {
            return Answer::refusal(412);
        }
        let bytes = resource.bytes();
        let mut headers =
            vec![format!("etag: {}", resource.tag()), "accept-ranges: bytes".to_owned()];
        let is_get = asked.method == "GET";
        match range_of(asked.range.as_deref().filter(|_| is_get), bytes) {
            Err(()) => {
                let headers = vec![format!("content-range: bytes */{bytes}")];
                Answer { headers, ..Answer::refusal(416) }
            }
            Ok(None) => {
                Answer { status: 200, headers, body: Some((resource, 0, bytes)), is_last: false }
            }
            Ok(Some((begin, end))) => {
                headers.push(format!("content-range: bytes {begin}-{}/{bytes}", end - 1));
                Answer { status: 206, headers, body: Some((resource, begin, end)), is_last: false }
            }
        }
    }
}
