//! A URL becomes a store and a prefix in it.
//!
//! Credentials come from the variables that each provider's own tools use; those names are in
//! [`SCHEMES`]. A folder is written with `fsync`: what was stored survives a loss of power.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};

use crate::Access;
use crate::failure::{Error, chain, is_out_of_room};

/// Time for one request: a part of 8 MiB over a slow line.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);
/// Time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The URLs that are understood, in words for errors.
const SCHEMES: &str = "s3://BUCKET/PREFIX (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL), \
                       gs://BUCKET/PREFIX (GOOGLE_APPLICATION_CREDENTIALS), az://CONTAINER/PREFIX \
                       (AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY), file:///FOLDER";

/// A store and where in it. Clones share the store's connections.
#[derive(Clone, Debug)]
pub struct Place {
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// The beginning of the names of all objects.
    pub prefix: Path,
    /// The bucket or container, for errors.
    bucket: String,
    /// Where the prefix is a folder of this machine.
    folder: Option<PathBuf>,
}

impl Place {
    /// Finds the store of a URL, and makes sure that there are credentials.
    ///
    /// # Errors
    /// `Url`, `Credentials`.
    pub async fn find(url: &str, access: &Access) -> Result<Place, Error> {
        // A provider that was installed before is as good, and stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let Named { scheme, bucket, prefix } = Named::of(url)?;
        let store: Arc<dyn ObjectStore> = match scheme {
            Scheme::S3 => {
                let store = s3(bucket, access)?;
                if !access.flag("aws_skip_signature") {
                    store
                        .credentials()
                        .get_credential()
                        .await
                        .map_err(|error| credentials(S3_HELP, &error))?;
                }
                Arc::new(store)
            }
            Scheme::Google => {
                let mut builder = GoogleCloudStorageBuilder::new()
                    .with_bucket_name(bucket)
                    .with_client_options(client(access, "google"))
                    .with_retry(retry(access));
                for (name, value) in access.variables("google_") {
                    if let Ok(key) = name.parse::<GoogleConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let store = builder.build().map_err(|error| credentials(GS_HELP, &error))?;
                if !access.flag("google_skip_signature") {
                    store
                        .credentials()
                        .get_credential()
                        .await
                        .map_err(|error| credentials(GS_HELP, &error))?;
                }
                Arc::new(store)
            }
            Scheme::Azure => {
                let mut builder = MicrosoftAzureBuilder::new()
                    .with_container_name(bucket)
                    .with_client_options(client(access, "azure"))
                    .with_retry(retry(access));
                for (name, value) in access.variables("azure_") {
                    if let Ok(key) = name.parse::<AzureConfigKey>() {
                        builder = builder.with_config(key, value);
                    }
                }
                let store = builder.build().map_err(|error| credentials(AZ_HELP, &error))?;
                if !access.flag("azure_skip_signature") {
                    store
                        .credentials()
                        .get_credential()
                        .await
                        .map_err(|error| credentials(AZ_HELP, &error))?;
                }
                Arc::new(store)
            }
            Scheme::Folder => Arc::new(LocalFileSystem::new().with_fsync(true)),
        };
        let folder = (scheme == Scheme::Folder).then(|| folder_of(&prefix));
        Ok(Place { store, prefix, bucket: bucket.to_owned(), folder })
    }

    /// Checks a URL without asking the store or looking for credentials. Returns the folder of this
    /// machine that it names, if it names one.
    ///
    /// # Errors
    /// `Url`.
    pub fn check(url: &str) -> Result<Option<PathBuf>, Error> {
        let Named { scheme, prefix, .. } = Named::of(url)?;
        Ok((scheme == Scheme::Folder).then(|| folder_of(&prefix)))
    }

    /// The place with another store, such as one that wraps its own: the same names, in the same
    /// bucket.
    #[must_use]
    pub fn with_store(self, store: Arc<dyn ObjectStore>) -> Self {
        Self { store, ..self }
    }

    /// The folder of this machine that the place is, if it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.folder.as_deref()
    }

