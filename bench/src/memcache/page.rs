//! The results for people: bench/results/memcache.md. Written whole, from one run; never edited by hand.

use std::fmt::Write as _;

use super::caller::{CALLERS, Caller};
use super::measurement::MEASUREMENTS;
use super::server;
use crate::figure::Figure;
use crate::taken::Taken;
use crate::{machine, table};

/// Contenders' own numbers.
const DETAILS: &[(&str, &str)] = &[
    ("per_second", "operations a second"),
    ("client_cpu", "client's share of its core"),
    ("server_cpu", "memcached's share of its core"),
    ("calls_per_thousand", "for 1,000 operations"),
    ("futex_per_thousand", "for 1,000 operations, of those `futex`"),
    ("yields_per_thousand", "for 1,000 operations, of those `sched_yield`"),
    ("allocations_per_get", "for a get"),
];

/// The page as Markdown.
pub(super) fn write(figures: &[Figure], taken: &Taken<Caller>, rounds: usize) -> String {
    let mut page = String::from("# The memcached client\n\n");
    let _ = writeln!(
        page,
        "`cargo xtask bench memcache`, {rounds} rounds, medians with (lowest to highest). {} with one thread, pinned to \
         core 0; the client's program on core 1, with all its threads, those of a collector and a compiler too; contenders \
         in turn in each measurement. Machine: {}. A figure is a ratio within a round, unless its unit is allocations.\n",
        server::version(),
        machine::describe()
    );
    page.push_str(HOW);
    page.push_str("## Figures\n\n");
    table::ratios(&mut page, figures);
    page.push_str("\n## Behind them\n\n");
    let rows = MEASUREMENTS.iter().flat_map(|measurement| {
        DETAILS.iter().map(move |(value, title)| {
            (format!("{}.{value}", measurement.name), format!("{}: {title}", measurement.title))
        })
    });
    table::details(&mut page, &taken.samples, CALLERS, rows);
    table::failures(&mut page, &taken.failures);
    page
}

/// The rules by which each side is run.
const HOW: &str = "\
- A cell is 800,000 operations, half sets and half gets, of values of 100 bytes under 10,000 keys, all of which are stored. \
A caller sets a key without waiting, then waits for the value of another. The program compares each value with the key's; \
memcached counts the sets. A client that loses one of either has no figure.
- Every client has one connection, with the exceptions below. Before its cell a virtual machine has done 800,000 operations \
of the same kind that are not measured, another program 160,000. The virtual machines have the same arguments \
(bench/src/program.rs).
- Settings of the peers: bench/peers/memcache. Xmemcached merges gets and buffers, sets by `setWithNoReply`, and reads on its \
selector's thread. Folsom answers on its event loop. spymemcached merges gets. All three speak the text protocol, without \
Nagle's algorithm.
- Clients of crates.io do not let callers share a connection, so each caller has one of its own. A set of `async-memcached` \
waits for its answer, because it has no other; one of `memcache-async` asks for none. A third one, `memcache`, was tried, and \
is not measured: it does an eighth of the operations of `memcache-async`.
- With 1,000 operations in flight there is one thread: 500 gets that it has not taken the value of, and the sets before \
them. The bare loop has the same number in flight. It writes preformatted batches of quiet sets and `get`s of many keys, and \
counts answers by their length.
- System calls are those of all threads of the client, counted by `perf stat` at the kernel's tracepoint in a cell of its own \
of 200,000 operations. Allocations are calls of libc's allocator by all threads during 200,000 gets.

";
