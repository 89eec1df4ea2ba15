//! A request and its answer, for a store whose host and credentials are known.

use super::answer::failure_of;
use super::ask::Ask;
use super::transport::Transport;
use super::xml::{self, Document};
use crate::failure::{Failure, Reason};
use http::HeaderMap;
use object_store::client::HttpResponse;

/// Maximum number of bytes of an answer that a message quotes.
const SAID_BYTES: usize = 120;

/// Makes requests with credentials.
pub(crate) trait Exchange {
    /// Makes a request. An answer that is no success becomes a failure.
    fn send(&self, ask: &Ask<'_>) -> Result<HttpResponse, Failure>;

    /// Returns the transport that receives answers.
    fn transport(&self) -> &Transport;

    /// Makes a request and returns its answer in XML. Fails with [`Reason::Unclear`] if the answer
    /// is another document, or empty.
    fn document<T: Document>(&self, ask: &Ask<'_>) -> Result<T, Failure> {
        self.document_and_headers(ask).map(|(document, _)| document)
    }

    /// Makes a request and returns its answer in XML and the headers. Fails like
    /// [`document`](Exchange::document).
    fn document_and_headers<T: Document>(&self, ask: &Ask<'_>) -> Result<(T, HeaderMap), Failure> {
        let (parts, body) = self.send(ask)?.into_parts();
        let text = self.transport().all(body)?;
        if xml::is_error(&text) {
            return Err(failure_of(ask, parts.status, &parts.headers, &text));
        }
        let (status, root) = (parts.status.as_u16(), T::ROOT);
        let begin = |text: &[u8]| {
            String::from_utf8_lossy(&text[..text.len().min(SAID_BYTES)]).trim().to_owned()
        };
        let unclear = || {
            let said = if text.is_empty() { "nothing".to_owned() } else { begin(&text) };
            Failure::new(Reason::Unclear, format!("{status} with no {root}, but {said}"))
        };
        let document = xml::document(&text).ok_or_else(unclear)?;
        match xml::rest(&text) {
            None => Ok((document, parts.headers)),
            Some(rest) => {
                let text =
                    format!("{status} with more than a {root}: after it comes {}", begin(rest));
                Err(Failure::new(Reason::Unclear, text))
            }
        }
    }
}
