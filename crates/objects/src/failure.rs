//! Why a request to an object store failed, whether repeating it may help, and what the user can do
//! about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Error, Operation, public_text};

/// The reason why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The store asks to wait, or has an internal error (429, 408, 500, 503).
    Unavailable,
    /// No connection.
    Unreachable,
    /// No answer, or no further bytes of it, within the time limit.
    TimedOut,
    /// The connection ended within an answer, or the answer has the wrong length.
    Cut,
    /// The bytes that a store has taken differ from those sent.
    Damaged,
    /// The bytes read of an object don't match the store's checksum.
    DamagedRead,
    /// There are no credentials.
    NoCredentials,
    /// The credentials have expired.
    Expired,
    /// The store rejects the credentials, or doesn't know them.
    Denied,
    /// There is no such bucket.
    NoBucket,
    /// There is no such object.
    NoObject,
    /// There is no such upload: it was completed or aborted.
    NoUpload,
    /// The object is not the one that was opened.
    Changed,
    /// There is already an object, and it must not be replaced.
    Exists,
    /// The store lacks parts that it was sent.
    LostPart,
    /// The object that exists now differs from what was sent.
    Mismatch,
    /// The store has taken all parts, but there is no object.
    NotMade,
    /// The store has taken all parts, but the result couldn't be inspected.
    Unseen,
    /// The request isn't supported by this store, or not with these settings.
    Unusable,
    /// The store refuses for some other reason.
    Refused,
    /// The answer isn't the requested document: it is a page of HTML, for example, or empty.
    Unclear,
    /// A list contradicts itself, or doesn't say whether it is complete.
    Untrusted,
    /// The caller gave up.
    Stopped,
}

impl Reason {
    /// Returns whether the same request may succeed in a moment.
    pub fn is_passing(self) -> bool {
        use Reason::{Cut, Damaged, TimedOut, Unavailable, Unreachable};
        matches!(self, Unavailable | Unreachable | TimedOut | Cut | Damaged)
    }

    /// Returns whether the store may have carried out the request: its answer was lost, or the
    /// answer came from an intermediary.
    pub(crate) fn may_be_done(self) -> bool {
        use Reason::{Cut, Damaged, TimedOut, Unavailable, Unclear};
        matches!(self, Unavailable | TimedOut | Cut | Damaged | Unclear)
    }

    fn kind(self) -> io::ErrorKind {
        match self {
            Reason::NoBucket | Reason::NoObject | Reason::NoUpload => io::ErrorKind::NotFound,
            Reason::NoCredentials | Reason::Expired | Reason::Denied => {
                io::ErrorKind::PermissionDenied
            }
            Reason::Exists => io::ErrorKind::AlreadyExists,
            Reason::Unavailable => io::ErrorKind::ResourceBusy,
            Reason::Unreachable => io::ErrorKind::HostUnreachable,
            Reason::TimedOut => io::ErrorKind::TimedOut,
            Reason::Cut => io::ErrorKind::ConnectionReset,
            Reason::Unusable => io::ErrorKind::Unsupported,
            // Not `Interrupted`, after which many callers repeat the call.
            Reason::Stopped => io::ErrorKind::ConnectionAborted,
            _ => io::ErrorKind::Other,
        }
    }

