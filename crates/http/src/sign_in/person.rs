//! A person who signed in: who it is, and what it may do.
//!
//! Both are decided at the sign-in and hold for the session. The id is `oidc:` and the provider's
//! subject, at most 260 bytes.

use stadium_grants::{Grants, Invalid, Role};
use stadium_oidc::Identity;

use crate::principal::Principal;

/// A person with the rights of a session.
#[derive(Debug)]
pub(crate) struct Person {
    id: String,
    name: String,
    roles: Vec<Role>,
    grants: Grants,
}

impl Person {
    /// Somebody with these roles.
    pub(crate) fn new(identity: &Identity, roles: Vec<Role>) -> Result<Self, Invalid> {
        let shown = identity.name.as_ref().or(identity.email.as_ref()).unwrap_or(&identity.subject);
        Ok(Self {
            id: format!("oidc:{}", identity.subject),
            name: shown.clone(),
            grants: Grants::new(&roles, None, &[])?,
            roles,
        })
    }

    /// The roles.
    pub(crate) fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// All that the person may do.
    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }
}

impl Principal for Person {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn roles_in_words(&self) -> Option<String> {
        let words: Vec<_> = self.roles.iter().map(|role| role.word()).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
