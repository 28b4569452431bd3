//! The measurements: a cell of RPC, or jobs through a queue, taken by some contenders in turn.
//!
//! A measurement's name is the first part of its samples' names and what `--only` looks at.

use super::caller::Caller;
use crate::rpc::cell::{Cell, Flight, Message};

/// The work of a measurement.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Calls in flight.
    Cell(Cell),
    /// Jobs through a queue, [`super::queue`].
    Queue,
}

/// One measurement.
pub(super) struct Measurement {
    pub(super) name: &'static str,
    /// For people.
    pub(super) title: &'static str,
    pub(super) work: Work,
    /// In the order in which they take their turns.
    pub(super) callers: &'static [Caller],
}

use Caller::{
    Cpp, CppWorker, GrpcJava, GrpcioAio, GrpcioFutures, Java, JavaToRust, JavaWorker, Netty, Protobuf,
    Python, PythonWorker, RsocketPy, Rust, WorkCommand,
};

const fn cell(flight: Flight, message: Message, connections: u32) -> Work {
    Work::Cell(Cell { flight, message, connections })
}

const JVM: &[Measurement] = &[
    Measurement {
        name: "jvm-48-1",
        title: "48 B, 1 connection, 200 in flight",
        work: cell(Flight::Full, Message::Small, 1),
        callers: &[Java, Netty, GrpcJava, JavaToRust],
    },
    Measurement {
        name: "jvm-48-10",
        title: "48 B, 10 connections, 200 in flight",
        work: cell(Flight::Full, Message::Small, 10),
        callers: &[Java, Netty, GrpcJava],
    },
    Measurement {
        name: "jvm-48-100",
        title: "48 B, 100 connections, 200 in flight",
        work: cell(Flight::Full, Message::Small, 100),
        callers: &[Java, Netty, GrpcJava],
    },
    Measurement {
        name: "jvm-3216-1",
        title: "3,216 B, 1 connection, 200 in flight",
        work: cell(Flight::Full, Message::Large, 1),
        callers: &[Java, Netty],
    },
    Measurement {
        name: "jvm-3216-10",
        title: "3,216 B, 10 connections, 200 in flight",
        work: cell(Flight::Full, Message::Large, 10),
        callers: &[Java, Netty],
    },
    Measurement {
        name: "jvm-idle",
        title: "48 B, 1 connection, one in flight",
        work: cell(Flight::Idle, Message::Small, 1),
        callers: &[Java, Netty],
    },
];

const CPP: &[Measurement] = &[Measurement {
    name: "cpp",
    title: "48 B, 1 connection, 200 in flight",
    work: cell(Flight::Full, Message::Small, 1),
    callers: &[Cpp, Rust],
}];

const PYTHON: &[Measurement] = &[Measurement {
    name: "python",
    title: "48 B, 1 connection, 200 in flight",
    work: cell(Flight::Full, Message::Small, 1),
    callers: &[Python, RsocketPy, GrpcioAio, GrpcioFutures, Protobuf],
}];

const QUEUE: &[Measurement] = &[Measurement {
    name: "queue",
    title: "small jobs",
    work: Work::Queue,
    callers: &[WorkCommand, PythonWorker, CppWorker, JavaWorker],
}];

/// All, by groups: the programs of a group stay until its last measurement.
pub(super) const GROUPS: &[&[Measurement]] = &[JVM, CPP, PYTHON, QUEUE];
