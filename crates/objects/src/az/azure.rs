//! The account, its credentials and its endpoint, from the same sources as Azure's tools.
//!
//! In this order: a connection string, a token, the account's key, a workload identity, a service
//! principal, a shared access signature, the Azure command line (if enabled), the machine.

use crate::environment::Environment;
use crate::failure::{Failure, Reason};
use crate::requests::ask::no_endpoint;
use crate::requests::credentials::{CredentialConnector, CredentialSource};
use crate::requests::transport::{Transport, chain};
use http::HeaderValue;
use object_store::RetryConfig;
use object_store::azure::{
    AzureAuthorizer, AzureConfigKey as Key, AzureCredentialProvider, MicrosoftAzureBuilder,
};
use object_store::client::HttpRequest;
use std::collections::HashMap;
use std::sync::Arc;

/// The version of the interface that every request names: the one that object_store uses.
const VERSION: &str = "2023-11-03";

/// The authorisation of requests to an account, and their destination.
pub(crate) struct Azure {
    account: String,
    endpoint: String,
    /// `None` for public containers.
    credentials: Option<AzureCredentialProvider>,
    source: CredentialSource,
}

impl Azure {
    /// Reads the environment. Makes no requests.
    pub(crate) fn load(environment: &Environment, transport: &Transport) -> Result<Azure, Failure> {
        let get = |name: &str| environment(name).filter(|value| !value.is_empty());
        let string = get("AZURE_STORAGE_CONNECTION_STRING");
        let settings = match &string {
            Some(string) => of_connection_string(string)?,
            None => of_variables(&get),
        };
        let Settings { account, endpoint, keys } = settings;
        let Some(account) = account else {
            let text = "AZURE_STORAGE_ACCOUNT_NAME doesn't say of which account";
            return Err(Failure::new(Reason::NoCredentials, text));
        };
        let endpoint =
            endpoint.unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
        if !endpoint.contains("://") {
            return Err(no_endpoint(&endpoint, "https://HOST"));
        }
        let is_public = get("AZURE_SKIP_SIGNATURE").is_some_and(|it| it == "true");
        let (credentials, kind) = match is_public {
            true => (None, "nowhere: AZURE_SKIP_SIGNATURE is set"),
            false => {
                let kind = kind(&keys, string.is_some());
                (Some(provider(&account, keys, transport)?), kind)
            }
        };
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        Ok(Azure { account, endpoint, credentials, source: CredentialSource::new(kind) })
    }

    /// Adds credentials that are valid now, and the version of the interface.
    pub(crate) fn authorise(
        &self,
        request: &mut HttpRequest,
        transport: &Transport,
    ) -> Result<(), Failure> {
        request.headers_mut().insert("x-ms-version", HeaderValue::from_static(VERSION));
        let Some(credentials) = &self.credentials else { return Ok(()) };
        let credential = self.source.wait_for(transport, credentials.get_credential())?;
        AzureAuthorizer::new(&credential, &self.account)
            .try_authorize(request)
            .map_err(|error| Failure::new(Reason::Unusable, chain(&error)))
    }

    /// Returns the URL for an already encoded path and query in a container.
    pub(crate) fn url(&self, container: &str, path_and_query: &str) -> String {
        // A container has no slash at its end: that would be an object without a name.
        match path_and_query.is_empty() || path_and_query.starts_with('?') {
            true => format!("{}/{container}{path_and_query}", self.endpoint),
            false => format!("{}/{container}/{path_and_query}", self.endpoint),
        }
    }

    /// Returns the source of the credentials, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        self.source.kind
    }
}

/// The settings of an account.
struct Settings {
    account: Option<String>,
    endpoint: Option<String>,
    /// The values from which credentials are built.
    keys: HashMap<Key, String>,
}

