//! The HTTP of object_store's own requests, which are for credentials. As those to stores they have
//! secrets (a role's token, a machine's), which are for the host that was named: no redirection is
//! followed.

use super::transport::{CONNECT_TIME, client_builder};
use object_store::client::{ClientOptions, HttpClient, HttpConnector};
use object_store::{ClientConfigKey, Error};
use reqwest::redirect::Policy;
use std::time::Duration;

/// How long credentials may take to come.
const CREDENTIAL_TIME: Duration = Duration::from_secs(20);
/// How long a connection may take to come about to what answers without TLS: the machine itself
/// has it, or nothing has.
const NEAR_CONNECT_TIME: Duration = Duration::from_secs(1);

/// Makes clients for credentials.
#[derive(Debug)]
pub(crate) struct CredentialConnector;

impl HttpConnector for CredentialConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // The only option that matters, and that object_store decides by whom it asks.
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
