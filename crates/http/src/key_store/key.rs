//! An API key as the server knows it, and one to be made.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use stadium_grants::{Grant, Grants, Role};

use super::error::Error;

/// Roles, apps and grants that one key may name, of each.
const RIGHTS_MAX: usize = 100;

/// The longest life of a key that has an end.
const LIFE_MAX: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A key as it may be shown: without its secret, which nobody has any more.
#[derive(Debug)]
pub struct Key {
    /// Names the key in lists, logs and when it is revoked.
    pub id: String,
    /// The name that its owner gave it.
    pub name: String,
    /// The beginning of its secret; none of a key that a server of version 1 made.
    pub prefix: Option<String>,
    /// Its roles.
    pub roles: Vec<Role>,
    /// The apps that its roles are about; none for everything.
    pub apps: Option<Vec<String>>,
    /// Its grants beside those of its roles, as they are written.
    pub own_grants: Vec<String>,
    /// All that it may do.
    pub grants: Grants,
    /// The time at which it was made.
    pub created_at: SystemTime,
    /// The time at which it stops working.
    pub expires_at: Option<SystemTime>,
    /// The time until which the secret before its last rotation works.
    pub rotates_until: Option<SystemTime>,
}

impl Key {
    /// Its roles in words, for logs: `sender, worker`, or `grants` where it has grants alone.
    pub fn roles_in_words(&self) -> String {
        if self.roles.is_empty() {
            return "grants".to_owned();
        }
        let words: Vec<_> = self.roles.iter().map(|role| role.word()).collect();
        words.join(", ")
    }
}

/// A key that was just made or rotated: its secret can be seen only now.
#[derive(Debug)]
pub struct CreatedKey {
    /// The key.
    pub key: Arc<Key>,
    /// The text behind `Authorization: Bearer`.
    pub secret: String,
}

/// A key to be made. It needs a role or a grant.
#[derive(Clone, Debug, Default)]
pub struct NewKey {
    /// Its name.
    pub name: String,
    /// Its roles.
    pub roles: Vec<Role>,
    /// The apps that its roles are about; none for everything.
    pub apps: Option<Vec<String>>,
    /// Grants beside those of its roles.
    pub grants: Vec<Grant>,
    /// The time after which it stops working.
    pub expires_in: Option<Duration>,
}

impl NewKey {
    /// Whether its rights are right.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_rights("a key", &self.roles, self.apps.as_deref(), &self.grants).map_err(Error::Rights)?;
        if self.expires_in.is_some_and(|lives| lives.as_secs() == 0 || lives > LIFE_MAX) {
            let reason = "a key lives for a second at least, and for 100 years at most";
            return Err(Error::Rights(reason.to_owned()));
        }
        Ok(())
    }
}

/// Whether these are rights at all; the reason begins with the words for their holder.
pub(crate) fn check_rights(
    holder: &str,
    roles: &[Role],
    apps: Option<&[String]>,
    grants: &[Grant],
) -> Result<(), String> {
    if roles.is_empty() && grants.is_empty() {
        return Err(format!("{holder} needs a role or a grant"));
    }
    let named = apps.unwrap_or_default();
    if roles.len().max(named.len()).max(grants.len()) > RIGHTS_MAX {
        return Err(format!("{holder} names {RIGHTS_MAX} roles, apps and grants at most, of each"));
    }
    if apps.is_some() && (named.is_empty() || roles.is_empty()) {
        return Err(format!("{holder} of some apps names them and a role"));
    }
    if let Some(app) = named.iter().find(|app| stadium_push::AppName::new(app.as_str()).is_err()) {
        return Err(format!("{app:?} is no name of an app"));
    }
    Ok(())
}

/// Why a secret is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No key has it.
    Secret,
    /// The time of this key is over.
    Expired(String),
    /// It is the secret before the last rotation of this key, and the overlap is over.
    Rotated(String),
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Secret => {
                f.write_str("the key was never made here, was revoked, or was copied incompletely")
            }
            Self::Expired(id) => write!(f, "the key {id} has expired"),
            Self::Rotated(id) => write!(f, "the key {id} was rotated, and this secret no longer works"),
        }
    }
}
