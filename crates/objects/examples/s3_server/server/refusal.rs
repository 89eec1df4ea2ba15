//! Errors as S3 says them: a status, a code that programs know, and a sentence.

use super::http::{Answer, escape};
use std::io;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    code: &'static str,
    message: String,
}

/// What comes of a request.
pub(crate) type Outcome<T> = Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { status, code, message: message.into() }
    }

    /// What this server doesn't have.
    pub(crate) fn missing(what: &str) -> Refusal {
        Refusal::new(501, "NotImplemented", format!("this server has no {what}"))
    }

    pub(crate) fn answer(&self) -> Answer {
        let Refusal { status, code, message } = self;
        let message = escape(message);
        let text = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        Answer::xml(*status, &text)
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        let is_cut = error.kind() == io::ErrorKind::UnexpectedEof;
        let code = if is_cut { "IncompleteBody" } else { "InternalError" };
        Refusal::new(if is_cut { 400 } else { 500 }, code, error.to_string())
    }
}
