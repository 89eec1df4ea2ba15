//! Why a request to an object store failed, whether it is worth asking again, and what the user can
//! do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xsort_disk::{Error, Operation, public_text};

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The store asks for patience, or has an error of its own (429, 408, 500, 503).
    Unavailable,
    /// No connection.
    Unreachable,
    /// No answer, or no more bytes of it, within the time that is given to it.
    TimedOut,
    /// The connection ended within an answer, or the answer has not the length that it should have.
    Cut,
    /// What a store has taken is not what it was sent.
    Damaged,
    /// What was read of an object is not what the store has, by its checksum.
    DamagedRead,
    /// There are no credentials.
    NoCredentials,
    /// The credentials were valid once.
    Expired,
    /// The store knows them, and says no; or doesn't know them.
    Denied,
    /// There is no such bucket.
    NoBucket,
    /// There is no such object.
    NoObject,
    /// There is no such upload: it was completed or aborted.
    NoUpload,
    /// The object isn't the one that was asked about before.
    Changed,
    /// There is an object already, and there must not be one.
    Exists,
    /// The store has not got the parts that it was sent.
    LostPart,
    /// What is there now is not what was sent.
    Mismatch,
    /// The store has taken everything, and there is no object of it.
    NotMade,
    /// The store has taken everything, and what came of it couldn't be seen.
    Unseen,
    /// What is asked for can't be asked of this store, or not with these settings.
    Unusable,
    /// The store refuses for another reason.
    Refused,
    /// The answer isn't the document that was asked for: a page of HTML, say, or nothing.
    Unclear,
    /// A list contradicts itself, or doesn't say whether it is whole.
    Untrusted,
    /// The caller gave up.
    Stopped,
}

impl Reason {
    /// Whether the same request may succeed in a moment.
    pub fn is_passing(self) -> bool {
        use Reason::{Cut, Damaged, TimedOut, Unavailable, Unreachable};
        matches!(self, Unavailable | Unreachable | TimedOut | Cut | Damaged)
    }

    /// Whether the store may have done what it was asked: its answer was lost, or another came
    /// from what stands between.
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
            // Not `Interrupted`, which many take for a call to be made again.
            Reason::Stopped => io::ErrorKind::ConnectionAborted,
            _ => io::ErrorKind::Other,
        }
    }

    /// What the user can do where that depends on the store and its tools; Google's.
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

    /// The same of Azure's.
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

    /// What is wrong, and what the user can do, around what the store says.
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

    /// The texts of what can become of an output.
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
    /// Why.
    pub reason: Reason,
    /// What the store or the system says, on one line; may be empty.
    pub detail: String,
}

/// Longest text of a store in a message, in characters.
const DETAIL_MAX: usize = 300;

impl Failure {
    /// With the words of the store or of the system, which may be anything; URLs in them are
    /// without their secrets.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Failure {
        let detail: String = detail.into();
        let detail = public_text(&detail);
        let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
        Failure { reason, detail: detail.chars().take(DETAIL_MAX).map(printable).collect() }
    }

    /// An error of the disk, about an object.
    pub fn at(self, operation: Operation, url: impl Into<PathBuf>) -> Error {
        GaveUp { failure: self, attempts: 1, spent: Duration::ZERO }.at(operation, url)
    }
}

/// A request that failed for good, and what was tried.
#[derive(Clone, Debug)]
pub(crate) struct GaveUp {
    /// The last failure.
    pub(crate) failure: Failure,
    pub(crate) attempts: u32,
    /// How long it was tried.
    pub(crate) spent: Duration,
}

impl GaveUp {
    /// Without a request.
    pub(crate) fn at_once(reason: Reason, detail: &str) -> GaveUp {
        let failure = Failure::new(reason, detail);
        GaveUp { failure, attempts: 1, spent: Duration::ZERO }
    }

    /// With something else that is known.
    pub(crate) fn with_detail(mut self, more: &str) -> GaveUp {
        let detail = &mut self.failure.detail;
        *detail = match detail.is_empty() {
            true => more.to_owned(),
            false => format!("{detail}; {more}"),
        };
        self
    }

    /// What is wrong, on one line.
    pub(crate) fn text(&self) -> String {
        self.text_with(None)
    }

    /// The same with another way out.
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

    /// An error of the disk, about an object.
    pub(crate) fn at(&self, operation: Operation, url: impl Into<PathBuf>) -> Error {
        let url = url.into();
        let source = self.source(&url);
        Error::new(operation, url, source)
    }

    /// The same at a place in the object.
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
