//! The text of `api-keys.toml`.
//!
//! Version 1 had one of three roles for each key. It is read, and written as version 2 with the
//! next change: `read` sees payloads as before, `send` no longer moves amounts and no longer
//! reaches reserved queues.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use stadium_grants::{Grant, Grants, Role, Verb};

use super::key::Key;

/// The version of an entry that is written.
pub(super) const VERSION: u32 = 2;

/// A key in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) apps: Option<Vec<String>>,
    #[serde(default)]
    pub(super) grants: Vec<String>,
    /// Seconds since 1970.
    pub(super) created_at: u64,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prefix: Option<String>,
    /// SHA-256 of the whole secret in unpadded URL-safe base64.
    pub(super) sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<Previous>,
    /// Whether it stands in a file of version 1 with the role `send`.
    #[serde(skip)]
    pub(super) was_sender: bool,
}

/// The secret before the last rotation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Previous {
    pub(super) sha256: String,
    /// Seconds since 1970.
    pub(super) until: u64,
}

impl Entry {
    /// The key with its grants compiled.
    pub(super) fn key(&self) -> Result<Key, String> {
        let wrong = |error: stadium_grants::Invalid| format!("the key {}: {error}", self.id);
        let roles: Vec<Role> =
            self.roles.iter().map(|word| word.parse()).collect::<Result<_, _>>().map_err(wrong)?;
        let own: Vec<Grant> =
            self.grants.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(wrong)?;
        let grants = Grants::new(&roles, self.apps.as_deref(), &own).map_err(wrong)?;
        Ok(Key {
            id: self.id.clone(),
            name: self.name.clone(),
            prefix: self.prefix.clone(),
            roles,
            apps: self.apps.clone(),
            own_grants: self.grants.clone(),
            grants,
            created_at: time(self.created_at),
            expires_at: self.expires_at.map(time),
            rotates_until: self.previous.as_ref().map(|previous| time(previous.until)),
        })
    }

    /// Whether it may manage keys and has no end.
    pub(super) fn manages_keys_for_good(&self) -> bool {
        self.expires_at.is_none() && self.key().is_ok_and(|key| key.grants.allows(Verb::KeysManage, "*"))
    }
}

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The time so many seconds since 1970, the end of the year 9999 at most.
pub(super) fn time(seconds: u64) -> SystemTime {
    const LAST: u64 = 253_402_300_799;
    UNIX_EPOCH + Duration::from_secs(seconds.min(LAST))
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    #[serde(default)]
    key: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContentsV1 {
    #[serde(rename = "version")]
    _version: u32,
    #[serde(default)]
    key: Vec<EntryV1>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryV1 {
    id: String,
    name: String,
    role: RoleV1,
    created_at: u64,
    sha256: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleV1 {
    Read,
    Send,
    Admin,
}

impl RoleV1 {
    /// Its roles and grants.
    fn rights(self) -> (&'static [Role], &'static [&'static str]) {
        match self {
            Self::Read => (&[Role::Viewer], &["queue.payload:*", "push.payload:*"]),
            Self::Send => (&[Role::Viewer, Role::Sender, Role::Worker], &["queue.control:*"]),
            Self::Admin => (&[Role::Admin], &[]),
        }
    }
}

impl From<EntryV1> for Entry {
    fn from(old: EntryV1) -> Self {
        let (roles, grants) = old.role.rights();
        Self {
            id: old.id,
            name: old.name,
            roles: roles.iter().map(ToString::to_string).collect(),
            apps: None,
            grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
            created_at: old.created_at,
            expires_at: None,
            prefix: None,
            sha256: old.sha256,
            previous: None,
            was_sender: old.role == RoleV1::Send,
        }
    }
}

/// The keys of a file's text.
///
/// # Errors
/// The reason, for its owner.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, String> {
    let wrong = |error: toml::de::Error| error.message().to_owned();
    let Versioned { version } = toml::from_str(text).map_err(wrong)?;
    match version {
        1 => {
            let contents: ContentsV1 = toml::from_str(text).map_err(wrong)?;
            Ok(contents.key.into_iter().map(Entry::from).collect())
        }
        VERSION => Ok(toml::from_str::<Contents>(text).map_err(wrong)?.key),
        other => Err(format!("its version is {other}, this server reads 1 and {VERSION}")),
    }
}

/// The text of a file with these keys.
pub(super) fn write(entries: &[Entry]) -> String {
    let contents = Contents { version: VERSION, key: entries.to_vec() };
    let text = toml::to_string(&contents).expect("strings and numbers always serialise");
    format!("# Stadium's API keys. Only hashes are kept; `stadium` and the HTTP API write this file.\n{text}")
}
