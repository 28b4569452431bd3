//! The HTTP client of authentication, with authorities from a file: the callback, and sets of keys.

use std::path::Path;

use stadium_token_keys::{Connections, SYSTEM_AUTHORITIES};

use super::Error;

/// A client for this address. Certificates of `https://` lead to these authorities, PEM, or to the
/// system's.
pub(super) fn agent(
    url: &str,
    authorities: Option<&Path>,
    connections: Connections,
) -> Result<ureq::Agent, Error> {
    let path = authorities.unwrap_or(Path::new(SYSTEM_AUTHORITIES));
    let pem = match url {
        url if url.starts_with("https://") => {
            Some(std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?)
        }
        url if url.starts_with("http://") => None,
        _ => {
            return Err(Error::Callback {
                problem: format!("{url} does not start with http:// or https://"),
            });
        }
    };
    stadium_token_keys::agent(pem.as_deref(), connections)
        .map_err(|_| Error::Callback { problem: format!("{} holds no certificate", path.display()) })
}
