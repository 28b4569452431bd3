//! The rows: an SDK over what it is compared with.

use super::caller::Caller;
use crate::figure::Better;
use crate::ratio;

/// One row.
type Row = ratio::Row<Caller>;

use Better::{Higher, Lower};
use Caller::{
    Cpp, CppWorker, GrpcJava, GrpcioAio, GrpcioFutures, Java, JavaToRust, JavaWorker, Netty, Protobuf,
    Python, PythonWorker, RsocketPy, Rust, WorkCommand,
};

/// More calls a second than the best of others.
const fn rate(
    figure: &'static str,
    measurement: &'static str,
    ours: Caller,
    over: &'static [Caller],
    must: Option<f64>,
    aim: f64,
) -> Row {
    let (unit, value, aim) = ("times", "per_second", Some(aim));
    let over_in = measurement;
    Row { figure, unit, better: Higher, measurement, value, ours, over, over_in, must, aim }
}

/// All, in the order of the page.
pub(super) const ROWS: &[Row] = &[
    rate("Java over grpc-java: 48 B, 1 connection", "jvm-48-1", Java, &[GrpcJava], Some(5.0), 8.0),
    rate("Java over grpc-java: 48 B, 10 connections", "jvm-48-10", Java, &[GrpcJava], Some(5.0), 8.0),
    rate("Java over grpc-java: 48 B, 100 connections", "jvm-48-100", Java, &[GrpcJava], Some(3.0), 4.0),
    rate("Java over bare Netty: 48 B, 1 connection", "jvm-48-1", Java, &[Netty], Some(0.8), 1.0),
    rate("Java over bare Netty: 48 B, 10 connections", "jvm-48-10", Java, &[Netty], Some(0.8), 1.0),
    rate("Java over bare Netty: 48 B, 100 connections", "jvm-48-100", Java, &[Netty], Some(0.8), 1.0),
    rate("Java over bare Netty: 3,216 B, 1 connection", "jvm-3216-1", Java, &[Netty], Some(0.8), 1.0),
    rate("Java over bare Netty: 3,216 B, 10 connections", "jvm-3216-10", Java, &[Netty], Some(0.8), 1.0),
    Row {
        figure: "Java over bare Netty: median round trip, 48 B, one in flight",
        unit: "times",
        better: Lower,
        measurement: "jvm-idle",
        value: "p50_us",
        ours: Java,
        over: &[Netty],
        over_in: "jvm-idle",
        must: Some(1.0),
        aim: Some(0.4),
    },
    Row {
        figure: "Java to the Rust server: 48 B, 1 connection",
        unit: "calls/s",
        better: Higher,
        measurement: "jvm-48-1",
        value: "per_second",
        ours: JavaToRust,
        over: &[],
        over_in: "jvm-48-1",
        must: Some(1e6),
        aim: Some(1.6e6),
    },
    Row {
        figure: "Java over grpc-java: bytes that a client allocates for a warm call, message included",
        unit: "times",
        better: Lower,
        measurement: "jvm-48-1",
        value: "allocated_bytes",
        ours: Java,
        over: &[GrpcJava],
        over_in: "jvm-48-1",
        must: Some(0.3),
        aim: Some(0.1),
    },
    rate("C++ over Rust's LocalClient: 48 B, 1 connection", "cpp", Cpp, &[Rust], Some(0.7), 0.9),
    Row {
        figure: "Python asyncio over the best of rsocket-py and grpcio: 48 B, 1 connection",
        unit: "times",
        better: Higher,
        measurement: "python",
        value: "per_second",
        ours: Python,
        over: &[RsocketPy, GrpcioAio, GrpcioFutures],
        over_in: "python",
        must: Some(5.0),
        aim: None,
    },
    rate("Python asyncio over protobuf alone: 48 B", "python", Python, &[Protobuf], None, 0.4),
    rate(
        "Python's worker over `stadium queue work`: small jobs",
        "queue",
        PythonWorker,
        &[WorkCommand],
        Some(0.5),
        0.8,
    ),
    rate(
        "Java's worker over `stadium queue work`: small jobs",
        "queue",
        JavaWorker,
        &[WorkCommand],
        Some(0.5),
        0.8,
    ),
    rate(
        "C++'s worker over `stadium queue work`: small jobs",
        "queue",
        CppWorker,
        &[WorkCommand],
        Some(0.5),
        0.8,
    ),
];

#[cfg(test)]
mod tests {
    use super::ROWS;
    use crate::ratio::names;

    #[test]
    fn no_two_rows_share_their_values() {
        assert_eq!(names(ROWS), ROWS.len());
    }
}
