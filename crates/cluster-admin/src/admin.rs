//! [`Admin`]: the way to a cluster, by the settings of one of its servers.

use stadium_journal_kafka::{Replication, Settings as KafkaSettings};
use stadium_membership::{Cluster, NodeName, Request, View};
use stadium_membership_etcd::{Access, Operator};

use crate::error::Error;

/// Where a cluster is, and how its settings want it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cluster's name.
    pub cluster: String,
    /// How etcd is reached.
    pub etcd: Access,
    /// How Kafka is reached. Its cluster is the same.
    pub kafka: KafkaSettings,
    /// How many brokers are to have each partition.
    pub replication: Replication,
    /// Standbys that each shard is to have.
    pub standbys: usize,
}

/// A person's hand on a cluster. Each call blocks, and reads what it tells anew from etcd.
#[derive(Debug)]
pub struct Admin {
    pub(crate) settings: Settings,
    pub(crate) operator: Operator,
}

impl Admin {
    /// Of the cluster in `settings`. Connects to nothing yet.
    ///
    /// # Errors
    /// A name or an endpoint is out of its bounds.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let operator = Operator::new(settings.etcd.clone(), &settings.cluster)?;
        Ok(Self { settings, operator })
    }

    /// Asks the planner to move shards to balance the nodes, or to leave them where they are.
    /// Returns whether that is another answer than before.
    ///
    /// # Errors
    /// etcd does not answer, or has no such cluster.
    pub fn balance(&mut self, is_on: bool) -> Result<bool, Error> {
        let (sight, _) = self.operator.look_at_cluster()?;
        let was_on = sight.view.is_balancing();
        match is_on {
            true => self.operator.withdraw(&Request::BalanceOff.key())?,
            false => self.operator.request(&Request::BalanceOff)?,
        }
        Ok(was_on != is_on)
    }

    /// The view of a cluster that was made, and its own key.
    pub(crate) fn look(&mut self) -> Result<(View, Cluster), Error> {
        let (sight, cluster) = self.operator.look_at_cluster()?;
        Ok((sight.view, cluster))
    }
}

/// Names in a sentence; `none` where there are none.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n NodeName>) -> String {
    let names: Vec<&str> = names.into_iter().map(NodeName::as_str).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
