//! Logs people in with an OpenID provider, and keeps their browser sessions.
//!
//! [`Provider`] is the relying party: Authorization Code flow with PKCE (OpenID Connect Core 1.0,
//! RFC 6749, RFC 7636). Its calls block while the provider answers, so they run on a blocking pool.
//! [`PendingLogins`] holds logins between the two redirects, [`Sessions`] the people who are logged
//! in, [`Cookie`] the text of their cookies, and [`RoleMap`] the roles of their groups.
//! HTTP routes and the meaning of a role are the caller's. No secret is in a `Debug` or `Display`.

mod callback;
mod cookie;
mod endpoint;
mod error;
mod form;
mod id_token;
mod identity;
mod metadata;
mod now;
mod pending;
mod provider;
mod return_path;
mod role_map;
mod secret;
mod sessions;
mod settings;
mod web_address;

/// Claims of a subject, of an ID token or another.
pub mod claims {
    pub use crate::identity::{groups, name, subject};
}

pub use callback::Callback;
pub use cookie::{Cookie, Transport};
pub use error::{Error, Refusal};
pub use identity::{GROUP_BYTES_MAX, GROUPS_MAX, Identity};
pub use now::Now;
pub use pending::{LOGIN_LIFETIME, LOGINS_MAX, PendingLogin, PendingLogins};
pub use provider::{BegunLogin, Provider};
pub use return_path::{PATH_BYTES_MAX, ReturnPath};
pub use role_map::{ROWS_MAX, RoleMap};
pub use secret::Secret;
pub use sessions::{BegunSession, SESSIONS_PER_PERSON_MAX, Session, SessionConfig, Sessions};
pub use settings::{LEEWAY_MAX, Settings};
