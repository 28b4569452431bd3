//! The client's program of `cargo xtask bench memcache`: half asynchronous sets, half waited gets of 100
//! bytes on one connection. Cells and their output are those of bench/peers/memcache/rust/src/load.rs.
//!
//! `memcache_load --connect ADDRESS` reads a cell from each line of stdin: `--callers 8 --operations
//! 800000`, or `--inflight 1000 --operations 800000` for one thread. The keys must be stored before.

#[path = "../../../bench/peers/memcache/rust/src/load.rs"]
mod load;

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use load::{Cell, Failure, Keys};
use stadium_memcache::{Client, Config, Expiry, Pending, Value};

/// The time that an operation may take: more than the machine takes the processor away.
const TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> Result<(), Failure> {
    let config = Config::for_servers([load::address()?])?;
    let client = Client::with(Config { timeout: TIMEOUT, ..config })?;
    let keys = Keys::new();
    load::serve(|cell| match cell.inflight {
        0 => on_threads(cell, |caller| blocking(&client, &keys, cell, caller)),
        inflight => pipelined(&client, &keys, cell, inflight),
    })
}

/// Runs the callers of a cell, each on a thread of its own; the sum of their hits.
fn on_threads(cell: &Cell, run: impl Fn(usize) -> Result<usize, Failure> + Sync) -> Result<usize, Failure> {
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..cell.callers).map(|caller| scope.spawn(move || run(caller))).collect();
        threads.into_iter().map(|thread| thread.join().expect("callers do not panic")).sum()
    })
}

fn blocking(client: &Client, keys: &Keys, cell: &Cell, caller: usize) -> Result<usize, Failure> {
    let (mut hits, mut buffer) = (0, Vec::new());
    for round in 0..cell.gets_each() {
        if !cell.gets_only {
            let (key, value) = keys.stored(caller, round);
            client.set(key, value, Expiry::Never)?.ignore();
        }
        let (key, expected) = keys.read(caller, round);
        let flags = client.get_into(key, &mut buffer)?;
        hits += usize::from(flags.is_some() && buffer == expected);
    }
    Ok(hits)
}

fn pipelined(client: &Client, keys: &Keys, cell: &Cell, inflight: usize) -> Result<usize, Failure> {
    let mut hits = 0;
    let mut pending: VecDeque<(&[u8], Pending<Option<Value>>)> = VecDeque::with_capacity(inflight / 2);
    let gets = cell.gets_each();
    for round in 0..gets + inflight / 2 {
        if pending.len() == inflight / 2 || round >= gets {
            let Some((expected, oldest)) = pending.pop_front() else { break };
            hits += usize::from(oldest.wait()?.is_some_and(|value| value.bytes == expected));
        }
        if round < gets {
            let (key, value) = keys.stored(0, round);
            client.set(key, value, Expiry::Never)?.ignore();
            let (key, expected) = keys.read(0, round);
            pending.push_back((expected, client.fetch(key)?));
        }
    }
    Ok(hits)
}
