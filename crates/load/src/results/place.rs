//! Where an upload goes: a URL becomes a store and a prefix in it.
//!
//! Credentials come from the variables that each provider's own tools use; those names are in [`SCHEMES`].

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};

use super::failure::{Error, chain};
use super::transfer::UploadOptions;

/// Time for one request: a part of 8 MiB over a slow line.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);
/// Time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is understood, in words for errors.
const SCHEMES: &str = "s3://BUCKET/PREFIX (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL), \
                       gs://BUCKET/PREFIX (GOOGLE_APPLICATION_CREDENTIALS), az://CONTAINER/PREFIX \
                       (AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY), file:///FOLDER";

/// A store and where in it.
pub(super) struct Place {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) prefix: Path,
    /// The bucket or container, for errors.
    pub(super) bucket: String,
}

impl Place {
    /// Finds the store of a URL, and makes sure that there are credentials.
    pub(super) async fn find(url: &str, options: &UploadOptions) -> Result<Place, Error> {
        let wrong = |why: &str| Error::Url(format!("{url:?} {why}: {SCHEMES}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("is no URL"))?;
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if url.contains(['?', '#', '@']) {
            return Err(wrong("has parts that mean nothing here"));
        }
        let prefix =
            Path::from_url_path(path).map_err(|error| wrong(&format!("has a bad path ({error})")))?;
        if scheme != "file" && bucket.is_empty() {
            return Err(wrong("names no bucket"));
        }
        let store: Arc<dyn ObjectStore> = match scheme {
            "s3" => {
                let store = s3(bucket, options)?;
                if !options.flag("aws_skip_signature") {
                    store
                        .credentials()
                        .get_credential()
                        .await
                        .map_err(|error| credentials(S3_HELP, &error))?;
                }
                Arc::new(store)
            }
            "gs" => {
                let mut builder = GoogleCloudStorageBuilder::new()
                    .with_bucket_name(bucket)
                    .with_client_options(client(options, "google"))
                    .with_retry(retry(options));
                for (name, value) in options.variables("google_") {
                    if let Ok(key) = name.parse::<GoogleConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let store = builder.build().map_err(|error| credentials(GS_HELP, &error))?;
                if !options.flag("google_skip_signature") {
                    store
                        .credentials()
                        .get_credential()
                        .await
                        .map_err(|error| credentials(GS_HELP, &error))?;
                }
                Arc::new(store)
            }
            "az" => {
                let mut builder = MicrosoftAzureBuilder::new()
                    .with_container_name(bucket)
                    .with_client_options(client(options, "azure"))
                    .with_retry(retry(options));
                for (name, value) in options.variables("azure_") {
                    if let Ok(key) = name.parse::<AzureConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let store = builder.build().map_err(|error| credentials(AZ_HELP, &error))?;
                if !options.flag("azure_skip_signature") {
                    store
                        .credentials()
                        .get_credential()
                        .await
                        .map_err(|error| credentials(AZ_HELP, &error))?;
                }
                Arc::new(store)
            }
            "file" if bucket.is_empty() && !path.is_empty() => Arc::new(LocalFileSystem::new()),
            "file" => return Err(wrong("is no folder of this machine: three slashes, then its path")),
            _ => return Err(wrong("has a scheme that is not known")),
        };
        Ok(Place { store, prefix, bucket: bucket.to_owned() })
    }
}

const S3_HELP: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profiles in ~/.aws are not read)";
const GS_HELP: &str = "set GOOGLE_APPLICATION_CREDENTIALS to a service account's file";
const AZ_HELP: &str = "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY";

fn credentials(help: &'static str, error: &object_store::Error) -> Error {
    Error::Credentials { help, reason: chain(error) }
}

fn s3(bucket: &str, options: &UploadOptions) -> Result<object_store::aws::AmazonS3, Error> {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(client(options, "aws"))
        .with_retry(retry(options));
    for (name, value) in options.variables("aws_") {
        let Ok(key) = name.parse::<AmazonS3ConfigKey>() else { continue };
        builder = builder.with_config(key, &value);
        // An endpoint that is named without TLS is meant so.
        if name.starts_with("aws_endpoint") && value.starts_with("http://") {
            builder = builder.with_allow_http(true);
        }
    }
    builder.build().map_err(|error| credentials(S3_HELP, &error))
}

fn client(options: &UploadOptions, provider: &str) -> ClientOptions {
    // A report opens in the browser that follows a link to it.
    let typed = [
        ("html", "text/html; charset=utf-8"),
        ("json", "application/json"),
        ("csv", "text/csv; charset=utf-8"),
    ];
    typed
        .into_iter()
        .fold(ClientOptions::new(), |client, (suffix, kind)| {
            client.with_content_type_for_suffix(suffix, kind)
        })
        .with_timeout(REQUEST_TIMEOUT)
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_allow_http(options.flag(&format!("{provider}_allow_http")))
}

fn retry(options: &UploadOptions) -> RetryConfig {
    RetryConfig { retry_timeout: options.retry_for, ..RetryConfig::default() }
}
