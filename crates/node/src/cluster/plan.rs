//! The part of a node that its settings give it in a cluster.
//!
//! Files, etcd and Kafka are asked before anything is opened, so that what is wrong is told at once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stadium_cluster::{ArchiveSettings, ClusterNode, LinkSettings, NodeSettings};
use stadium_http::SharedDocuments;
use stadium_journal_kafka::{Client, Error as KafkaError, make_or_check, open};
use stadium_journal_log::Topic;
use stadium_links::TlsSettings;
use stadium_membership::{Cluster, Node, NodeName, Settings as Planner, Versions};
use stadium_membership_etcd::{Access, Config};
use stadium_shard::{Settings as ShardSettings, Shards};
use stadium_telemetry::Tracer;

use super::documents;
use super::identity;
use super::member::Member;
use super::sight::About;
use crate::error::Error;
use crate::mapping::shards;
use crate::mapping::stores::Stores;
use crate::settings::{ClusterLinks, Settings};

/// The folder in the data directory: the cluster's identity, and the replicas.
const FOLDER: &str = "cluster";

/// The feature level that this program reads and writes.
const LEVEL: u32 = 1;

/// A node that can join its cluster.
pub(crate) struct Plan {
    me: NodeName,
    cluster: Cluster,
    name: String,
    zone: Option<String>,
    standbys: usize,
    etcd: Access,
    links: LinkSettings,
    advertised: SocketAddr,
    store: Option<String>,
    topic: Arc<dyn Topic>,
    documents: Arc<dyn SharedDocuments>,
    shards: ShardSettings,
    folder: PathBuf,
}

impl Plan {
    /// Reads the files of the settings, finds the cluster, and makes or checks its topic. `None` where
    /// the settings name no cluster.
    ///
    /// Waits for etcd: for 30 s at most in a data directory that was in no cluster yet, else for 3 s.
    ///
    /// # Errors
    /// [`Error::Cluster`] with what is wrong.
    pub(crate) fn make(settings: &Settings, data: &Path, tracer: Tracer) -> Result<Option<Self>, Error> {
        let Some(stores) = Stores::read(settings).map_err(Error::Cluster)? else { return Ok(None) };
        let name = &stores.name;
        let folder = data.join(FOLDER);
        let me = node_name(settings.cluster.node.as_deref())?;
        let advertised = advertised(&settings.cluster.links)?;
        let links = link_settings(&settings.cluster.links, tracer)?;
        let (cluster, is_kept) = identity::cluster(&folder, name, &stores.etcd)?;
        let count = u16::try_from(cluster.shards).map_err(|_| {
            Error::Cluster(format!("the cluster {name:?} has {} shards, which is too many", cluster.shards))
        })?;
        if settings.shards.count != 0 && settings.shards.count != count {
            return Err(Error::Cluster(format!(
                "shards.count = {}, and the cluster {name:?} has {count} shards: leave it out",
                settings.shards.count
            )));
        }
        check_topic(&stores, count, is_kept)?;
        let topic = open(Client::Rskafka, &stores.kafka, count.into()).map_err(refused)?;
        if !is_kept {
            identity::keep(&folder, name, &cluster)?;
        }
        let documents = documents::open(&folder, name, cluster.id, &stores.etcd)?;
        let usual = ShardSettings::in_directory(&folder, count);
        let shards = ShardSettings { count, storage: usual.storage, ..shards::settings(settings, data) };
        Ok(Some(Self {
            me,
            cluster,
            name: stores.name,
            zone: settings.cluster.zone.clone(),
            standbys: stores.standbys,
            etcd: stores.etcd,
            links,
            advertised,
            store: settings.cluster.store.clone(),
            topic,
            documents,
            shards,
            folder,
        }))
    }

    /// The number of the cluster's shards.
    pub(crate) fn shards(&self) -> u16 {
        self.shards.count
    }

    /// The documents that all nodes share.
    pub(crate) fn documents(&self) -> Arc<dyn SharedDocuments> {
        Arc::clone(&self.documents)
    }

