//! How etcd is reached: its members, a user, TLS.

use std::fmt;
use std::path::PathBuf;

/// Endpoints of one etcd. A cluster has at most seven members in practice; more is a mistake in the settings.
const ENDPOINTS_MAX: usize = 32;

/// How to reach etcd.
#[derive(Clone, Debug)]
pub struct Access {
    /// `http://HOST:PORT` or `https://HOST:PORT` of members, 1 to 32.
    pub endpoints: Vec<String>,
    /// The user to log in as, where authentication is on.
    pub user: Option<User>,
    /// What `https` needs.
    pub tls: Option<Tls>,
}

/// A user and the password.
#[derive(Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password; never shown by `Debug`.
    pub password: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// TLS towards etcd. Files are read at every connection, so that renewed certificates are found.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The authorities that may sign etcd's certificate, PEM.
    pub authorities: PathBuf,
    /// Our certificate and its key, PEM, where etcd asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name that etcd's certificate must carry; without it, the endpoint's host.
    pub server_name: Option<String>,
}

impl Access {
    /// Whether the endpoints make sense.
    ///
    /// # Errors
    /// The endpoint or number that does not, in words.
    pub fn check(&self) -> Result<(), String> {
        let count = self.endpoints.len();
        if count == 0 || count > ENDPOINTS_MAX {
            return Err(format!("{count} etcd endpoints are named; 1 to {ENDPOINTS_MAX} may be"));
        }
        for endpoint in &self.endpoints {
            let scheme = endpoint.split_once("://").map(|(scheme, _)| scheme);
            match (scheme, &self.tls) {
                (Some("http"), _) | (Some("https"), Some(_)) => {}
                (Some("https"), None) => {
                    return Err(format!(
                        "endpoint {endpoint:?} needs TLS: name the authorities that signed its certificate"
                    ));
                }
                _ => {
                    return Err(format!(
                        "endpoint {endpoint:?} is neither http://HOST:PORT nor https://HOST:PORT"
                    ));
                }
            }
        }
        Ok(())
    }
}
