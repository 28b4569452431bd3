//! Credentials and endpoints of a store, and how long a request is repeated.
//!
//! Names are those of each provider's own tools. Values are secrets and are never shown.

use std::fmt;
use std::time::Duration;

/// How a store is reached.
#[derive(Clone)]
pub struct Access {
    /// For how long a request that fails for a passing reason is repeated, with growing delays.
    /// Thirty seconds by default.
    pub retry_for: Duration,
    /// Names and values where credentials and endpoints are looked for: the process's environment,
    /// mostly.
    pub environment: Vec<(String, String)>,
}

impl fmt::Debug for Access {
    /// Without the environment: it has secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("retry_for", &self.retry_for).finish_non_exhaustive()
    }
}

impl Default for Access {
    fn default() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            retry_for: Duration::from_secs(30),
            environment: std::env::vars_os().filter_map(text).collect(),
        }
    }
}

#[cfg(feature = "clients")]
impl Access {
    /// Variables whose name begins so, names in lower case, empty ones left out.
    pub(crate) fn variables(&self, prefix: &str) -> impl Iterator<Item = (String, String)> {
        let lower = self.environment.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        lower.filter(move |(name, value)| name.starts_with(prefix) && !value.is_empty())
    }

    /// Whether a variable is set to yes.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.variables(name).any(|(found, value)| {
            found == name && matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes")
        })
    }
}
