//! Clients of crates.io beside the product's: `memcache`, `async-memcached`, `memcache-async`.
//!
//! None of them lets callers share a connection, so each caller has one of its own. Those of tokio
//! have a task for each caller on a current-thread runtime, because the client has one core.
//! Usage: `memcache-peers CRATE --connect ADDRESS`, cells on stdin.

mod load;

use std::sync::Arc;

use async_memcached::AsciiProtocol as _;
use load::{Cell, Failure, Keys};
use memcache::ConnectionManager;
use memcache_async::ascii::Protocol;
use tokio::io::BufWriter;
use tokio::net::TcpStream;

fn main() -> Result<(), Failure> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let address = load::address()?;
    let keys = Arc::new(Keys::new());
    match name.as_str() {
        "memcache" => load::serve(|cell| on_pool(&address, &keys, cell)),
        "async-memcached" => load::serve(|cell| {
            let gets = cell.gets_each();
            on_tasks(cell, |caller| waited_sets(address.clone(), keys.clone(), gets, caller))
        }),
        "memcache-async" => load::serve(|cell| {
            let gets = cell.gets_each();
            on_tasks(cell, |caller| unanswered_sets(address.clone(), keys.clone(), gets, caller))
        }),
        _ => Err(format!("`{name}` is none of memcache, async-memcached, memcache-async").into()),
    }
}

/// `memcache`: its set waits, so that a round is two round trips. Its pool has a connection for each
/// caller, and does not ask the server whether a connection is alive before each operation.
fn on_pool(address: &str, keys: &Keys, cell: &Cell) -> Result<usize, Failure> {
    let url = format!("memcache://{address}?protocol=ascii&tcp_nodelay=true");
    let pool = r2d2::Pool::builder().max_size(u32::try_from(cell.callers)?).test_on_check_out(false);
    let client = memcache::Client::with_pool(pool.build(ConnectionManager::new(url.parse()?))?)?;
    load::on_threads(cell, |caller| {
        let mut hits = 0;
        for round in 0..cell.gets_each() {
            let (key, value) = keys.stored(caller, round);
            client.set(key, value, 0)?;
            let (key, expected) = keys.read(caller, round);
            hits += usize::from(client.get::<Vec<u8>>(key)?.is_some_and(|value| value == expected));
        }
        Ok(hits)
    })
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