    /// Returns what the user can do, if that depends on Google's store and tools.
    fn google_way_out(self) -> Option<&'static str> {
        Some(match self {
            Reason::Unreachable => {
                "check the network, and the endpoint if one is set (STORAGE_EMULATOR_HOST, \
                 CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE)"
            }
            Reason::NoCredentials => {
                "run 'gcloud auth application-default login', or set \
                 GOOGLE_APPLICATION_CREDENTIALS or CLOUDSDK_AUTH_ACCESS_TOKEN"
            }
            Reason::Expired | Reason::Denied => {
                "check which credentials are in use ('gcloud auth application-default \
                 print-access-token') and what the bucket's policy allows them"
            }
            _ => return None,
        })
    }

    /// Returns what the user can do, if that depends on Azure's store and tools.
    fn azure_way_out(self) -> Option<&'static str> {
        Some(match self {
            Reason::Unreachable => {
                "check the network, the account's name (AZURE_STORAGE_ACCOUNT_NAME), and the \
                 endpoint if one is set (AZURE_STORAGE_ENDPOINT)"
            }
            Reason::NoCredentials => {
                "set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, \
                 or run 'az login' and set AZURE_USE_AZURE_CLI=true"
            }
            Reason::Expired | Reason::Denied => {
                "check which credentials are in use, and what they allow: reading and writing take \
                 the role Storage Blob Data Contributor, or a signature for it"
            }
            Reason::NoBucket => {
                "check the container's name, and the account's (AZURE_STORAGE_ACCOUNT_NAME)"
            }
            Reason::LostPart => {
                "another program may have written this object meanwhile, which drops what others \
                 have sent: run again when nobody else writes to it"
            }
            _ => return None,
        })
    }

    /// Returns the texts that precede and follow the store's message: what is wrong, and what the
    /// user can do.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Reason::Unavailable => ("the store can't answer for now", "try again later"),
            Reason::Unreachable => (
                "the store can't be reached",
                "check the network, the host's name, the region (AWS_REGION) and the endpoint \
                 (AWS_ENDPOINT_URL)",
            ),
            Reason::TimedOut => ("the store doesn't answer", "check the network, and try again"),
            Reason::Cut => ("the store's answers are cut short", "check the network"),
            Reason::Damaged => (
                "what arrived at the store is not what was sent",
                "check the network and this machine's memory; if this store has tags that look \
                 like MD5s and are none, use --verify-output, which reads the object back instead",
            ),
            Reason::DamagedRead => (
                "what was read is not what the store has, by the checksum that it keeps",
                "check the network and this machine's memory, and run again",
            ),
            Reason::NoCredentials => (
                "there are no credentials",
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile (AWS_PROFILE)",
            ),
            Reason::Expired => (
                "the credentials have expired",
                "get new ones (such as by 'aws sso login') and run again",
            ),
            Reason::Denied => (
                "the store denies access",
                "check which credentials are in use (AWS_PROFILE, 'aws sts get-caller-identity') \
                 and what the bucket's policy allows them",
            ),
            Reason::NoBucket => {
                ("there is no such bucket", "check its name, its region and the endpoint")
            }
            Reason::NoObject => ("there is no such object", "check its key"),
            Reason::Changed => (
                "it was written to since it was opened",
                "what was read of it may be neither; run again when nobody writes to it",
            ),
            Reason::Unclear => (
                "what answered is no such store, or says nothing",
                "check the endpoint, and what stands between (a proxy, a page to sign in)",
            ),
            Reason::Untrusted => (
                "the store's list can't be trusted",
                "name the objects one by one, or ask the store by another endpoint",
            ),
            Reason::Unusable | Reason::Refused => ("", ""),
            Reason::Stopped => ("stopped on request", ""),
            _ => self.upload_texts(),
        }
    }

    /// Returns the texts for failures of outputs.
    fn upload_texts(self) -> (&'static str, &'static str) {
        match self {
            Reason::NoUpload => (
                "the upload under way is gone",
                "somebody has aborted it, or a rule of the bucket has: run again",
            ),
            Reason::Exists => (
                "there is an object already",
                "--no-clobber keeps it: choose another key, or remove it first",
            ),
            Reason::LostPart => ("the store has lost a part that it took", "run again"),
            Reason::Mismatch => (
                "the object that is there now is not what was written",
                "don't use it, and run again",
            ),
            Reason::NotMade => (
                "the store has taken the whole output, and made no object of it",
                "what was there before is as it was: run again",
            ),
            Reason::Unseen => (
                "the store has taken the whole output, but it couldn't be looked at",
                "look whether it is there, and how long it is",
            ),
            _ => unreachable!("`texts` has those of all other reasons"),
        }
    }
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason.
    pub reason: Reason,
    /// The store's or the system's message, on one line; may be empty.
    pub detail: String,
}

/// Maximum length of a store's text in a message, in characters.
const DETAIL_MAX: usize = 300;

