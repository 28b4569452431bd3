//! The cluster's own key: written once, by `stadium cluster init`.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::name::SHARDS_MAX;

/// The facts that all nodes of a cluster share and that never change, but for the feature level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Distinguishes clusters: drawn at random when the cluster is made, 16 hexadecimal digits.
    pub id: ClusterId,
    /// The number of shards, 1 to 1,024.
    pub shards: u32,
    /// The versions of the formats that logs and checkpoints are written in.
    pub formats: Formats,
    /// The feature level that nodes write. It is raised when all nodes can read the next.
    pub feature_level: u32,
}

/// Versions of formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Formats {
    /// Messages of a replicated log: docs/formats/log-message.md.
    pub log: u32,
    /// Checkpoints.
    pub checkpoint: u32,
}

/// A random number in 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(pub u64);

impl From<ClusterId> for String {
    fn from(id: ClusterId) -> Self {
        format!("{:016x}", id.0)
    }
}

impl TryFrom<String> for ClusterId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match u64::from_str_radix(&text, 16) {
            Ok(id) if text.len() == 16 => Ok(Self(id)),
            _ => Err(format!("{text:?} is no cluster id of 16 hexadecimal digits")),
        }
    }
}

impl Cluster {
    /// Whether a cluster can be like this.
    ///
    /// # Errors
    /// [`Error::Setting`] when the number of shards is out of bounds.
    pub fn check(&self) -> Result<(), Error> {
        if !(1..=SHARDS_MAX).contains(&self.shards) {
            let what = format!("a cluster has 1 to {SHARDS_MAX} shards, not {}", self.shards);
            return Err(Error::Setting(what));
        }
        Ok(())
    }

    /// Whether a node that expects `self` may join the cluster `found`. Its feature level may differ.
    ///
    /// # Errors
    /// [`Error::Differs`] with what differs.
    pub fn accepts(&self, found: &Self) -> Result<(), Error> {
        let pairs = [
            ("id", String::from(self.id), String::from(found.id)),
            ("number of shards", self.shards.to_string(), found.shards.to_string()),
            ("log format", self.formats.log.to_string(), found.formats.log.to_string()),
            ("checkpoint format", self.formats.checkpoint.to_string(), found.formats.checkpoint.to_string()),
        ];
        match pairs.into_iter().find(|(_, ours, theirs)| ours != theirs) {
            None => Ok(()),
            Some((what, ours, theirs)) => Err(Error::Differs(format!(
                "the cluster in etcd has the {what} {theirs}, and this node expects {ours}"
            ))),
        }
    }
}
