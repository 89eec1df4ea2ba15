//! Credentials and endpoint, from where Google's tools take them.
//!
//! In this order: a token, application default credentials (a file that a variable names, or that
//! `gcloud auth application-default login` has left), the machine. Where an emulator is named, no
//! credentials are sent, as the client libraries have it.

use crate::environment::Environment;
use crate::failure::{Failure, Reason};
use crate::requests::ask::no_endpoint;
use crate::requests::credentials::CredentialConnector;
use crate::requests::transport::{Transport, chain};
use http::HeaderValue;
use http::header::AUTHORIZATION;
use object_store::RetryConfig;
use object_store::client::HttpRequest;
use object_store::gcp::{GcpCredentialProvider, GoogleCloudStorageBuilder};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where requests go if nothing says otherwise.
const ENDPOINT: &str = "https://storage.googleapis.com";
/// Application default credentials, below the folder of gcloud's settings.
const CREDENTIALS_FILE: &str = "application_default_credentials.json";

/// How requests to Google's stores are authorised, and where they go.
pub(crate) struct Google {
    endpoint: String,
    credentials: Credentials,
    /// Where they come from, for messages.
    kind: &'static str,
    /// Whether they were ever there: then a failure passes.
    were_there: AtomicBool,
}

enum Credentials {
    /// An emulator asks for none.
    None,
    Token(String),
    /// Asked for over HTTP, and renewed before they end.
    Asked(GcpCredentialProvider),
}

impl Google {
    /// Looks at the environment and at files; asks nobody.
    pub(crate) fn load(
        environment: &Environment,
        transport: &Transport,
    ) -> Result<Google, Failure> {
        let get = |name: &str| environment(name).filter(|value| !value.is_empty());
        let made = |endpoint: &str, credentials, kind| Google {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            credentials,
            kind,
            were_there: AtomicBool::new(false),
        };
        if let Some(host) = get("STORAGE_EMULATOR_HOST") {
            let host = if host.contains("://") { host } else { format!("http://{host}") };
            return Ok(made(&host, Credentials::None, "nowhere: STORAGE_EMULATOR_HOST is set"));
        }
        let endpoint = get("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
        let endpoint = endpoint.as_deref().unwrap_or(ENDPOINT).trim_end_matches('/');
        // gcloud's has the path of another interface.
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
                asked = transport.wait_for(provider.get_credential()).map_err(|error| {
                    let were_there = self.were_there.load(Ordering::Relaxed);
                    let reason =
                        if were_there { Reason::Unavailable } else { Reason::NoCredentials };
                    let why = chain(&error);
                    Failure::new(reason, format!("nothing from {}: {why}", self.kind))
                })?;
                self.were_there.store(true, Ordering::Relaxed);
                &asked.bearer
            }
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Failure::new(Reason::NoCredentials, "the token can't be sent"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
        Ok(())
    }

    /// What follows the host of an object's URL is already encoded.
    pub(crate) fn url(&self, bucket: &str, path_and_query: &str) -> String {
        format!("{}/{bucket}/{path_and_query}", self.endpoint)
    }

    /// Where credentials come from, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }
}

/// Credentials that object_store asks for: by a file, or of the machine.
fn provider(file: Option<&str>, transport: &Transport) -> Result<GcpCredentialProvider, Failure> {
    let retry = RetryConfig { max_retries: 1, ..RetryConfig::default() };
    // The bucket is of no use; without one there is no store, and without a store no provider.
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
