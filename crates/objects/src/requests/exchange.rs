//! A request and its answer, of a store whose host and credentials are known.

use super::answer::failure;
use super::ask::Ask;
use super::transport::Transport;
use super::xml;
use crate::failure::{Failure, Reason};
use object_store::client::HttpResponse;
use serde::de::DeserializeOwned;

/// Makes requests with credentials.
pub(crate) trait Exchange {
    /// Makes a request; an answer that is no success is a failure.
    fn send(&self, ask: &Ask<'_>) -> Result<HttpResponse, Failure>;

    /// By which answers come.
    fn transport(&self) -> &Transport;

    /// An answer in XML.
    fn document<T: DeserializeOwned>(&self, ask: &Ask<'_>) -> Result<T, Failure> {
        let (parts, body) = self.send(ask)?.into_parts();
        let text = self.transport().all(body)?;
        if xml::is_error(&text) {
            return Err(failure(parts.status, &parts.headers, &text));
        }
        let unclear = || Failure::new(Reason::Refused, "the store's answer can't be understood");
        xml::parse(&text).ok_or_else(unclear)
    }
}
