//! The keys of a cluster, below `/stadium/CLUSTER/`.

use stadium_membership::{Action, Condition, NodeName, Request, Shard, Write};

use stadium_etcd::messages::{Compare, RequestOp, TxnRequest};

/// Keys that a cluster has: a thousand shards, some hundred nodes, as many requests. Bounds the memory
/// that a foreign prefix may take.
pub(crate) const KEYS_MAX: usize = 10_000;

/// The keys of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// Ends with a slash.
    root: String,
}

impl Keys {
    pub(crate) fn of(cluster: &str) -> Self {
        Self { root: format!("/stadium/{cluster}/") }
    }

    /// The prefix of all of them.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    pub(crate) fn cluster(&self) -> String {
        format!("{}cluster", self.root)
    }

    pub(crate) fn planner(&self) -> String {
        format!("{}planner", self.root)
    }

    pub(crate) fn node(&self, name: &NodeName) -> String {
        format!("{}nodes/{name}", self.root)
    }

    pub(crate) fn entry(&self, shard: Shard) -> String {
        format!("{}map/{shard}", self.root)
    }

    pub(crate) fn request(&self, key: &str) -> String {
        format!("{}requests/{key}", self.root)
    }

    /// The prefix of the shared documents; ends with a slash.
    pub(crate) fn access(&self) -> String {
        format!("{}access/", self.root)
    }

    /// The key that each change of a document writes.
    pub(crate) fn change(&self) -> String {
        format!("{}access/change", self.root)
    }

    pub(crate) fn document(&self, name: &str) -> String {
        format!("{}access/{name}", self.root)
    }

    /// The name of a document, by its key.
    pub(crate) fn document_name<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        self.below(key)?.strip_prefix("access/").filter(|name| *name != "change")
    }

    /// Puts a request, whether or not it is there.
    pub(crate) fn asking(&self, request: &Request) -> TxnRequest {
        let put = RequestOp::put(&self.request(&request.key()), request.value(), 0);
        TxnRequest { compare: Vec::new(), success: vec![put] }
    }

    /// Takes a request back, whether or not it is there.
    pub(crate) fn withdrawing(&self, request: &str) -> TxnRequest {
        TxnRequest { compare: Vec::new(), success: vec![RequestOp::delete(&self.request(request))] }
    }

    /// A key without the prefix.
    pub(crate) fn below<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        std::str::from_utf8(key).ok()?.strip_prefix(&self.root)
    }

    /// The transaction of a write, which also holds only if all of `more` does.
    pub(crate) fn transaction(&self, write: &Write, more: impl IntoIterator<Item = Compare>) -> TxnRequest {
        let compare = |condition: &Condition| match condition {
            Condition::Entry(shard, revision) => Compare::written_at(&self.entry(*shard), *revision),
            Condition::Node(name, revision) => Compare::written_at(&self.node(name), *revision),
            Condition::Request(key, revision) => Compare::written_at(&self.request(key), *revision),
        };
        let success = match &write.action {
            Action::Entry(shard, entry) => {
                let value = serde_json::to_vec(entry).expect("an entry has names and numbers");
                RequestOp::put(&self.entry(*shard), value, 0)
            }
            Action::Done(key) => RequestOp::delete(&self.request(key)),
        };
        let compare = write.conditions.iter().map(compare).chain(more).collect();
        TxnRequest { compare, success: vec![success] }
    }
}
