//! `init`: a cluster is made once. Its topic comes first, then the key by which nodes find it.

use serde::Serialize;
use stadium_journal_kafka::make_or_check;
use stadium_membership::{Cluster, ClusterId, Error as Membership, Formats};

use crate::admin::Admin;
use crate::error::Error;

/// The formats that this version writes.
const FORMATS: Formats = Formats { log: 1, checkpoint: 1 };
/// The feature level that a cluster begins with.
const FEATURE_LEVEL: u32 = 1;

/// The cluster to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewCluster {
    /// The number of shards, 1 to 1,024. It never changes.
    pub shards: u32,
    /// The id of a cluster whose logs exist; without it, one is drawn at random.
    pub id: Option<ClusterId>,
}

/// The facts of a cluster that all its nodes share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterFacts {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: ClusterId,
    /// The number of shards.
    pub shards: u32,
    /// The versions of its formats.
    pub formats: Formats,
    /// The feature level that nodes write.
    pub feature_level: u32,
}

impl ClusterFacts {
    pub(crate) fn new(name: &str, cluster: &Cluster) -> Self {
        let Cluster { id, shards, formats, feature_level } = *cluster;
        Self { name: name.to_owned(), id, shards, formats, feature_level }
    }
}

/// The result of `init`.
#[derive(Clone, Debug, Serialize)]
pub struct InitReport {
    /// The cluster that was made.
    pub cluster: ClusterFacts,
    /// Its topic in Kafka.
    pub topic: String,
    /// Whether the topic was made; it existed otherwise, and has the right settings.
    pub is_topic_made: bool,
    /// A sentence for each thing that does no harm now and should be changed.
    pub warnings: Vec<String>,
}

impl Admin {
    /// Makes the cluster: the topic in Kafka, then the key in etcd. If it fails between the two,
    /// the same call goes on from there.
    ///
    /// # Errors
    /// A cluster of the name exists (`CLU-102`, with its facts), the number of shards is out of its
    /// bounds, etcd or Kafka do not answer, or the topic exists with other settings. Nothing was
    /// changed in etcd then.
    pub fn init(&mut self, new: NewCluster) -> Result<InitReport, Error> {
        self.make(new, |_, _| Ok(())).map(|(report, ())| report)
    }

    /// The same, and has `fill` called after the topic is there and before nodes can join.
    pub(crate) fn make<T>(
        &mut self,
        new: NewCluster,
        fill: impl FnOnce(&Self, ClusterId) -> Result<T, Error>,
    ) -> Result<(InitReport, T), Error> {
        let id = new.id.unwrap_or_else(|| ClusterId(fastrand::u64(1..)));
        let cluster = Cluster { id, shards: new.shards, formats: FORMATS, feature_level: FEATURE_LEVEL };
        cluster.check()?;
        let name = self.settings.cluster.clone();
        self.check_is_new()?;
        let mut checked = make_or_check(&self.settings.kafka, new.shards, self.settings.replication)?;
        let topic = self.settings.kafka.topic();
        if !checked.is_made && new.id.is_none() {
            checked.warnings.push(format!(
                "topic {topic} existed already: if it has the logs of a former cluster, no node can read them \
                 by this cluster's id; delete the topic, or make the cluster with its former id"
            ));
        }
        let filled = fill(self, id)?;
        self.operator.create(&cluster)?;
        let report = InitReport {
            cluster: ClusterFacts::new(&name, &cluster),
            topic,
            is_topic_made: checked.is_made,
            warnings: checked.warnings,
        };
        Ok((report, filled))
    }

    /// Refuses a cluster that exists.
    pub(crate) fn check_is_new(&mut self) -> Result<(), Error> {
        let Some(found) = self.operator.look()?.view.cluster else { return Ok(()) };
        Err(Membership::Differs(format!(
            "cluster {:?} exists: it has the id {}, {} shards, and feature level {}; nothing was changed",
            self.settings.cluster,
            String::from(found.id),
            found.shards,
            found.feature_level,
        ))
        .into())
    }
}
