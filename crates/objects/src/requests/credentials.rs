//! What all stores' credentials have in common: the HTTP client for object_store's own requests,
//! which fetch them, and what a failure of these requests means.
//!
//! These requests contain secrets (a role's token, a machine's) meant for the named host only, so
//! no redirection is followed.

use super::transport::{CONNECT_TIME, Transport, chain, client_builder};
use crate::failure::{Failure, Reason};
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::{ClientConfigKey, Error};
use reqwest::redirect::Policy;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time limit of a request for credentials.
const CREDENTIAL_TIME: Duration = Duration::from_secs(20);
/// Time limit of a connection without TLS. Only the machine itself or its host answers there, and
/// both are near.
const NEAR_CONNECT_TIME: Duration = Duration::from_secs(1);

/// Creates clients that fetch credentials.
#[derive(Debug)]
pub(crate) struct CredentialConnector;

impl HttpConnector for CredentialConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // The only option that matters. object_store sets it by the host that it asks.
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let is_near = allows_http.as_deref() == Some("true");
        let client = client_builder()
            .redirect(Policy::none())
            .timeout(CREDENTIAL_TIME)
            .connect_timeout(if is_near { NEAR_CONNECT_TIME } else { CONNECT_TIME })
            .https_only(!is_near)
            .build();
        let client = client.map_err(|error| Error::Generic { store: "HTTP", source: error.into() });
        Ok(HttpClient::new(client?))
    }
}

/// Where credentials come from.
pub(crate) struct CredentialSource {
    /// Its name in messages.
    pub(crate) kind: &'static str,
    /// Whether credentials were ever obtained: then a failure is passing.
    were_there: AtomicBool,
}

impl CredentialSource {
    pub(crate) fn new(kind: &'static str) -> CredentialSource {
        CredentialSource { kind, were_there: AtomicBool::new(false) }
    }

    /// Waits for credentials that object_store has or requests.
    pub(crate) fn wait_for<C>(
        &self,
        transport: &Transport,
        credential: impl Future<Output = Result<C, Error>>,
    ) -> Result<C, Failure> {
        let credential = transport.wait_for(credential).map_err(|error| {
            let were_there = self.were_there.load(Ordering::Relaxed);
            let reason = if were_there { Reason::Unavailable } else { Reason::NoCredentials };
            Failure::new(reason, format!("nothing from {}: {}", self.kind, chain(&error)))
        })?;
        self.were_there.store(true, Ordering::Relaxed);
        Ok(credential)
    }
}
