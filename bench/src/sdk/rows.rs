//! The rows: an SDK over what it is compared with, in the same round. A round that lacks one of the two
//! has no value for the row.

use std::collections::BTreeMap;

use super::caller::Caller;
use crate::figure::{Better, Figure, Samples};

/// One row.
pub(super) struct Row {
    figure: &'static str,
    unit: &'static str,
    better: Better,
    pub(super) measurement: &'static str,
    value: &'static str,
    pub(super) ours: Caller,
    /// The best of these is what `ours` is divided by; with none, the row is the value itself.
    pub(super) over: &'static [Caller],
    must: Option<f64>,
    aim: Option<f64>,
}

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
    Row { figure, unit, better: Higher, measurement, value, ours, over, must, aim }
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

impl Row {
    /// The name of its values, one a round.
    pub(super) fn sample(&self) -> String {
        match self.over.first() {
            None => format!("{}.{}", self.measurement, self.value),
            Some(first) => format!("{}.{} over {first:?}", self.measurement, self.value),
        }
    }

    /// Its value in a round, from what the contenders of its measurement gave: all of them.
    pub(super) fn ratio(&self, numbers: &BTreeMap<Caller, Vec<(String, f64)>>) -> Option<f64> {
        let value = |caller: Caller| {
            let found = numbers.get(&caller)?.iter().find(|(name, _)| name == self.value)?;
            Some(found.1)
        };
        // Where one of them failed, the best of the others may not be the best.
        let others: Option<Vec<f64>> = self.over.iter().map(|caller| value(*caller)).collect();
        let best = match self.better {
            Higher => others?.into_iter().reduce(f64::max),
            Lower => others?.into_iter().reduce(f64::min),
        }?;
        Some(value(self.ours)? / best)
    }
}

/// Every row, measured or not.
pub(super) fn figures(samples: &Samples<Caller>) -> Vec<Figure> {
    let figure = |row: &Row| Figure {
        figure: row.figure.to_owned(),
        unit: row.unit,
        better: row.better,
        runs: samples.runs(&row.sample(), row.ours).to_vec(),
        value: samples.median(&row.sample(), row.ours),
        must: row.must,
        aim: row.aim,
        peers: BTreeMap::new(),
        limit: None,
    };
    ROWS.iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Caller, ROWS, figures};
    use crate::figure::Samples;

    fn numbers(values: &[(Caller, &str, f64)]) -> BTreeMap<Caller, Vec<(String, f64)>> {
        let mut numbers = BTreeMap::<_, Vec<_>>::new();
        for (caller, name, value) in values {
            numbers.entry(*caller).or_default().push(((*name).to_owned(), *value));
        }
        numbers
    }

    #[test]
    fn a_ratio_is_over_the_best_of_the_others_in_its_round() {
        let row = ROWS.iter().find(|row| row.over.len() == 3).expect("Python over three peers");
        let rates = [
            (Caller::Python, "per_second", 120.0),
            (Caller::RsocketPy, "per_second", 20.0),
            (Caller::GrpcioAio, "per_second", 15.0),
            (Caller::GrpcioFutures, "per_second", 10.0),
        ];
        assert_eq!(row.ratio(&numbers(&rates)), Some(6.0));
        assert_eq!(row.ratio(&numbers(&rates[1..])), None);
        assert_eq!(row.ratio(&numbers(&rates[..3])), None);
    }

    #[test]
    fn fewer_bytes_than_the_peer_reach_the_aim() {
        let row = ROWS.iter().find(|row| row.value == "allocated_bytes").expect("a row of allocations");
        let bytes =
            [(Caller::Java, "allocated_bytes", 800.0), (Caller::GrpcJava, "allocated_bytes", 8_000.0)];
        let mut samples = Samples::default();
        samples.add(row.sample(), row.ours, row.ratio(&numbers(&bytes)).expect("both have a value"));
        let figure = figures(&samples).into_iter().find(|figure| figure.figure == row.figure);
        assert_eq!(figure.map(|figure| figure.verdict()), Some("aim"));
    }

    #[test]
    fn no_two_rows_share_their_values() {
        let mut names: Vec<_> = ROWS.iter().map(|row| (row.sample(), row.ours)).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }
}
