//! The erasures of a server or of a cluster: what is remembered of each, and the list of them.
//!
//! A standalone server has its list in files ([`record`](crate::users::record)), the nodes of a
//! cluster share one ([`shared_list`](crate::users::shared_list)).

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::{Deserialize, Serialize};

use crate::users::receipt::{Kept, Signed};

/// An erasure under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Running {
    pub(crate) id: String,
    pub(crate) user: String,
    /// The principal that asked.
    pub(crate) by: String,
    pub(crate) began_ms: u64,
    /// Whether a restore brought the user back.
    #[serde(default)]
    pub(crate) again: bool,
    /// The client ids of the user's devices, which nothing names once the devices are removed.
    #[serde(default)]
    pub(crate) clients: BTreeSet<String>,
    /// Counts of each kind, before it was removed.
    #[serde(default)]
    pub(crate) found: BTreeMap<String, u64>,
    /// The steps that are done.
    #[serde(default)]
    pub(crate) done: BTreeSet<String>,
    /// Things that stay, as far as they are known yet.
    #[serde(default)]
    pub(crate) kept: Vec<Kept>,
    /// The nodes of a cluster, and how far each is with what it alone has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) nodes: BTreeMap<String, NodePart>,
    /// The reason for which the last try got no further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits_for: Option<String>,
}

/// A node's part of an erasure: its sessions, its retained messages, its audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NodePart {
    /// Counts of each kind, before it was removed.
    pub(crate) found: BTreeMap<String, u64>,
    /// Lines of its audit log, which stay.
    pub(crate) audit_lines: u64,
    /// Whether the sessions were ended a first time, before the devices were removed.
    #[serde(default)]
    pub(crate) ended: bool,
    /// Whether all of it is gone.
    pub(crate) done: bool,
}

impl Running {
    /// An erasure that begins: nothing is found yet.
    pub(crate) fn new(id: String, user: String, by: &str, began_ms: u64) -> Self {
        Self {
            id,
            user,
            by: by.to_owned(),
            began_ms,
            again: false,
            clients: BTreeSet::new(),
            found: BTreeMap::new(),
            done: BTreeSet::new(),
            kept: Vec::new(),
            nodes: BTreeMap::new(),
            waits_for: None,
        }
    }
}

/// A finished erasure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    pub(crate) id: String,
    /// The salted hash of the user's name.
    pub(crate) hash: String,
    pub(crate) finished_ms: u64,
    pub(crate) receipt: Signed,
    /// The nodes of a cluster that have it in a file of their own.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) taken: BTreeSet<String>,
}

/// An erasure, wherever it is.
#[derive(Clone, Debug)]
pub(crate) enum Erasure {
    Running(Running),
    Finished(Finished),
}

/// A user who was erased.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Erased {
    pub(crate) salt: String,
    pub(crate) hash: String,
}

/// The erasures, under way and finished. Calls wait for the disk, or for the store of the cluster.
pub(crate) trait List: Send + Sync + 'static {
    /// The salted hash of a name.
    fn hash(&self, user: &str) -> io::Result<String>;

    /// The salt of all hashes, and the public key of receipts.
    fn salt_and_key(&self) -> io::Result<(String, String)>;

    /// Keeps an erasure that begins. An erasure of the same user under way, or one of the same id,
    /// is returned in its place. None where there are as many as there may be.
    fn begin(&self, new: Running) -> io::Result<Option<Erasure>>;

    /// Changes an erasure under way, durably. `change` may be called more than once.
    fn change(&self, id: &str, change: &mut dyn FnMut(&mut Running)) -> io::Result<Option<Running>>;

    /// Notes why an erasure under way does not get further.
    fn waits(&self, id: &str, reason: Option<String>);

    /// Finishes an erasure with its receipt.
    fn finish(&self, id: &str, receipt: serde_json::Value, finished_ms: u64) -> io::Result<()>;

    /// One of them.
    fn find(&self, id: &str) -> io::Result<Option<Erasure>>;

    /// The newest, newest first; those under way before all others.
    fn newest(&self, limit: usize) -> io::Result<Vec<Erasure>>;

    /// The ids of those under way, oldest first.
    fn under_way(&self) -> io::Result<Vec<String>>;
}
