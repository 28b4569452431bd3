//! The contenders of the rows: clients, each with the server that it calls. Their programs are those of
//! bench/peers, and examples of crates/rpc.

use std::path::PathBuf;
use std::process::Command;

use crate::figure::Contender;
use crate::process::Cores;
use crate::program::java_on;
use crate::rpc::fixture::{Programs, Side};
use crate::rpc::peer::HEAP;
use crate::server::Places;

/// A client, and whom it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Caller {
    /// sdk/jvm, both sides.
    Java,
    /// The client of sdk/jvm onto the Rust echo.
    JavaToRust,
    /// Bare Netty, length-prefixed messages, both sides.
    Netty,
    /// grpc-java, both sides.
    GrpcJava,
    /// `LocalClient` of sdk/cpp onto the Rust echo.
    Cpp,
    /// `LocalClient` of crates/rpc onto the Rust echo.
    Rust,
    /// `stadium.aio.Client` of sdk/python onto the Rust echo.
    Python,
    /// rsocket-py onto the Rust echo.
    RsocketPy,
    /// grpcio's asyncio API onto tonic.
    GrpcioAio,
    /// grpcio's futures onto tonic.
    GrpcioFutures,
    /// Python's protobuf: a message made, encoded and decoded; no call.
    Protobuf,
    /// `stadium queue put` and `stadium queue work`.
    WorkCommand,
    /// The worker of sdk/python, by asyncio.
    PythonWorker,
    /// The worker of sdk/cpp.
    CppWorker,
    /// The worker of sdk/jvm.
    JavaWorker,
}

impl Contender for Caller {
    fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::JavaToRust => "java to rust",
            Self::Netty => "netty",
            Self::GrpcJava => "grpc-java",
            Self::Cpp => "c++",
            Self::Rust => "rust",
            Self::Python => "python asyncio",
            Self::RsocketPy => "rsocket-py",
            Self::GrpcioAio => "grpcio aio",
            Self::GrpcioFutures => "grpcio futures",
            Self::Protobuf => "protobuf alone",
            Self::WorkCommand => "stadium queue work",
            Self::PythonWorker => "python worker",
            Self::CppWorker => "c++ worker",
            Self::JavaWorker => "java worker",
        }
    }
}

impl Caller {
    /// Whether its client is a virtual machine, which warms up.
    pub(super) fn has_virtual_machine(self) -> bool {
        matches!(self, Self::Java | Self::JavaToRust | Self::Netty | Self::GrpcJava)
    }

    /// Its client, pinned.
    pub(super) fn client(self, places: &Places) -> Command {
        let cores = Cores::Second;
        let jvm = |program| jvm(cores, places, program);
        let python = |program| python(cores, places, program);
        let python_client = |library| {
            let mut command = python("client.py");
            command.arg(library);
            command
        };
        let cpp = |program| cores.command(&places.target.join("peers/sdk-cpp").join(program));
        match self {
            Self::Java | Self::JavaToRust => jvm("stadium-client"),
            Self::Netty => jvm("netty-client"),
            Self::GrpcJava => jvm("grpc-client"),
            Self::Cpp => cpp("bench/echo"),
            Self::Rust => cores.command(&places.example("echo_client")),
            Self::Python => python_client("stadium"),
            Self::RsocketPy => python_client("rsocket"),
            Self::GrpcioAio => python_client("grpcio-aio"),
            Self::GrpcioFutures => python_client("grpcio-futures"),
            Self::Protobuf => python_client("protobuf"),
            Self::WorkCommand => cores.command(&places.stadium()),
            Self::PythonWorker => python("worker.py"),
            Self::CppWorker => cpp("worker"),
            Self::JavaWorker => jvm("stadium-worker"),
        }
    }

    /// Its server of RPC, pinned: the Rust echo where it names no other. Workers get a server of
    /// [`super::queue`].
    fn server(self, places: &Places) -> Command {
        let cores = Cores::First;
        match self {
            Self::Java => jvm(cores, places, "stadium-server"),
            Self::Netty => jvm(cores, places, "netty-server"),
            Self::GrpcJava => jvm(cores, places, "grpc-server"),
            Self::GrpcioAio | Self::GrpcioFutures => {
                let mut command = cores.command(&places.tonic());
                command.arg("server");
                command
            }
            _ => cores.command(&places.example("echo_server")),
        }
    }
}

/// A program of bench/peers/sdk/jvm.
fn jvm(cores: Cores, places: &Places, program: &str) -> Command {
    let mut command = java_on(cores, HEAP, &places.sdk_class_path());
    command.args(["stadium.peers.SdkMain", program]);
    command
}

/// A program of bench/peers/python, by the interpreter that has grpcio and rsocket-py. It finds the
/// package of sdk/python, too.
fn python(cores: Cores, places: &Places, program: &str) -> Command {
    let mut command = cores.command(&places.target.join("peers/python/bin/python"));
    command.env("PYTHONPATH", places.target.join("peers/sdk-python"));
    command.arg(places.peers_source("python").join(program));
    command
}

/// A contender's programs.
pub(super) struct Started<'a> {
    pub(super) caller: Caller,
    pub(super) places: &'a Places,
}

impl Programs for Started<'_> {
    fn command(&self, side: Side) -> Command {
        match side {
            Side::Server => self.caller.server(self.places),
            Side::Client => self.caller.client(self.places),
        }
    }

    fn log(&self, side: Side) -> PathBuf {
        let name = self.caller.name().replace(' ', "-");
        self.places.target.join(format!("bench/sdk-{name}-{}.log", side.name()))
    }

    fn keeps_client(&self) -> bool {
        self.caller.has_virtual_machine()
    }
}