impl Failure {
    /// Creates a failure with the store's or the system's text, which may be anything. Secrets in
    /// URLs are hidden.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Failure {
        let detail: String = detail.into();
        let detail = public_text(&detail);
        let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
        Failure { reason, detail: detail.chars().take(DETAIL_MAX).map(printable).collect() }
    }

    /// Returns the disk's error about an object.
    pub fn at(self, operation: Operation, url: impl Into<PathBuf>) -> Error {
        GaveUp { failure: self, attempts: 1, spent: Duration::ZERO }.at(operation, url)
    }
}

/// A request that failed permanently, with the attempts that were made.
#[derive(Clone, Debug)]
pub(crate) struct GaveUp {
    /// The last failure.
    pub(crate) failure: Failure,
    pub(crate) attempts: u32,
    /// How long the request was tried.
    pub(crate) spent: Duration,
}

impl GaveUp {
    /// Creates one without any request.
    pub(crate) fn at_once(reason: Reason, detail: &str) -> GaveUp {
        let failure = Failure::new(reason, detail);
        GaveUp { failure, attempts: 1, spent: Duration::ZERO }
    }

    /// Returns the failure with `more` appended to its detail.
    pub(crate) fn with_detail(mut self, more: &str) -> GaveUp {
        let detail = &mut self.failure.detail;
        *detail = match detail.is_empty() {
            true => more.to_owned(),
            false => format!("{detail}; {more}"),
        };
        self
    }

    /// Returns the message, on one line.
    pub(crate) fn text(&self) -> String {
        self.text_with(None)
    }

    /// Returns what is wrong, on one line, with another remedy if `way_out` is given.
    fn text_with(&self, way_out: Option<&'static str>) -> String {
        let Failure { reason, detail } = &self.failure;
        let (what, usual_way_out) = reason.texts();
        let way_out = way_out.unwrap_or(usual_way_out);
        let tried = if self.attempts > 1 {
            let seconds = self.spent.as_secs_f64().ceil();
            format!("(asked {} times in {seconds} seconds)", self.attempts)
        } else {
            String::new()
        };
        let mut text = String::new();
        for (part, separator) in [(what, ": "), (detail, ": "), (&tried, " "), (way_out, ": ")] {
            if !part.is_empty() {
                let separator = if text.is_empty() { "" } else { separator };
                text = text + separator + part;
            }
        }
        text
    }

    /// Returns the disk's error about an object.
    pub(crate) fn at(&self, operation: Operation, url: impl Into<PathBuf>) -> Error {
        let url = url.into();
        let source = self.source(&url);
        Error::new(operation, url, source)
    }

    /// Returns the disk's error about an offset in an object.
    pub(crate) fn at_offset(
        &self,
        operation: Operation,
        url: impl Into<PathBuf>,
        offset: u64,
    ) -> Error {
        let url = url.into();
        let source = self.source(&url);
        Error::at(operation, url, offset, source)
    }

    fn source(&self, url: &Path) -> io::Error {
        let reason = self.failure.reason;
        let way_out = match url.as_os_str().as_encoded_bytes().get(..5) {
            Some(b"gs://") => reason.google_way_out(),
            Some(b"az://") => reason.azure_way_out(),
            _ => None,
        };
        io::Error::new(reason.kind(), self.text_with(way_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_why_how_long_and_the_way_out_on_one_line() {
        let failure = Failure::new(Reason::Unavailable, "503 SlowDown: reduce\nyour rate");
        let gave_up = GaveUp { failure, attempts: 12, spent: Duration::from_millis(300_500) };
        let url = "s3://b/k 1";
        let error = gave_up.at_offset(Operation::Read, url, 4096);
        assert_eq!(
            error.to_string(),
            "reading s3://b/k 1 at byte 4096: the store can't answer for now: 503 SlowDown: reduce \
             your rate (asked 12 times in 301 seconds): try again later"
        );
        let error = Failure::new(Reason::NoObject, "").at(Operation::Open, url);
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
        assert_eq!(error.to_string(), "opening s3://b/k 1: there is no such object: check its key");
    }
}
