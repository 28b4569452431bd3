//! What operators ask of the planner. Each request is a key that stays until it is done or taken back.

use serde::{Deserialize, Serialize};

use crate::name::{NodeName, Shard};

/// A request of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// Make this node the owner of the shard. Done when it is.
    Move {
        /// The shard.
        shard: Shard,
        /// Its next owner.
        to: NodeName,
    },
    /// Take all shards from a node, and give it none. Holds until it is taken back.
    Drain {
        /// The node.
        node: NodeName,
    },
    /// Leave shards where they are, but for drains, moves that are asked for, and lost replicas. Holds
    /// until it is taken back.
    BalanceOff,
}

/// The value of a move's key.
#[derive(Serialize, Deserialize)]
struct Target {
    to: NodeName,
}

impl Request {
    /// The key, below `requests/`.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Move { shard, .. } => format!("move/{shard}"),
            Self::Drain { node } => format!("drain/{node}"),
            Self::BalanceOff => "balance-off".to_owned(),
        }
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> Vec<u8> {
        match self {
            Self::Move { to, .. } => {
                serde_json::to_vec(&Target { to: to.clone() }).expect("a name has a text")
            }
            Self::Drain { .. } | Self::BalanceOff => b"{}".to_vec(),
        }
    }

    /// Reads a key below `requests/` and its value; nothing where they are no request.
    #[must_use]
    pub fn read(key: &str, value: &[u8]) -> Option<Self> {
        match key.split_once('/') {
            None => (key == "balance-off").then_some(Self::BalanceOff),
            Some(("move", shard)) => {
                let Target { to } = serde_json::from_slice(value).ok()?;
                Some(Self::Move { shard: Shard(shard.parse().ok()?), to })
            }
            Some(("drain", node)) => Some(Self::Drain { node: node.parse().ok()? }),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let node = "b".parse::<NodeName>().expect("a name");
        for request in [
            Request::Move { shard: Shard(7), to: node.clone() },
            Request::Drain { node },
            Request::BalanceOff,
        ] {
            assert_eq!(Request::read(&request.key(), &request.value()), Some(request));
        }
        for (key, value) in [("move/x", "{}"), ("move/1", "{}"), ("drain/", "{}"), ("other", ""), ("a/b", "")]
        {
            assert_eq!(Request::read(key, value.as_bytes()), None, "{key}");
        }
    }
}
