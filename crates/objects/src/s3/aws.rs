//! Credentials, region and endpoint, from the same sources as the AWS tools.
//!
//! In this order: the environment, a web identity, the profile (keys, or a program that prints
//! them), the container, the machine. Methods that only the AWS command line supports (signing in,
//! roles of other profiles) are left to it: it can print credentials for other programs.

use super::process::CredentialProcess;
use super::profile::{Section, find};
use crate::environment::Environment;
use crate::failure::{Failure, Reason};
use crate::requests::ask::no_endpoint;
use crate::requests::credentials::{CredentialConnector, CredentialSource};
use crate::requests::transport::{Transport, chain};
use object_store::RetryConfig;
use object_store::aws::AwsCredentialProvider;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key, AwsCredential};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

/// The region if no other is configured; the store then says which region a bucket is in.
const DEFAULT_REGION: &str = "us-east-1";

/// How requests to S3 are signed, and their destination.
pub(crate) struct Aws {
    region: Option<String>,
    /// The endpoint of another store with S3's interface.
    endpoint: Option<String>,
    credentials: Credentials,
    source: CredentialSource,
}

enum Credentials {
    Keys(Arc<AwsCredential>),
    Process(CredentialProcess),
    /// Requested over HTTP, and renewed before they expire.
    Asked(AwsCredentialProvider),
}

impl Aws {
    /// Reads the environment and files. Makes no requests.
    pub(crate) fn load(environment: &Environment, transport: &Transport) -> Result<Aws, Failure> {
        let get = |name: &str| environment(name).filter(|value| !value.is_empty());
        let profile = load_profile(&get)?;
        let setting = |name: &str| profile.get(name).cloned();
        let is_ignored = get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|it| it == "true");
        let endpoint = get("AWS_ENDPOINT_URL_S3")
            .or_else(|| get("AWS_ENDPOINT_URL"))
            .or_else(|| setting("endpoint_url"))
            .filter(|_| !is_ignored);
        let region =
            get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION")).or_else(|| setting("region"));
        let (credentials, kind) = credentials(&get, &profile, region.as_deref(), transport)?;
        if let Some(endpoint) = endpoint.as_ref().filter(|url| !url.contains("://")) {
            return Err(no_endpoint(endpoint, "http://HOST:PORT"));
        }
        let endpoint = endpoint.map(|url| url.trim_end_matches('/').to_owned());
        Ok(Aws { region, endpoint, credentials, source: CredentialSource::new(kind) })
    }

    /// Returns credentials that are valid now.
    pub(crate) fn credential(&self, transport: &Transport) -> Result<Arc<AwsCredential>, Failure> {
        match &self.credentials {
            Credentials::Keys(keys) => Ok(Arc::clone(keys)),
            Credentials::Process(process) => process.credential(),
            Credentials::Asked(provider) => {
                self.source.wait_for(transport, provider.get_credential())
            }
        }
    }

    /// Returns the region for a bucket whose region is unknown.
    pub(crate) fn region(&self) -> &str {
        self.region.as_deref().unwrap_or(DEFAULT_REGION)
    }

    /// Returns the URL for an already encoded path and query in a bucket.
    pub(crate) fn url(&self, region: &str, bucket: &str, path_and_query: &str) -> String {
        if let Some(endpoint) = &self.endpoint {
            return format!("{endpoint}/{bucket}/{path_and_query}");
        }
        let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        // No certificate covers names with more dots, and host names have no other characters.
        let is_host =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if bucket.chars().all(is_host) {
            format!("https://{bucket}.s3.{region}.{domain}/{path_and_query}")
        } else {
            format!("https://s3.{region}.{domain}/{bucket}/{path_and_query}")
        }
    }

    /// Returns the source of the credentials, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        self.source.kind
    }
}

