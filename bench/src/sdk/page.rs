//! The results for people: bench/results/sdk.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::caller::Caller;
use super::measurement::{GROUPS, Measurement};
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// Contenders' own numbers.
const DETAILS: &[(&str, &str)] = &[
    ("per_second", "a second"),
    ("p50_us", "median us"),
    ("p99_us", "99th percentile us"),
    ("client_cpu", "client's share of its core"),
    ("busy_per_second", "answered Busy a second"),
    ("allocated_bytes", "bytes that the client allocates for a call"),
    ("put_per_second", "put a second"),
    ("work_per_second", "worked on a second"),
];

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Caller>, rounds: usize) -> String {
    let mut page = String::from("# Language SDKs beside their peers\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench sdk`, {rounds} rounds, medians with (lowest to highest). Server pinned to core 0, client to core 1, \
         with all threads that a process has, those of a collector and a compiler too; contenders in turn in each measurement. \
         Machine: {}. A figure is a ratio within a round, unless its unit is calls/s.\n\n\
         A message is a `Sample` of bench/proto/echo.proto, 48 or 3,216 bytes, in Protocol Buffers. A server decodes it and \
         encodes it again. Latency is from before the encoding of a request to after the decoding of its answer.\n",
        machine::describe()
    );
    page.push_str(HOW);
    page.push_str("## Figures\n\n");
    table::ratios(&mut page, figures);
    for group in GROUPS {
        details(&mut page, group, taken);
    }
    table::failures(&mut page, &taken.failures);
    page
}

/// How each side is run.
const HOW: &str = "\
- Java, bare Netty and grpc-java are programs of one project, bench/peers/sdk/jvm, with the same load, JDK, arguments of \
the JVM (bench/src/program.rs) and warm-up (bench/src/rpc/fixture.rs). Each has one event loop a side. Java and bare \
Netty have the same versions of Netty and protobuf-java; grpc-java has the same protobuf-java, and its own Netty.
- Java has the guards of the SDK at their defaults: deadlines, balancing, retries, ejection, admission, keepalive. Its loops \
poll for 50 us before they sleep, as by default in a process with several processors. Bare Netty and grpc-java sleep at once.
- Allocated bytes are those of all threads of the client, the messages' included.
- C++ and Rust are clients of crates/rpc/examples/echo_server.rs, one thread each.
- Python and rsocket-py call that server, grpcio calls tonic. grpcio runs by its asyncio API and by its futures. `protobuf \
alone` makes, encodes and decodes a message in one thread, without a call.
- Jobs have 12 bytes. Each worker has a server of its own, and works on what was put before: puts of 1,000 jobs, then \
100 jobs under way in a worker. `stadium queue work` starts a process for each job, `/bin/true`, four at once: it has no \
form that does not. So its ratio says what a worker of an SDK saves. TypeScript has no worker; that of the JVM is not measured.

";

fn details(page: &mut String, group: &[Measurement], taken: &Taken<Caller>) {
    let mut callers: Vec<Caller> =
        group.iter().flat_map(|measurement| measurement.callers).copied().collect();
    callers.sort();
    callers.dedup();
    let is_taken = |caller: &Caller| {
        group.iter().any(|measurement| {
            !taken.samples.runs(&format!("{}.per_second", measurement.name), *caller).is_empty()
        })
    };
    if !callers.iter().any(is_taken) {
        return;
    }
    let rows = group.iter().flat_map(|measurement| {
        DETAILS.iter().map(move |(value, title)| {
            (format!("{}.{value}", measurement.name), format!("{}: {title}", measurement.title))
        })
    });
    page.push_str("\n## Behind them: ");
    let names: Vec<&str> = callers.iter().map(|caller| crate::figure::Contender::name(*caller)).collect();
    page.push_str(&names.join(", "));
    page.push_str("\n\n");
    table::details(page, &taken.samples, &callers, rows);
}
