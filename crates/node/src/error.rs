//! Why a node cannot start or cannot read its files again.
//!
//! Each error states what happened, to what, and what to do; the code is stable and explained in
//! `docs/reference/configuration.md` for settings and in the parts' own pages for theirs.

use std::fmt;

/// What went wrong.
#[derive(Debug)]
pub enum Error {
    /// The data directory cannot be made or used.
    Data(String),
    /// A certificate, key or authority cannot be read or used.
    Certificate(String),
    /// Authentication cannot be set up.
    Auth(String),
    /// The edge cannot start: mostly an address that cannot be listened on.
    Edge(String),
    /// The HTTP port cannot start.
    Http(String),
    /// The services of this process, or the way to others, cannot start.
    Services(String),
    /// A shard cannot be opened: its journal, its checkpoints, or the number of shards.
    Shards(String),
    /// The cluster of the settings cannot be joined.
    Cluster(String),
    /// Traces and metrics cannot be exported as the settings ask.
    Telemetry(String),
    /// The operating system refused something the node needs.
    System(String),
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Data(_) => "NODE-001",
            Self::Certificate(_) => "NODE-002",
            Self::Auth(_) => "NODE-003",
            Self::Edge(_) => "NODE-004",
            Self::Http(_) => "NODE-005",
            Self::System(_) => "NODE-006",
            Self::Services(_) => "NODE-008",
            Self::Shards(_) => "NODE-012",
            Self::Cluster(_) => "NODE-013",
            Self::Telemetry(_) => "NODE-014",
        }
    }

    /// Every code with what it means and what to do, for the reference.
    pub const HELP: [(&'static str, &'static str); 14] = [
        (
            "NODE-001",
            "The data directory (`server.data`) cannot be made or used. It must be writable by the server's user alone.",
        ),
        (
            "NODE-002",
            "A certificate, key or authority file of a TLS listener cannot be read or used. The message names the file.",
        ),
        ("NODE-003", "Authentication cannot be set up; the message carries the AUTH code that says why."),
        (
            "NODE-004",
            "Devices cannot be served: mostly an address that another process listens on, or that this machine does not have.",
        ),
        (
            "NODE-005",
            "The HTTP port cannot be served: its address, its certificate, or the API keys of the data directory.",
        ),
        ("NODE-006", "The operating system refused a thread, a signal handler or a file."),
        (
            "NODE-007",
            "A push was rejected because its audience makes no topic name: a channel or device id holds what a topic may not, or is too long. The message names the topic.",
        ),
        (
            "NODE-008",
            "Services cannot be served or found: mostly an address of `[rpc]` that another process listens on, or a mistake in `[discovery]`.",
        ),
        (
            "NODE-009",
            "A call of `stadium`, `queue` or `wallet` over RPC was rejected: its caller is not known, or may not do this. The message names the right that is missing, or why a token or a certificate is not believed. Send an API key or a signed token (`rpc.tokens`) as a bearer token in the authentication metadata, or connect with a certificate that `rpc.identities` names.",
        ),
        (
            "NODE-010",
            "A call of `stadium`, `queue` or `wallet` over RPC was rejected: a field of it is wrong. The message names it.",
        ),
        (
            "NODE-011",
            "A shard answered a call of `queue` or `wallet` with what was not asked: a bug. Report it with the server's log; what was asked for may have happened.",
        ),
        (
            "NODE-012",
            "A shard cannot be opened; the message carries the SHARD or JRN code that says why and what to do. Nothing of its data was changed.",
        ),
        (
            "NODE-013",
            "The cluster of `[cluster]` cannot be joined: this `stadium` was built without clusters, the cluster does not exist or is another one, its topic in Kafka is not as it must be, or a file or a name is refused. The message says which; docs/cluster.md describes a whole configuration.",
        ),
        (
            "NODE-014",
            "Traces and metrics cannot be exported: a file of `[telemetry]` cannot be read or holds something else, or the collector's URL is refused. A collector that is away does not stop a start; docs/telemetry.md describes the settings.",
        ),
    ];
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Data(text)
        | Self::Certificate(text)
        | Self::Auth(text)
        | Self::Edge(text)
        | Self::Http(text)
        | Self::Services(text)
        | Self::Shards(text)
        | Self::Cluster(text)
        | Self::Telemetry(text)
        | Self::System(text)) = self;
        write!(f, "{text} ({})", self.code())
    }
}

impl std::error::Error for Error {}
