//! `[cluster]`: the cluster that this server is a node of, and how it reaches etcd, Kafka and the
//! other nodes.
//!
//! docs/cluster.md describes a cluster and what each of its parts must be like. Sizes of segments
//! and of memory follow `[journal]` and `[shards]`, as on a standalone server.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::settings::define::group;
use crate::settings::sections::access::Access;
use crate::settings::value::words;

words! {
    /// How a node proves to Kafka's brokers that it knows the password.
    pub enum SaslMechanism {
        /// Not at all: the brokers know it by its certificate, or let everybody in.
        None = "none",
        /// The password itself is sent. Only over TLS.
        Plain = "plain",
        /// SCRAM with SHA-256.
        ScramSha256 = "scram-sha-256",
        /// SCRAM with SHA-512.
        ScramSha512 = "scram-sha-512",
    }
}

group! {
    /// A cluster: several servers keep the shards together, and one that is lost takes nothing with it. Needs etcd, Kafka,
    /// and a `stadium` that was built with `--features cluster`. A server without a `name` here is standalone.
    pub struct Cluster {
        /// The name of the cluster, which `stadium cluster init` made. Empty runs a standalone server. It names the keys in etcd
        /// (`/stadium/NAME/`) and the topic in Kafka (`stadium.NAME.log`). Letters, digits, `.`, `_` and `-`.
        name: Option<String> = None;
        /// The name of this node, which no other node of the cluster has. It is the only DNS name in the certificate of
        /// `[cluster.links]`. Empty takes the machine's host name. Letters, digits, `.`, `_` and `-`.
        node: Option<String> = None;
        /// The zone or rack of this node. Standbys of a shard go to other zones than its owner where there are any.
        zone: Option<String> = None;
        /// Standbys of each shard, on other nodes. All nodes should say the same: the node that plans decides. 0 makes the loss
        /// of a node as long as a recovery.
        standbys: u16 = 1, unit "standbys", in 0..=6, cost "the memory and disk of each shard once more, for each";
        /// The object store of checkpoints and segments, as `stadium journal export --to` takes it: `s3://BUCKET/PREFIX`,
        /// `gs://`, `az://`, or `file:///PATH` of a folder that all nodes mount. Credentials come from the environment. Empty
        /// stores nothing: then no log is trimmed, and a new replica reads its log from the beginning.
        store: Option<String> = None;
    }
    tables {
        /// etcd, which knows the nodes and the owners of shards.
        etcd: ClusterEtcd,
        /// Kafka, which holds the logs of the shards.
        kafka: ClusterKafka,
        /// Links to the other nodes.
        links: ClusterLinks,
    }
}

group! {
    /// etcd, which knows the nodes of the cluster and the owners of shards. Certificates are read again at each connection.
    pub struct ClusterEtcd {
        /// `http://HOST:PORT` or `https://HOST:PORT` of its members; all of them, so that one may be away. `https` needs `ca`.
        endpoints: Vec<String> = Vec::new();
    }
    with {
        /// How etcd knows this node.
        access: Access,
    }
}

group! {
    /// Kafka, whose topic `stadium.NAME.log` holds the logs of all shards. A node makes the topic where there is none, or
    /// refuses to start with what is wrong about it.
    pub struct ClusterKafka {
        /// `HOST:PORT` of the brokers to ask first. They name all others.
        brokers: Vec<String> = Vec::new();
        /// Speak TLS. Without `ca`, the authorities of this machine may sign the certificates of brokers.
        tls: bool = false;
        /// Whether a broker's certificate must be for the name by which it is reached.
        check_server_name: bool = true, cost "when off, whoever has any certificate of these authorities can pose as a broker";
        /// How the password is proved. The others than `none` need `user` and `password_file`.
        sasl: SaslMechanism = SaslMechanism::None;
        /// Brokers that have each partition: 3, of which 2 must be in sync; or 2 or 1, for trials. Read when the topic is made
        /// or checked.
        replication: u16 = 3, unit "brokers", in 1..=3;
        /// Time until an append without an acknowledgement is reported as not appended. Longer than a change of a
        /// partition's leader, and shorter than what callers wait.
        append_timeout_ms: u32 = 5_000, unit "ms", in 2_000..=10_000, cost "callers of a shard whose partition is away hear of it later";
        /// Bytes of all messages of this node that wait for an acknowledgement. What is beyond is refused at once.
        unacknowledged_bytes_max: u32 = 268_435_456, unit "bytes", in 18_874_368..=1_073_741_824, cost "as much memory";
    }
    with {
        /// How the brokers know this node.
        access: Access,
    }
}

group! {
    /// Links to the other nodes of the cluster: mutual TLS, by certificates of authorities that sign for its nodes alone.
    pub struct ClusterLinks {
        /// Where to listen for other nodes.
        listen: Option<SocketAddr> = Some(SocketAddr::from(([0, 0, 0, 0], 7900)));
        /// The address by which other nodes reach it. Off takes `listen`, unless that is every network (`0.0.0.0`), which
        /// nobody can call.
        advertise: Option<SocketAddr> = None;
        /// The node's certificate, PEM, whose only DNS name is the node's, for both sides of TLS.
        certificate: Option<PathBuf> = None;
        /// Its private key, PEM.
        key: Option<PathBuf> = None;
        /// The authorities of the cluster's nodes, PEM. Whoever has a certificate of theirs can be a node.
        ca: Option<PathBuf> = None;
        /// Event loops of the links, one thread each, with one connection to each other node.
        loops: u16 = 1, unit "threads", in 1..=64, cost "a thread, a 256 KB read buffer and a connection to each node";
    }
}