    /// The object of a name below the prefix; folders in the name are divided by slashes.
    #[must_use]
    pub fn object(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// The error of a write or a listing: where nothing is read, what is not found is the bucket.
    #[must_use]
    pub fn refused(&self, object: &str, error: &object_store::Error) -> Error {
        match self.failed(object, error) {
            Error::Missing(_) => Error::NoBucket(self.bucket.clone()),
            other => other,
        }
    }

    /// The error of a read.
    #[must_use]
    pub fn failed(&self, object: &str, error: &object_store::Error) -> Error {
        let reason = chain(error);
        match error {
            object_store::Error::NotFound { .. } => Error::Missing(object.to_owned()),
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Error::Credentials {
                    help: "look at the key, its rights and the clock of this machine",
                    reason,
                }
            }
            _ if is_full(error) => Error::Full { object: object.to_owned(), reason },
            _ => Error::Refused { object: object.to_owned(), reason },
        }
    }
}

/// Whether the store has no room: a folder on a full disk or at its quota, or a server that says so.
fn is_full(error: &object_store::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<std::io::Error>().is_some_and(is_out_of_room) {
            return true;
        }
        cause = error.source();
    }
    // MinIO and others answer 507, or name it in the body of another status.
    let text = chain(error);
    FULL.iter().any(|sign| text.contains(sign))
}

/// Signs of a full store in answers over HTTP.
const FULL: [&str; 3] = ["507 Insufficient Storage", "XMinioStorageFull", "QuotaExceeded"];

/// The provider of a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    S3,
    Google,
    Azure,
    Folder,
}

/// The parts of a URL.
struct Named<'a> {
    scheme: Scheme,
    bucket: &'a str,
    prefix: Path,
}

impl<'a> Named<'a> {
    fn of(url: &'a str) -> Result<Self, Error> {
        // A key before the @ or in a query must not get into logs.
        let shown = if url.contains(['?', '#', '@']) { "the URL".to_owned() } else { format!("{url:?}") };
        let wrong = |why: &str| Error::Url(format!("{shown} {why}: {SCHEMES}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("is no URL"))?;
        let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
        if url.contains(['?', '#', '@']) {
            return Err(wrong("has parts that mean nothing here (?, # or @)"));
        }
        let scheme = match scheme {
            "s3" => Scheme::S3,
            "gs" => Scheme::Google,
            "az" => Scheme::Azure,
            "file" => Scheme::Folder,
            _ => return Err(wrong("has a scheme that is not known")),
        };
        let prefix =
            Path::from_url_path(path).map_err(|error| wrong(&format!("has a bad path ({error})")))?;
        match scheme {
            Scheme::Folder if !bucket.is_empty() || prefix.as_ref().is_empty() => {
                Err(wrong("is no folder of this machine: three slashes, then its path"))
            }
            Scheme::S3 | Scheme::Google | Scheme::Azure if bucket.is_empty() => Err(wrong("names no bucket")),
            _ => Ok(Self { scheme, bucket, prefix }),
        }
    }
}

fn folder_of(prefix: &Path) -> PathBuf {
    PathBuf::from(format!("/{prefix}"))
}

const S3_HELP: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profiles in ~/.aws are not read)";
const GS_HELP: &str = "set GOOGLE_APPLICATION_CREDENTIALS to a service account's file";
const AZ_HELP: &str = "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY";

fn credentials(help: &'static str, error: &object_store::Error) -> Error {
    Error::Credentials { help, reason: chain(error) }
}

fn s3(bucket: &str, access: &Access) -> Result<object_store::aws::AmazonS3, Error> {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_client_options(client(access, "aws"))
        .with_retry(retry(access));
    for (name, value) in access.variables("aws_") {
        let Ok(key) = name.parse::<AmazonS3ConfigKey>() else { continue };
        builder = builder.with_config(key, &value);
        // An endpoint that is named without TLS is meant so.
        if name.starts_with("aws_endpoint") && value.starts_with("http://") {
            builder = builder.with_allow_http(true);
        }
    }
    builder.build().map_err(|error| credentials(S3_HELP, &error))
}

fn client(access: &Access, provider: &str) -> ClientOptions {
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
        .with_allow_http(access.flag(&format!("{provider}_allow_http")))
}

fn retry(access: &Access) -> RetryConfig {
    RetryConfig { retry_timeout: access.retry_for, ..RetryConfig::default() }
}