    /// Joins the cluster, as a node that is reached at these addresses, by purpose.
    ///
    /// # Errors
    /// [`Error::Cluster`] where the settings do not fit or the system refuses a thread.
    pub(crate) fn join(self, mut addresses: BTreeMap<String, String>) -> Result<Member, Error> {
        let count = self.shards.count;
        addresses.insert("links".to_owned(), self.advertised.to_string());
        let about = Node::new(
            addresses,
            self.zone,
            Versions { program: env!("CARGO_PKG_VERSION").to_owned(), level_min: LEVEL, level_max: LEVEL },
        );
        let membership = Config {
            etcd: self.etcd,
            cluster: self.name.clone(),
            expected: Some(self.cluster.clone()),
            node: self.me.clone(),
            about,
            planner: Planner { standbys: self.standbys, ..Planner::default() },
        };
        let about = About::new(&membership);
        let mirror = self.shards.journal_options();
        let shards = Shards::open_none(self.shards).map_err(refused)?;
        let node = NodeSettings {
            membership,
            folder: self.folder,
            mirror,
            archive: self.store.map(ArchiveSettings::new),
            links: Some(self.links),
        };
        let node = ClusterNode::start(node, &shards, self.topic).map_err(refused)?;
        tracing::info!(cluster = self.name, node = %self.me, shards = count, "Node joins its cluster");
        Ok(Member::new(about, node, shards))
    }
}

fn refused(error: impl std::fmt::Display) -> Error {
    Error::Cluster(error.to_string())
}

/// The name of the settings, or the machine's.
fn node_name(name: Option<&str>) -> Result<NodeName, Error> {
    let name = match name {
        Some(name) => name.to_owned(),
        None => std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
    };
    name.parse().map_err(|error| Error::Cluster(format!("cluster.node: {error}")))
}

/// Where the links listen, and how they show who they are.
fn link_settings(links: &ClusterLinks, tracer: Tracer) -> Result<LinkSettings, Error> {
    let listen =
        links.listen.ok_or_else(|| Error::Cluster("cluster.links.listen names no address".to_owned()))?;
    Ok(LinkSettings { listen, tls: link_tls(links)?, loops: links.loops.into(), tracer })
}

/// The certificate of the links, its key and the authorities.
fn link_tls(links: &ClusterLinks) -> Result<TlsSettings, Error> {
    let read = |key: &str, path: &Option<PathBuf>| {
        let path =
            path.as_ref().ok_or_else(|| Error::Cluster(format!("cluster.links.{key} names no file")))?;
        std::fs::read(path)
            .map_err(|error| Error::Cluster(format!("cluster.links.{key} {}: {error}", path.display())))
    };
    let chain = read("certificate", &links.certificate)?;
    let (key, authorities) = (read("key", &links.key)?, read("ca", &links.ca)?);
    TlsSettings::from_pem(&chain, &key, &authorities)
        .map_err(|error| Error::Cluster(format!("[cluster.links]: {error}")))
}

/// Where others reach the links.
fn advertised(links: &ClusterLinks) -> Result<SocketAddr, Error> {
    links
        .advertise
        .or(links.listen)
        .ok_or_else(|| Error::Cluster("cluster.links.listen names no address".to_owned()))
}

/// Makes or checks the topic. A node that was in the cluster before also starts while no broker
/// answers: its topic was checked, and it follows as soon as they do.
fn check_topic(stores: &Stores, shards: u16, was_checked: bool) -> Result<(), Error> {
    let kafka = &stores.kafka;
    match make_or_check(kafka, shards.into(), stores.replication) {
        Ok(checked) => {
            if checked.is_made {
                tracing::info!(topic = kafka.topic(), shards, "The topic of the cluster was made");
            }
            for warning in checked.warnings {
                tracing::warn!(topic = kafka.topic(), "{warning}");
            }
            Ok(())
        }
        Err(KafkaError::Failed(failure)) if was_checked => {
            tracing::warn!(%failure, "Kafka cannot be asked about the topic; the node starts without");
            Ok(())
        }
        Err(error) => Err(refused(error)),
    }
}
