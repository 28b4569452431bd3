//! Copies a run's files to an object store: S3 and what speaks like it, Google, Azure, or a folder.
//!
//! The result goes last: where `result.json` lies, the rest lies too. Requests that fail for a passing reason are
//! repeated for [`UploadOptions::retry_for`]; nothing here is removed, so an upload that failed can be made again.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Whether this program can upload: it was built with the feature `upload`.
pub const CAN_UPLOAD: bool = cfg!(feature = "upload");

/// How an upload is made.
#[derive(Clone)]
pub struct UploadOptions {
    /// For how long requests that fail for a passing reason are repeated. Thirty seconds unless said otherwise.
    pub retry_for: Duration,
    /// Names and values where credentials and endpoints are looked for: the process's environment, mostly.
    pub environment: Vec<(String, String)>,
}

impl fmt::Debug for UploadOptions {
    /// Without the environment: it has secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadOptions").field("retry_for", &self.retry_for).finish_non_exhaustive()
    }
}

impl Default for UploadOptions {
    fn default() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        UploadOptions {
            retry_for: Duration::from_secs(30),
            environment: std::env::vars_os().filter_map(text).collect(),
        }
    }
}

impl UploadOptions {
    #[cfg(feature = "upload")]
    /// Variables whose name begins so, names in lower case, empty ones left out.
    pub(super) fn variables(&self, prefix: &str) -> impl Iterator<Item = (String, String)> {
        let lower = self.environment.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        lower.filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty())
    }

    #[cfg(feature = "upload")]
    /// Whether a variable says yes.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.variables(name).any(|(found, value)| {
            found == name && matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes")
        })
    }
}

/// How far an upload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The file that is under way, or has just been stored.
    pub file: &'a str,
    /// Bytes of all files that are stored.
    pub bytes: u64,
    /// Bytes of all files.
    pub of_bytes: u64,
}

/// Why an upload failed.
#[derive(Debug)]
pub enum Error {
    /// The URL cannot be uploaded to; the text says what can.
    Url(String),
    /// There are no credentials, or none that are believed.
    Credentials {
        /// What to do.
        help: &'static str,
        /// What the store said.
        reason: String,
    },
    /// There is no such bucket or container.
    NoBucket(String),
    /// A file here cannot be read.
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The store did not take a file, also when asked again.
    Refused {
        /// Which one.
        file: String,
        /// What it said.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Url(text) => f.write_str(text),
            Error::Credentials { help, reason } => {
                write!(f, "no credentials that the store believes: {help}; {reason}")
            }
            Error::NoBucket(bucket) => {
                write!(
                    f,
                    "there is no bucket {bucket:?}: create it first, or look at the region and the endpoint"
                )
            }
            Error::File { path, error } => write!(f, "{} cannot be read: {error}", path.display()),
            Error::Refused { file, reason } => {
                write!(f, "{file} could not be stored, the files are kept here: {reason}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Copies files under their own names to `url`, telling `progress` how far it is. Gives the URLs of the copies.
///
/// What is there under the same name is replaced: let the URL end with the run's id. Blocks until all is stored.
///
/// # Errors
/// See [`Error`]; files stored before it stay there.
pub fn upload(
    files: &[PathBuf],
    url: &str,
    options: &UploadOptions,
    progress: &mut dyn FnMut(Sent<'_>),
) -> Result<Vec<String>, Error> {
    #[cfg(feature = "upload")]
    {
        // Whatever was installed before is as good: the first one stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Refused { file: url.to_owned(), reason: error.to_string() })?;
        runtime.block_on(super::copy::send(files, url, options, progress))
    }
    #[cfg(not(feature = "upload"))]
    {
        let _ = (files, options, progress);
        Err(Error::Url(format!("{url:?} cannot be uploaded to: this program was built without `upload`")))
    }
}

#[cfg(all(test, feature = "upload"))]
mod tests;
