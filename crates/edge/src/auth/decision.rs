//! The answer of the HTTP callback, and its meaning for a device.
//!
//! The same answer may be for several devices: each gets its own verdict from it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::verdict::{GROUPS_MAX, is_principal};
use super::{Credentials, DenyReason, Identity, Verdict, Via};

/// The body of the callback's answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Decision {
    pub(super) allow: bool,
    #[serde(default)]
    principal: Option<String>,
    #[serde(default)]
    groups: Vec<String>,
    /// Its life in the cache, in seconds; none leaves it to the settings.
    #[serde(default)]
    pub(super) cache_s: Option<u32>,
}

impl Decision {
    /// The meaning of a status that refuses.
    pub(super) const DENIAL: Self = Self { allow: false, principal: None, groups: Vec::new(), cache_s: None };

    /// Its meaning for a device that showed this.
    pub(super) fn verdict(&self, shown: &Credentials) -> Result<Verdict, String> {
        if !self.allow {
            return Ok(Verdict::Deny(DenyReason::Callback));
        }
        let principal = self.principal.as_deref().or(shown.username.as_deref()).unwrap_or(&shown.client_id);
        if !is_principal(principal) || self.groups.len() > GROUPS_MAX {
            return Err(
                "it allowed a principal without a usable name, or with more than 32 groups".to_owned()
            );
        }
        Ok(Verdict::Allow(Identity {
            principal: principal.into(),
            via: Via::Callback,
            expires_at: None,
            groups: self.groups.iter().map(|group| Arc::from(group.as_str())).collect(),
        }))
    }
}
