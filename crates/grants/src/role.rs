//! Roles: named lists of grants.
//!
//! Reserved names, the wallets of the house among them, are in the role `admin` alone.

use std::fmt;
use std::str::FromStr;

use crate::grant::Grant;
use crate::invalid::Invalid;
use crate::verb::{Kind, Verb};

/// A named list of grants. Roles are added to each other; none contains another by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sees figures of everything, and no payload.
    Viewer,
    /// Pushes: what a tenant's backend needs.
    Sender,
    /// Moves amounts between wallets that are not the house's.
    Bookkeeper,
    /// Puts jobs and works on them.
    Worker,
    /// Looks after the node, apps, devices and queues.
    Operator,
    /// Holds every right that a key can have, reserved names included.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Viewer, Self::Sender, Self::Bookkeeper, Self::Worker, Self::Operator, Self::Admin];

    /// The role as it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Sender => "sender",
            Self::Bookkeeper => "bookkeeper",
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    /// Its purpose in words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Viewer => "Sees figures of everything, and no payload.",
            Self::Sender => "Pushes, and registers devices: a tenant's backend.",
            Self::Bookkeeper => "Moves amounts between wallets that are not the house's.",
            Self::Worker => "Puts jobs and works on them.",
            Self::Operator => "Looks after the node, apps, devices and queues, and sees no payload.",
            Self::Admin => "Holds every right, reserved names included.",
        }
    }

    fn verbs(self) -> &'static [Verb] {
        use Verb::*;
        match self {
            Self::Viewer => {
                &[AppRead, AudienceRead, DeviceRead, NodeRead, PushRead, QueueRead, RetainedRead, WalletRead]
            }
            Self::Sender => &[
                AppRead,
                AudienceRead,
                AudienceWrite,
                DeviceRead,
                DeviceWrite,
                NodeRead,
                PushRead,
                PushPayload,
                PushSend,
            ],
            Self::Bookkeeper => &[WalletRead, WalletTransfer],
            Self::Worker => &[QueueRead, QueuePayload, QueuePut, QueueReserve],
            Self::Operator => &[
                AppRead,
                AppManage,
                AudienceRead,
                AudienceWrite,
                AuditRead,
                DeviceRead,
                DeviceWrite,
                DeviceManage,
                NodeRead,
                NodeOperate,
                PushRead,
                QueueRead,
                QueueControl,
                QueueManage,
                RetainedRead,
                RetainedManage,
                RulesRead,
                WalletRead,
            ],
            Self::Admin => Verb::ALL,
        }
    }

    /// Its grants: everything where `apps` is none; else those about apps, for these apps alone.
    ///
    /// Queues, wallets and the node belong to no app: a principal of some apps holds such rights by
    /// grants of its own.
    ///
    /// # Errors
    /// An app's name that is no pattern.
    pub fn grants(self, apps: Option<&[String]>) -> Result<Vec<Grant>, Invalid> {
        let mut grants = Vec::new();
        for &verb in self.verbs() {
            match apps {
                None => {
                    grants.push(Grant::new(verb, "*")?);
                    if self == Self::Admin {
                        for reserved in verb.reserved() {
                            grants.push(Grant::new(verb, &format!("{reserved}*"))?);
                        }
                    }
                }
                Some(apps) => {
                    for app in apps {
                        match verb.kind() {
                            Kind::App => grants.push(Grant::new(verb, app)?),
                            Kind::OfApp => grants.push(Grant::new(verb, &format!("{app}/*"))?),
                            Kind::Node | Kind::Name | Kind::Topic => {}
                        }
                    }
                }
            }
        }
        Ok(grants)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|role| role.word() == text).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|role| role.word()).collect();
            Invalid(format!("a role is one of {}, not `{text}`", words.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_admin_debits_the_house_and_touches_reserved_queues() {
        for role in Role::ALL {
            let grants = role.grants(None).expect("roles are right");
            for (verb, resource) in [
                (Verb::WalletTransfer, "debit=@bank"),
                (Verb::QueuePut, "events.shop.crm"),
                (Verb::QueueReserve, "stadium.jobs"),
                (Verb::QueuePayload, "events.shop.crm"),
                (Verb::KeysManage, "*"),
            ] {
                let holds = grants.iter().any(|grant| grant.verb() == verb && grant.means(resource));
                assert_eq!(holds, role == Role::Admin, "{role} and {verb}:{resource}");
            }
        }
    }

    #[test]
    fn a_role_of_some_apps_means_nothing_else() {
        let apps = ["shop".to_owned()];
        for role in Role::ALL {
            for grant in role.grants(Some(&apps)).expect("roles are right") {
                assert!(matches!(grant.verb().kind(), Kind::App | Kind::OfApp), "{grant}");
                for other in ["*", "shop2", "shop2/phone", "other", "default/phone"] {
                    assert!(!grant.means(other), "{role}: {grant} and {other}");
                }
            }
        }
    }
}
