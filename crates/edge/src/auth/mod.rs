//! Who a device is, and what it may do.
//!
//! [`Authenticator`] turns what a CONNECT packet and its transport carry ([`Credentials`]) into a
//! [`Verdict`]; [`Policy`] has the rules over topics that every path asks afterwards: publish,
//! subscribe, deliver, retained, will and replay. Both deny unless something allows.
//!
//! Each way of proving an identity has a file: `password`, `token`, `certificate`, `registry`, `callback`,
//! whose answers several servers share by `cache`.
//! Work that blocks runs on the bounded threads of `pool`, so that a loop never waits. Nothing here
//! knows MQTT packets or connections; the edge translates a [`DenyReason`] into the answer it sends.

mod authenticator;
mod cache;
mod cache_counts;
mod cache_entry;
mod callback;
mod certificate;
mod circuit;
mod client;
mod config;
mod counts;
mod decision;
mod error;
mod password;
mod policy;
mod pool;
mod registry;
mod remembered;
mod rules_file;
mod token;
mod topic_rights;
mod verdict;
mod watched;

pub use authenticator::{Authenticator, Late};
pub use cache_counts::CacheCounts;
pub use config::{
    AnonymousAccess, AnswerCacheConfig, AnswerScope, AuthConfig, CacheLogin, CallbackConfig,
    CertificateConfig, ClientIdBinding, FAILURES, Method, PasswordConfig, RegistryAccess, RulesConfig,
    TokenConfig, TokenUsername,
};
pub use counts::Counts;
pub use error::Error;
pub use password::{hash_password, password_line};
pub(crate) use policy::verb_of;
pub use policy::{NewRules, NotSet, Policy, RulesInForce};
pub use registry::{Asked, DeviceRegistry, Question, Standing};
pub use rules_file::RuleMistake;
pub use stadium_grants::topics::{Principal, TopicRule, Via};
pub use stadium_reactor::tls::CertificateName;
pub use stadium_token_keys::{KeyFetchConfig, TokenAlgorithm, TokenKeyConfig};
pub use topic_rights::TOPIC_RIGHTS;
pub use verdict::{Answer, Credentials, DenyReason, GROUPS_MAX, Identity, PRINCIPAL_BYTES_MAX, Verdict};
