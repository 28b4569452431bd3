//! The HTTP client of the callback, with authorities from a file.

use std::path::Path;

use stadium_token_keys::{Connections, agent_of};

use super::Error;

/// A client for this address. Certificates of `https://` lead to these authorities, PEM, or to the
/// system's.
pub(super) fn agent(
    url: &str,
    authorities: Option<&Path>,
    connections: Connections,
) -> Result<ureq::Agent, Error> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(Error::Callback { problem: format!("{url} does not start with http:// or https://") });
    }
    agent_of(url, authorities, connections).map_err(|error| match error.into() {
        Error::TokenKey { path, problem } => {
            Error::Callback { problem: format!("{}: {problem}", path.display()) }
        }
        other => other,
    })
}
