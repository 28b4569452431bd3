//! A person who signed in, with the rights of its session.
//!
//! They are decided at the sign-in and hold for the session. The id is `oidc:` and the provider's
//! subject, at most 260 bytes.

use stadium_grants::{Invalid, Role};
use stadium_oidc::Identity;

use crate::principal::{Holder, HolderRights};

/// Somebody with these roles.
pub(crate) fn person(identity: &Identity, roles: Vec<Role>) -> Result<Holder, Invalid> {
    let shown = identity.name.as_ref().or(identity.email.as_ref()).unwrap_or(&identity.subject);
    let rights = HolderRights { roles, ..HolderRights::default() };
    Holder::new(format!("oidc:{}", identity.subject), shown.clone(), rights)
}
