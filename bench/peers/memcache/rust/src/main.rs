//! Clients of crates.io beside the product's: `async-memcached` and `memcache-async`.
//!
//! Neither lets callers share a connection, so each caller has one of its own, in a task on a
//! current-thread runtime, because the client has one core. Usage: `memcache-peers CRATE --connect
//! ADDRESS`, cells on stdin.

mod load;

use std::sync::Arc;

use async_memcached::AsciiProtocol as _;
use load::{Cell, Failure, Keys};
use memcache_async::ascii::Protocol;
use tokio::io::BufWriter;
use tokio::net::TcpStream;

fn main() -> Result<(), Failure> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let address = load::address()?;
    let keys = Arc::new(Keys::new());
    match name.as_str() {
        "async-memcached" => load::serve(|cell| {
            let gets = cell.gets_each();
            on_tasks(cell, |caller| waited_sets(address.clone(), keys.clone(), gets, caller))
        }),
        "memcache-async" => load::serve(|cell| {
            let gets = cell.gets_each();
            on_tasks(cell, |caller| unanswered_sets(address.clone(), keys.clone(), gets, caller))
        }),
        _ => Err(format!("`{name}` is neither async-memcached nor memcache-async").into()),
    }
}

/// Runs the callers of a cell, each as a task; the sum of their hits.
fn on_tasks<F>(cell: &Cell, run: impl Fn(usize) -> F) -> Result<usize, Failure>
where
    F: Future<Output = Result<usize, Failure>> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let tasks: Vec<_> = (0..cell.callers).map(|caller| tokio::spawn(run(caller))).collect();
        let mut hits = 0;
        for task in tasks {
            hits += task.await??;
        }
        Ok(hits)
    })
}

/// `async-memcached`: its set waits.
async fn waited_sets(address: String, keys: Arc<Keys>, gets: usize, caller: usize) -> Result<usize, Failure> {
    let mut client = async_memcached::Client::new(format!("tcp://{address}")).await?;
    let mut hits = 0;
    for round in 0..gets {
        let (key, value) = keys.stored(caller, round);
        client.set(key, value, None, None).await?;
        let (key, expected) = keys.read(caller, round);
        let value = client.get(key).await?.and_then(|value| value.data);
        hits += usize::from(value.is_some_and(|value| value == expected));
    }
    Ok(hits)
}

/// `memcache-async`: its set asks for no answer. A buffer below it makes one write of the three parts.
async fn unanswered_sets(
    address: String,
    keys: Arc<Keys>,
    gets: usize,
    caller: usize,
) -> Result<usize, Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut client = Protocol::new(BufWriter::new(stream));
    let mut hits = 0;
    for round in 0..gets {
        let (key, value) = keys.stored(caller, round);
        client.set(key, value, 0).await?;
        let (key, expected) = keys.read(caller, round);
        hits += usize::from(client.get(key).await? == expected);
    }
    Ok(hits)
}
