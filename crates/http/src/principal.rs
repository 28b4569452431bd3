//! The identity behind a request, as logs, the audit log and idempotency keys name it.
//!
//! It is an API key, a person who signed in, or the holder of a token or a certificate.

use stadium_grants::{Grant, Grants, Invalid, Role};
use stadium_wallet::PrincipalId;

use crate::key_store::{Key, check_rights};

/// An identity with its rights.
pub trait Principal: Send + Sync {
    /// Names it for ever: two principals never have the same id.
    fn id(&self) -> &str;

    /// Its name for people.
    fn name(&self) -> &str;

    /// Its roles in words: `sender, worker`; none where it has no right at all.
    fn roles_in_words(&self) -> Option<String>;

    /// All that it may do.
    fn grants(&self) -> &Grants;
}

impl Principal for Key {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn roles_in_words(&self) -> Option<String> {
        Some(Key::roles_in_words(self))
    }

    fn grants(&self) -> &Grants {
        &self.grants
    }
}

/// A principal that no file of keys knows: another authority vouched for it.
#[derive(Debug)]
pub struct Holder {
    id: String,
    name: String,
    roles: Vec<Role>,
    grants: Grants,
}

/// The rights of a [`Holder`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HolderRights {
    /// Its roles.
    pub roles: Vec<Role>,
    /// The apps that its roles are about; none for everything.
    pub apps: Option<Vec<String>>,
    /// Grants beside those of its roles.
    pub grants: Vec<Grant>,
}

impl HolderRights {
    /// Whether they are rights at all: a role or a grant, and apps that are names. `holder` begins
    /// the reason, as in `a key`.
    ///
    /// # Errors
    /// The reason.
    pub fn check(&self, holder: &str) -> Result<(), String> {
        check_rights(holder, &self.roles, self.apps.as_deref(), &self.grants)
    }
}

impl Holder {
    /// One with these rights, and perhaps none. The id begins with the kind of authority, so that it
    /// is no key's.
    ///
    /// # Errors
    /// An id that records cannot name ([`PrincipalId`]), more grants than a principal may hold, or
    /// an app that is no name.
    pub fn new(id: String, name: String, rights: HolderRights) -> Result<Self, Invalid> {
        PrincipalId::new(id.as_str()).map_err(|error| Invalid(error.to_string()))?;
        let HolderRights { roles, apps, grants } = rights;
        let grants = Grants::new(&roles, apps.as_deref(), &grants)?;
        Ok(Self { id, name, roles, grants })
    }

    /// The roles.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }
}

impl Principal for Holder {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn roles_in_words(&self) -> Option<String> {
        let words: Vec<_> = self.roles.iter().map(|role| role.word()).collect();
        match words.is_empty() {
            false => Some(words.join(", ")),
            true => self.grants.iter().next().map(|_| "grants".to_owned()),
        }
    }

    fn grants(&self) -> &Grants {
        &self.grants
    }
}
