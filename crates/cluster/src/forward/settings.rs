//! The settings of a node's links.

use std::net::SocketAddr;

use stadium_links::{ClusterId, Incarnation, NodeName, Settings, Timing, TlsSettings};
use stadium_telemetry::Tracer;

/// The longest message between nodes, in bytes: a put of four of the largest jobs.
pub(crate) const BODY_BYTES_MAX: usize = 4 << 20;

/// Settings of the links to other nodes.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// Where the node listens for others. The address under which they reach it is among those of
    /// [`stadium_membership::Node::addresses`], as `links`.
    pub listen: SocketAddr,
    /// Its certificate, whose only DNS name is the node's, and the authorities of the cluster.
    pub tls: TlsSettings,
    /// Threads for links, 1 to 64. Each keeps a connection to each other node.
    pub loops: usize,
    /// Records the spans of commands and pushes of other nodes.
    pub tracer: Tracer,
}

impl LinkSettings {
    pub(crate) fn endpoint(&self, cluster: ClusterId, me: NodeName) -> Settings {
        let timing = Timing { body_bytes_max: BODY_BYTES_MAX, ..Timing::default() };
        let usual = Settings::new(cluster, me, Incarnation(0), self.listen, self.tls.clone());
        let control_credit = stadium_links::Bounds { bytes: 8 << 20, ..usual.control_credit };
        Settings { loops: self.loops, timing, control_credit, ..usual }
    }
}
