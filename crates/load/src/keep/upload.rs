//! Copies a run's files to an object store: S3 and what speaks like it, Google, Azure, or a folder.
//!
//! The result goes last: where `result.json` lies, the rest lies too. Requests that fail for a passing reason are
//! repeated for [`UploadOptions::retry_for`]; nothing here is removed, so an upload that failed can be made again.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use object_store::{ObjectStoreExt, PutPayload};

use super::files::RESULT;
use super::place::Place;

/// A file larger than this travels in parts of it: S3 wants at least 5 MiB and at most 10,000 of them.
const PART_BYTES: usize = 8 * 1024 * 1024;

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
    /// Variables whose name begins so, names in lower case, empty ones left out.
    pub(super) fn variables(&self, prefix: &str) -> impl Iterator<Item = (String, String)> {
        let lower = self.environment.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        lower.filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty())
    }

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
    // Whatever was installed before is as good: the first one stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Refused { file: url.to_owned(), reason: error.to_string() })?;
    runtime.block_on(send(files, url, options, progress))
}

async fn send(
    files: &[PathBuf],
    url: &str,
    options: &UploadOptions,
    progress: &mut dyn FnMut(Sent<'_>),
) -> Result<Vec<String>, Error> {
    let mut files: Vec<(&str, &Path, u64)> =
        files.iter().map(|path| described(path)).collect::<Result<_, _>>()?;
    files.sort_by_key(|(name, ..)| *name == RESULT);
    let of_bytes = files.iter().map(|file| file.2).sum();
    let place = Place::find(url, options).await?;
    let mut copies = Vec::with_capacity(files.len());
    let mut bytes = 0;
    for (name, path, _) in files {
        progress(Sent { file: name, bytes, of_bytes });
        let mut source = File::open(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
        let mut copy = Copy { place: &place, name, path, source: &mut source };
        copy.send(&mut |more| {
            bytes += more;
            progress(Sent { file: name, bytes, of_bytes });
        })
        .await?;
        copies.push(format!("{}/{name}", url.trim_end_matches('/')));
    }
    Ok(copies)
}

fn described(path: &PathBuf) -> Result<(&str, &Path, u64), Error> {
    let unreadable = |error| Error::File { path: path.clone(), error };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| unreadable(io::Error::other("its name is no text")))?;
    Ok((name, path, bytes))
}

/// A file on its way.
struct Copy<'a> {
    place: &'a Place,
    name: &'a str,
    path: &'a Path,
    source: &'a mut File,
}

impl Copy<'_> {
    async fn send(&mut self, stored: &mut dyn FnMut(u64)) -> Result<(), Error> {
        let to = self.place.prefix.clone().join(self.name);
        let first = self.part()?;
        let store = self.place.store.as_ref();
        if first.len() < PART_BYTES {
            let length = first.len() as u64;
            store.put(&to, PutPayload::from(first)).await.map_err(|error| self.refused(&error))?;
            stored(length);
            return Ok(());
        }
        let mut upload = store.put_multipart(&to).await.map_err(|error| self.refused(&error))?;
        let mut part = first;
        while !part.is_empty() {
            let length = part.len() as u64;
            if let Err(error) = upload.put_part(PutPayload::from(part)).await {
                // The parts would lie there and cost; where the store is gone, its own rules remove them.
                let _ = upload.abort().await;
                return Err(self.refused(&error));
            }
            stored(length);
            part = self.part()?;
        }
        upload.complete().await.map(|_| ()).map_err(|error| self.refused(&error))
    }

    /// The next part of the file; empty at its end.
    fn part(&mut self) -> Result<Bytes, Error> {
        let mut part = Vec::new();
        let read = self.source.by_ref().take(PART_BYTES as u64).read_to_end(&mut part);
        read.map_err(|error| Error::File { path: self.path.to_owned(), error })?;
        Ok(part.into())
    }

    fn refused(&self, error: &object_store::Error) -> Error {
        let reason = chain(error);
        match error {
            // Nothing is read, so what is not found is the bucket.
            object_store::Error::NotFound { .. } => Error::NoBucket(self.place.bucket.clone()),
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Error::Credentials {
                    help: "look at the key, its rights and the clock of this machine",
                    reason,
                }
            }
            _ => Error::Refused { file: self.name.to_owned(), reason },
        }
    }
}

/// An error with its causes, none said twice, on one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
