//! Google's Cloud Storage, by its XML API, which is S3's with other headers: its address, and the
//! authorisation of requests. With HMAC keys it can be used as an S3, at the same address.
//!
//! Credentials and endpoint are from the same sources as Google's tools, in this order: a token,
//! application default credentials (a file that a variable names, or that
//! `gcloud auth application-default login` has left), the machine. If an emulator is named, no
//! credentials are sent, as in the client libraries.

use crate::environment::Environment;
use crate::failure::{Failure, Reason};
use crate::requests::ask::no_endpoint;
use crate::requests::credentials::{CredentialConnector, CredentialSource};
use crate::requests::transport::{Transport, chain};
use http::HeaderValue;
use http::header::AUTHORIZATION;
use object_store::RetryConfig;
use object_store::client::HttpRequest;
use object_store::gcp::{GcpCredentialProvider, GoogleCloudStorageBuilder};
use std::path::Path;
use std::sync::Arc;

/// The endpoint if no other is configured.
const ENDPOINT: &str = "https://storage.googleapis.com";
/// The file of application default credentials, in the folder of gcloud's settings.
const CREDENTIALS_FILE: &str = "application_default_credentials.json";

/// The authorisation of requests to Google's stores, and their destination.
pub(crate) struct Google {
    endpoint: String,
    credentials: Credentials,
    source: CredentialSource,
}

enum Credentials {
    /// An emulator needs none.
    None,
    Token(String),
    /// Requested over HTTP, and renewed before they expire.
    Asked(GcpCredentialProvider),
}

impl Google {
    /// Reads the environment and files. Makes no requests.
    pub(crate) fn load(
        environment: &Environment,
        transport: &Transport,
    ) -> Result<Google, Failure> {
        let get = |name: &str| environment(name).filter(|value| !value.is_empty());
        let made = |endpoint: &str, credentials, kind| Google {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            credentials,
            source: CredentialSource::new(kind),
        };
        if let Some(host) = get("STORAGE_EMULATOR_HOST") {
            let host = if host.contains("://") { host } else { format!("http://{host}") };
            return Ok(made(&host, Credentials::None, "nowhere: STORAGE_EMULATOR_HOST is set"));
        }
        let endpoint = get("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
        let endpoint = endpoint.as_deref().unwrap_or(ENDPOINT).trim_end_matches('/');
        // gcloud's endpoint has the path of another interface.
        let endpoint = endpoint.strip_suffix("/storage/v1").unwrap_or(endpoint);
        if !endpoint.contains("://") {
            return Err(no_endpoint(endpoint, "https://HOST"));
        }
        if let Some(token) = get("CLOUDSDK_AUTH_ACCESS_TOKEN") {
            return Ok(made(endpoint, Credentials::Token(token), "the environment"));
        }
        let home = || Some(format!("{}/.config/gcloud", get("HOME")?));
        let folder = get("CLOUDSDK_CONFIG").or_else(home).unwrap_or_default();
        let file = Path::new(&folder).join(CREDENTIALS_FILE);
        let file = match get("GOOGLE_APPLICATION_CREDENTIALS") {
            Some(file) => Some(file),
            None => file.exists().then(|| file.to_string_lossy().into_owned()),
        };
        let kind = match file {
            Some(_) => "application default credentials",
            None => "the machine (nor application default credentials)",
        };
        let provider = provider(file.as_deref(), transport)?;
        Ok(made(endpoint, Credentials::Asked(provider), kind))
    }

    /// Adds credentials that are valid now.
    pub(crate) fn authorise(
        &self,
        request: &mut HttpRequest,
        transport: &Transport,
    ) -> Result<(), Failure> {
        let asked;
        let token = match &self.credentials {
            Credentials::None => return Ok(()),
            Credentials::Token(token) => token,
            Credentials::Asked(provider) => {
                asked = self.source.wait_for(transport, provider.get_credential())?;
                &asked.bearer
            }
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Failure::new(Reason::NoCredentials, "the token can't be sent"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(())
    }

    /// Returns the URL for an already encoded path and query in a bucket.
    pub(crate) fn url(&self, bucket: &str, path_and_query: &str) -> String {
        format!("{}/{bucket}/{path_and_query}", self.endpoint)
    }

    /// Returns the source of the credentials, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        self.source.kind
    }
}

/// Returns a provider for credentials that object_store requests: with a file, or from the machine.
fn provider(file: Option<&str>, transport: &Transport) -> Result<GcpCredentialProvider, Failure> {
    let retry = RetryConfig { max_retries: 1, ..RetryConfig::default() };
    // The bucket isn't used, but object_store has no store without one, and no provider without a
    // store.
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_bucket_name("none")
        .with_retry(retry)
        .with_http_connector(CredentialConnector);
    if let Some(file) = file {
        builder = builder.with_application_credentials(file);
    }
    let store = transport
        .enter(|| builder.build())
        .map_err(|error| Failure::new(Reason::NoCredentials, chain(&error)))?;
    Ok(Arc::clone(store.credentials()))
}
