//! The stores of a cluster, as the settings say that they are reached: etcd and Kafka.
//!
//! A node joins its cluster by them, and `stadium cluster` works on them without a node.

use std::time::Duration;

use stadium_journal_kafka::{
    Identity, Mechanism, Replication, Sasl, Secret, ServerName, Settings as Kafka, Tls as KafkaTls,
};
use stadium_membership_etcd::{Access, Tls, User};

use super::secrets;
use crate::settings::{ClusterEtcd, ClusterKafka, SaslMechanism, Settings};

/// Where a cluster is, and how its settings want it.
#[derive(Clone, Debug)]
pub struct Stores {
    /// The cluster's name.
    pub name: String,
    /// How etcd is reached.
    pub etcd: Access,
    /// How Kafka is reached.
    pub kafka: Kafka,
    /// How many brokers are to have each partition.
    pub replication: Replication,
    /// Standbys that each shard is to have.
    pub standbys: usize,
}

impl Stores {
    /// Reads passwords from their files. `None` where the settings name no cluster.
    ///
    /// # Errors
    /// A file cannot be read, in words that name the setting.
    pub fn read(settings: &Settings) -> Result<Option<Self>, String> {
        let cluster = &settings.cluster;
        let Some(name) = cluster.name.clone() else { return Ok(None) };
        let etcd = etcd(&cluster.etcd)?;
        let kafka = kafka(&cluster.kafka, &name)?;
        let replication = match cluster.kafka.replication {
            1 => Replication::One,
            2 => Replication::Two,
            _ => Replication::Three,
        };
        Ok(Some(Self { name, etcd, kafka, replication, standbys: cluster.standbys.into() }))
    }
}

fn etcd(etcd: &ClusterEtcd) -> Result<Access, String> {
    let user = secrets::user("cluster.etcd", &etcd.access)?;
    Ok(Access {
        endpoints: etcd.endpoints.clone(),
        user: user.map(|(name, password)| User { name, password }),
        tls: etcd.access.ca.clone().map(|authorities| Tls {
            authorities,
            identity: etcd.access.identity(),
            server_name: None,
        }),
    })
}

fn kafka(kafka: &ClusterKafka, cluster: &str) -> Result<Kafka, String> {
    let access = &kafka.access;
    let identity = access.identity().map(|(certificate, key)| Identity { certificate, key });
    let server_name = if kafka.check_server_name { ServerName::Checked } else { ServerName::Unchecked };
    let mechanism = match kafka.sasl {
        SaslMechanism::None => None,
        SaslMechanism::Plain => Some(Mechanism::Plain),
        SaslMechanism::ScramSha256 => Some(Mechanism::ScramSha256),
        SaslMechanism::ScramSha512 => Some(Mechanism::ScramSha512),
    };
    let sasl = match (mechanism, &access.user, &access.password_file) {
        (Some(mechanism), Some(user), Some(path)) => {
            let password =
                Secret::from_file(path).map_err(|error| format!("cluster.kafka.password_file: {error}"))?;
            Some(Sasl { mechanism, user: user.clone(), password })
        }
        _ => None,
    };
    Ok(Kafka {
        tls: kafka.tls.then(|| KafkaTls { authorities: access.ca.clone(), identity, server_name }),
        sasl,
        append_timeout: Duration::from_millis(kafka.append_timeout_ms.into()),
        unacknowledged_bytes_max: kafka.unacknowledged_bytes_max as usize,
        ..Kafka::new(kafka.brokers.clone(), cluster)
    })
}
