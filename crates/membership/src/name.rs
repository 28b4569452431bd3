//! Names and numbers: nodes, shards, incarnations.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Bytes of a node's or a cluster's name.
pub const NAME_BYTES_MAX: usize = 64;

/// Shards of a cluster, at most: the id of a job has ten bits for its shard.
pub const SHARDS_MAX: u32 = 1024;

/// The name of a node: 1 to 64 letters, digits, `.`, `_` or `-`. It stays when the node restarts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(Arc<str>);

impl NodeName {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        check_name("node", text)?;
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for NodeName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<NodeName> for String {
    fn from(name: NodeName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a name can stand in a key of etcd. `what` says whose it is: `node`, `cluster`.
///
/// # Errors
/// [`Error::Setting`] with the name.
pub fn check_name(what: &str, text: &str) -> Result<(), Error> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_allowed) {
        return Ok(());
    }
    Err(Error::Setting(format!(
        "{text:?} cannot be the name of a {what}: it takes 1 to {NAME_BYTES_MAX} letters, digits, `.`, `_` or `-`"
    )))
}

/// The number of a shard, below the cluster's number of shards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shard(pub u32);

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One life of a node in the cluster: drawn at random each time that it registers with a lease of
/// its own. A node whose lease ended comes back as another incarnation, also without a restart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub u64);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
