//! How an upload is made, and how far it is.

use std::fmt;
use std::time::Duration;

/// How an upload is made.
#[derive(Clone)]
pub struct UploadOptions {
    /// For how long requests that fail for a passing reason are repeated. Thirty seconds by
    /// default.
    pub retry_for: Duration,
    /// Names and values where credentials and endpoints are looked for: the process's environment,
    /// mostly.
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
    /// Whether a variable is set to yes.
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
