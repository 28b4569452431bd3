//! The contenders of the RPC rows: how the server and the client of each are started.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::fixture::{Programs, Side};
use crate::figure::Contender;
use crate::program::java;
use crate::server::Places;

/// A side of the RPC rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Peer {
    /// The bare epoll echo, [`super::bare`].
    Bare,
    /// The same, which looks for events before it sleeps, as the product does.
    BarePolling,
    /// The same, which also decodes and encodes each message.
    BareDecoding,
    /// This product: crates/rpc/examples/echo_server.rs and echo_client.rs.
    Stadium,
    /// Bare Netty with length-prefixed Protocol Buffers.
    Netty,
    /// rsocket-java.
    RsocketJava,
    /// KryoNet.
    Kryonet,
    /// grpc-java.
    GrpcJava,
    /// tonic.
    Tonic,
}

/// All, in the order in which they take their turns.
pub(super) const ALL: &[Peer] = &[
    Peer::Bare,
    Peer::BarePolling,
    Peer::BareDecoding,
    Peer::Stadium,
    Peer::Netty,
    Peer::RsocketJava,
    Peer::Kryonet,
    Peer::GrpcJava,
    Peer::Tonic,
];

/// Microseconds that a bare loop looks for events before it sleeps: the default of `ServerConfig` and
/// `ClientConfig`.
const BUSY_POLL_US: &str = "50";

/// Those that stand in the results as peers.
pub(super) const PEERS: &[Peer] =
    &[Peer::Netty, Peer::RsocketJava, Peer::Kryonet, Peer::GrpcJava, Peer::Tonic];

/// Heap of a Java peer, each side.
pub(crate) const HEAP: &str = "2g";

impl Contender for Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare epoll",
            Self::BarePolling => "bare epoll, busy poll",
            Self::BareDecoding => "bare epoll, busy poll, decodes",
            Self::Stadium => "stadium",
            Self::Netty => "netty",
            Self::RsocketJava => "rsocket-java",
            Self::Kryonet => "kryonet",
            Self::GrpcJava => "grpc-java",
            Self::Tonic => "tonic",
        }
    }
}

/// A contender's programs.
pub(super) struct Started<'a> {
    pub(super) peer: Peer,
    pub(super) places: &'a Places,
}

impl Programs for Started<'_> {
    fn command(&self, side: Side) -> Command {
        self.peer.program(side, self.places)
    }

    fn log(&self, side: Side) -> PathBuf {
        self.peer.log(side, self.places)
    }

    fn keeps_client(&self) -> bool {
        matches!(self.peer, Peer::Netty | Peer::RsocketJava | Peer::Kryonet | Peer::GrpcJava)
    }
}

impl Peer {
    /// The file for a program's stderr.
    pub(super) fn log(self, side: Side, places: &Places) -> PathBuf {
        let name = self.name().replace(", ", "-").replace(' ', "-");
        places.target.join(format!("bench/rpc-{name}-{}.log", side.name()))
    }

    /// One of its programs, pinned.
    pub(super) fn program(self, side: Side, places: &Places) -> Command {
        let java = |name| java(side.cores(), places, HEAP, &format!("{name}-{}", side.name()));
        let native = |program: &Path| side.cores().command(program);
        match self {
            Self::Bare | Self::BarePolling | Self::BareDecoding => {
                let mut command = native(&places.bench);
                command.args(["bare-echo", side.name()]);
                if self != Self::Bare {
                    command.args(["--busy-poll-us", BUSY_POLL_US]);
                }
                if self == Self::BareDecoding {
                    command.arg("--decode");
                }
                command
            }
            Self::Stadium => native(&places.example(&format!("echo_{}", side.name()))),
            Self::Netty => java("netty"),
            Self::RsocketJava => java("rsocket"),
            Self::Kryonet => java("kryonet"),
            Self::GrpcJava => java("grpc"),
            Self::Tonic => {
                let mut command = native(&places.tonic());
                command.arg(side.name());
                command
            }
        }
    }
}