/// Returns the settings from environment variables with the names of the Azure command line,
/// Azure's libraries and object_store. If a setting has several names, the first one counts.
fn of_variables(get: &dyn Fn(&str) -> Option<String>) -> Settings {
    let first = |names: &[&str]| names.iter().find_map(|name| get(name));
    let variables: [(Key, &[&str]); 11] = [
        (Key::Token, &["AZURE_STORAGE_TOKEN"]),
        (
            Key::AccessKey,
            &["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_KEY"],
        ),
        (Key::SasKey, &["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"]),
        (Key::ClientId, &["AZURE_CLIENT_ID", "AZURE_STORAGE_CLIENT_ID"]),
        (Key::ClientSecret, &["AZURE_CLIENT_SECRET", "AZURE_STORAGE_CLIENT_SECRET"]),
        (Key::AuthorityId, &["AZURE_TENANT_ID", "AZURE_STORAGE_TENANT_ID"]),
        (Key::AuthorityHost, &["AZURE_AUTHORITY_HOST"]),
        (Key::FederatedTokenFile, &["AZURE_FEDERATED_TOKEN_FILE"]),
        (Key::MsiEndpoint, &["IDENTITY_ENDPOINT", "AZURE_MSI_ENDPOINT"]),
        (Key::MsiResourceId, &["AZURE_MSI_RESOURCE_ID"]),
        (Key::UseAzureCli, &["AZURE_USE_AZURE_CLI"]),
    ];
    let value = |(key, names)| {
        let value = first(names)?;
        // A workload identity's host ends in a slash.
        let value = if key == Key::AuthorityHost { value.trim_end_matches('/') } else { &value };
        (key != Key::UseAzureCli || value == "true").then(|| (key, value.to_owned()))
    };
    let keys = variables.into_iter().filter_map(value);
    Settings {
        account: first(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"]),
        endpoint: first(&["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"]),
        keys: keys.collect(),
    }
}

/// Returns the settings from a connection string, as the portal shows it:
/// `DefaultEndpointsProtocol=https;AccountName=...;AccountKey=...;EndpointSuffix=...`.
fn of_connection_string(text: &str) -> Result<Settings, Failure> {
    let fields: HashMap<String, &str> = text
        .split(';')
        .filter_map(|field| field.trim().split_once('='))
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    let field = |name: &str| fields.get(name).map(|value| (*value).to_owned());
    let blobs = field("blobendpoint");
    let account = field("accountname").or_else(|| {
        // With a shared access signature only the host names the account.
        let (_, host) = blobs.as_deref()?.split_once("://")?;
        host.split_once('.').map(|(account, _)| account.to_owned())
    });
    let keys =
        [(Key::AccessKey, field("accountkey")), (Key::SasKey, field("sharedaccesssignature"))];
    let keys: HashMap<Key, String> =
        keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let (Some(account), false) = (account, keys.is_empty()) else {
        let text = "AZURE_STORAGE_CONNECTION_STRING has no AccountName and AccountKey, nor a \
                    BlobEndpoint and SharedAccessSignature";
        return Err(Failure::new(Reason::NoCredentials, text));
    };
    let protocol = field("defaultendpointsprotocol").unwrap_or_else(|| "https".to_owned());
    let suffix = field("endpointsuffix").unwrap_or_else(|| "core.windows.net".to_owned());
    let usual = format!("{protocol}://{account}.blob.{suffix}");
    Ok(Settings { account: Some(account), endpoint: Some(blobs.unwrap_or(usual)), keys })
}

/// Returns the source of the credentials, in the order in which object_store looks for them.
fn kind(keys: &HashMap<Key, String>, is_string: bool) -> &'static str {
    let has = |wanted: &[Key]| wanted.iter().all(|key| keys.contains_key(key));
    match () {
        () if is_string => "AZURE_STORAGE_CONNECTION_STRING",
        () if has(&[Key::Token]) => "AZURE_STORAGE_TOKEN",
        () if has(&[Key::AccessKey]) => "AZURE_STORAGE_KEY",
        () if has(&[Key::ClientId, Key::AuthorityId, Key::FederatedTokenFile]) => {
            "a workload's identity"
        }
        () if has(&[Key::ClientId, Key::ClientSecret, Key::AuthorityId]) => "a service principal",
        () if has(&[Key::SasKey]) => "AZURE_STORAGE_SAS_TOKEN",
        () if has(&[Key::UseAzureCli]) => "the Azure command line",
        () => "the machine (nor from the environment)",
    }
}

/// Returns a provider for credentials that object_store has or requests.
fn provider(
    account: &str,
    keys: HashMap<Key, String>,
    transport: &Transport,
) -> Result<AzureCredentialProvider, Failure> {
    let retry = RetryConfig { max_retries: 1, ..RetryConfig::default() };
    // The container isn't used, but object_store has no store without one, and no provider without
    // a store.
    let mut builder = MicrosoftAzureBuilder::new()
        .with_account(account)
        .with_container_name("none")
        .with_retry(retry)
        .with_http_connector(CredentialConnector);
    for (key, value) in keys {
        builder = builder.with_config(key, value);
    }
    let store = transport
        .enter(|| builder.build())
        .map_err(|error| Failure::new(Reason::NoCredentials, chain(&error)))?;
    Ok(Arc::clone(store.credentials()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> (Option<String>, Option<String>, HashMap<Key, String>) {
        let Settings { account, endpoint, keys } = of_connection_string(text).unwrap();
        (account, endpoint, keys)
    }

    #[test]
    fn a_connection_string_says_all() {
        let (account, endpoint, keys) = settings(
            "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=a2V5==;\
             EndpointSuffix=core.chinacloudapi.cn",
        );
        assert_eq!(account.as_deref(), Some("me"));
        assert_eq!(endpoint.as_deref(), Some("https://me.blob.core.chinacloudapi.cn"));
        assert_eq!(keys[&Key::AccessKey], "a2V5==");
        let (account, endpoint, keys) = settings(
            "BlobEndpoint=https://me.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=a%3D",
        );
        assert_eq!(account.as_deref(), Some("me"));
        assert_eq!(endpoint.as_deref(), Some("https://me.blob.core.windows.net/"));
        assert_eq!(keys[&Key::SasKey], "sv=1&sig=a%3D");
        assert!(of_connection_string("AccountName=me").is_err());
        assert!(of_connection_string("nothing").is_err());
    }
}
