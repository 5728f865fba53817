//! Clients of the clouds.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use sessionlog_core::{Error, Result};

use super::runtime::{OnRuntime, handle};
use super::settings::Settings;

#[cfg(feature = "s3")]
pub(crate) fn s3(bucket: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};

    let mut builder = AmazonS3Builder::new()
        .with_client_options(client())
        .with_retry(retries());
    for (name, value) in super::profile::options(settings)? {
        builder = builder.with_config(key::<Key>(name, S3_OPTIONS)?, value);
    }
    let own = settings.given().any(|(name, _)| IDENTITY.contains(&name));
    for (name, value) in settings.vars("AWS_") {
        // The parts of one identity come from one place.
        if own && IDENTITY.contains(&name.trim_start_matches("aws_")) {
            continue;
        }
        if let Ok(key) = Key::from_str(&name) {
            builder = builder.with_config(key, value);
        }
    }
    for (name, value) in settings.given() {
        builder = match name {
            "profile" => builder,
            "path_style" => {
                let path_style = flag(name, value)?;
                builder.with_virtual_hosted_style_request(!path_style)
            }
            _ => builder.with_config(key(name, S3_OPTIONS)?, plain(name, value)?),
        };
    }
    finish(builder.with_bucket_name(bucket).build(), settings)
}

#[cfg(feature = "s3")]
const S3_OPTIONS: &str = "region, endpoint, allow_http, path_style, profile, access_key_id, \
                          secret_access_key, session_token, timeout, probe";

#[cfg(feature = "s3")]
const IDENTITY: &[&str] = &[
    "profile",
    "access_key_id",
    "secret_access_key",
    "session_token",
];

#[cfg(feature = "gcs")]
pub(crate) fn gcs(bucket: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey as Key};

    const OPTIONS: &str = "endpoint, allow_http, service_account, service_account_key, \
                           application_credentials, bearer_token, timeout, probe";
    let mut builder = GoogleCloudStorageBuilder::new()
        .with_client_options(client())
        .with_retry(retries());
    let variables = settings
        .vars("SERVICE_ACCOUNT")
        .chain(settings.vars("GOOGLE_"));
    for (name, value) in variables {
        if let Ok(key) = Key::from_str(&name) {
            builder = builder.with_config(key, value);
        }
    }
    for (name, value) in settings.given() {
        let name = if name == "endpoint" { "base_url" } else { name };
        builder = builder.with_config(key(name, OPTIONS)?, plain(name, value)?);
    }
    finish(builder.with_bucket_name(bucket).build(), settings)
}

#[cfg(feature = "azure")]
pub(crate) fn azure(container: &str, settings: &Settings) -> Result<Arc<dyn ObjectStore>> {
    use object_store::azure::{AzureConfigKey as Key, MicrosoftAzureBuilder};

    const OPTIONS: &str = "account_name, account_key, sas_token, client_id, client_secret, \
                           tenant_id, use_azure_cli, endpoint, allow_http, use_emulator, timeout, \
                           probe";
    let mut builder = MicrosoftAzureBuilder::new()
        .with_client_options(client())
        .with_retry(retries());
    let variables = settings
        .vars("AZURE_")
        .chain(settings.vars("IDENTITY_ENDPOINT"));
    for (name, value) in variables {
        if let Ok(key) = Key::from_str(&name) {
            builder = builder.with_config(key, value);
        }
    }
    for (name, value) in settings.given() {
        builder = builder.with_config(key(name, OPTIONS)?, plain(name, value)?);
    }
    finish(builder.with_container_name(container).build(), settings)
}

/// A request has its own limit.
fn client() -> ClientOptions {
    ClientOptions::new()
        .with_timeout(Duration::from_secs(10))
        .with_connect_timeout(Duration::from_secs(5))
}

/// None: what is sent again is sent by the engine, which knows then that an earlier try may have been
/// done.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 0,
        retry_timeout: Duration::from_secs(20),
    }
}

fn key<K: FromStr>(name: &str, options: &str) -> Result<K> {
    // What the URL says before its query is not said again in it.
    let place = ["bucket", "container"]
        .iter()
        .any(|part| name.contains(part));
    match name.parse() {
        Ok(key) if !place => Ok(key),
        _ => Err(Error::invalid(format!(
            "there is no option of this name, use one of {options}: {name}"
        ))),
    }
}

/// The value, unless it would show a secret wherever an address is shown.
fn plain<'a>(name: &str, value: &'a str) -> Result<&'a str> {
    let host = value
        .split_once("://")
        .map(|(_, rest)| rest.split('/').next());
    match host.flatten().is_some_and(|host| host.contains('@')) {
        true => Err(Error::invalid(format!(
            "an address must not hold credentials, give them as options of their own: {name}"
        ))),
        false => Ok(value),
    }
}

#[cfg(feature = "s3")]
fn flag(name: &str, value: &str) -> Result<bool> {
    value
        .parse()
        .map_err(|_| Error::invalid(format!("this option is true or false: {name}")))
}

fn finish(
    built: object_store::Result<impl ObjectStore>,
    settings: &Settings,
) -> Result<Arc<dyn ObjectStore>> {
    let client = built.map_err(|error| {
        let text = error.to_string();
        let told = Error::invalid(
            "an option or part of the credentials is missing or can't be read; numbers, flags and \
             times are written as 5, true and 10s",
        );
        // The builder quotes what it could not read.
        match settings.secrets().any(|secret| text.contains(secret)) {
            true => told,
            false => told.with_source(text),
        }
    })?;
    Ok(Arc::new(OnRuntime::new(Arc::new(client), handle()?)))
}