/// Returns the settings of the profile in use.
fn load_profile(get: &dyn Fn(&str) -> Option<String>) -> Result<Section, Failure> {
    let chosen = get("AWS_PROFILE").or_else(|| get("AWS_DEFAULT_PROFILE"));
    let home = get("HOME").map(PathBuf::from).unwrap_or_default();
    let file = |variable: &str, name: &str| {
        let path = get(variable).map_or_else(|| home.join(".aws").join(name), PathBuf::from);
        fs::read_to_string(path)
    };
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let config = file("AWS_CONFIG_FILE", "config");
    let name = chosen.as_deref().unwrap_or("default");
    let found = find(name, credentials, config).map_err(|error| {
        let text = format!("the files of the AWS tools (~/.aws) can't be read: {error}");
        Failure::new(Reason::NoCredentials, text)
    })?;
    match found {
        None if chosen.is_some() => {
            let text = format!("there is no profile {name} in the files of the AWS tools (~/.aws)");
            Err(Failure::new(Reason::NoCredentials, text))
        }
        found => Ok(found.unwrap_or_default()),
    }
}

/// Returns the first credentials found, and their source.
fn credentials(
    get: &dyn Fn(&str) -> Option<String>,
    profile: &Section,
    region: Option<&str>,
    transport: &Transport,
) -> Result<(Credentials, &'static str), Failure> {
    let keys = |key_id: String, secret_key: String, token: Option<String>| {
        Credentials::Keys(Arc::new(AwsCredential { key_id, secret_key, token }))
    };
    if let (Some(id), Some(secret)) = (get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY")) {
        return Ok((keys(id, secret, get("AWS_SESSION_TOKEN")), "the environment"));
    }
    let ask = |kind, settings: &[(Key, Option<String>)]| {
        let region = region.unwrap_or(DEFAULT_REGION);
        Ok((Credentials::Asked(provider(region, settings, transport)?), kind))
    };
    if let (Some(token), Some(role)) = (get("AWS_WEB_IDENTITY_TOKEN_FILE"), get("AWS_ROLE_ARN")) {
        let settings = [
            (Key::WebIdentityTokenFile, Some(token)),
            (Key::RoleArn, Some(role)),
            (Key::RoleSessionName, get("AWS_ROLE_SESSION_NAME")),
            (Key::StsEndpoint, get("AWS_ENDPOINT_URL_STS")),
        ];
        return ask("a web identity", &settings);
    }
    let setting = |name: &str| profile.get(name).cloned();
    if let (Some(id), Some(secret)) =
        (setting("aws_access_key_id"), setting("aws_secret_access_key"))
    {
        return Ok((keys(id, secret, setting("aws_session_token")), "the profile"));
    }
    if let Some(command) = setting("credential_process") {
        let process = CredentialProcess::new(&command);
        return Ok((Credentials::Process(process), "the profile's program"));
    }
    if ["sso_session", "sso_start_url", "role_arn"].iter().any(|name| profile.contains_key(*name)) {
        let text = "the profile signs in or takes a role, which only the AWS command line can: run \
                    eval \"$(aws configure export-credentials --format env)\" first";
        return Err(Failure::new(Reason::NoCredentials, text));
    }
    let relative = get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let full = get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if relative.is_some() || full.is_some() {
        let settings = [
            (Key::ContainerCredentialsRelativeUri, relative),
            (Key::ContainerCredentialsFullUri, full),
            (Key::ContainerAuthorizationTokenFile, get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")),
        ];
        return ask("the container", &settings);
    }
    if get("AWS_EC2_METADATA_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true")) {
        let one_of_two =
            get("AWS_ACCESS_KEY_ID").is_some() != get("AWS_SECRET_ACCESS_KEY").is_some();
        let text = match one_of_two {
            true => "the environment has only one of the two, and a profile has none",
            false => "neither the environment nor a profile has any",
        };
        return Err(Failure::new(Reason::NoCredentials, text));
    }
    let service = get("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    ask("the machine (nor from the environment or a profile)", &[(Key::MetadataEndpoint, service)])
}

/// Returns a provider for credentials that object_store requests.
fn provider(
    region: &str,
    settings: &[(Key, Option<String>)],
    transport: &Transport,
) -> Result<AwsCredentialProvider, Failure> {
    let retry = RetryConfig { max_retries: 1, ..RetryConfig::default() };
    // The bucket isn't used, but object_store has no store without one, and no provider without a
    // store.
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name("none")
        .with_region(region)
        .with_retry(retry)
        .with_http_connector(CredentialConnector);
    for (key, value) in settings {
        if let Some(value) = value {
            builder = builder.with_config(*key, value);
        }
    }
    let store = transport
        .enter(|| builder.build())
        .map_err(|error| Failure::new(Reason::NoCredentials, chain(&error)))?;
    Ok(Arc::clone(store.credentials()))
}
