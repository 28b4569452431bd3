//! Measures the client: half asynchronous sets, half waited gets of 100 bytes on one connection.
//!
//! `taskset -c 1 memcache_load ADDRESS [CALLERS] [OPERATIONS]`; `0` callers means one thread with 1,000
//! gets in flight. Prints milliseconds; `strace -c -f` around it counts the system calls.
//! `SPIN_US` is `Config::spin` in microseconds.

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use stadium_memcache::{Client, Config, Expiry};

const VALUE: [u8; 100] = [b'v'; 100];
const KEYS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let address = arguments.next().ok_or("usage: memcache_load ADDRESS [CALLERS] [OPERATIONS]")?;
    let callers: u32 = arguments.next().unwrap_or_else(|| "8".into()).parse()?;
    let operations: u32 = arguments.next().unwrap_or_else(|| "800000".into()).parse()?;
    let spin = env::var("SPIN_US").ok().map_or(Ok(100), |text| text.parse())?;
    let config = Config { spin: Duration::from_micros(spin), ..Config::for_servers([&address])? };
    let client = Client::with(Config { timeout: Duration::from_secs(10), ..config })?;
    for key in 0..KEYS {
        client.set(name(key), VALUE, Expiry::Never)?.ignore();
    }
    client.get("warm")?;
    let begun = Instant::now();
    if callers == 0 {
        pipelined(&client, operations)?;
    } else {
        thread::scope(|scope| {
            let run = |caller| {
                let client = &client;
                scope.spawn(move || blocking(client, caller, operations / callers))
            };
            let threads: Vec<_> = (0..callers).map(run).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("callers do not panic"))
        })?;
    }
    let elapsed = begun.elapsed();
    println!("{callers} callers, {operations} operations: {} ms", elapsed.as_millis());
    Ok(())
}

fn name(key: u32) -> String {
    format!("key:{key:08}")
}

fn blocking(client: &Client, caller: u32, operations: u32) -> Result<(), stadium_memcache::Error> {
    let mut buffer = Vec::new();
    for round in 0..operations / 2 {
        let key = (caller * 7_919 + round * 31) % KEYS;
        client.set(name(key), VALUE, Expiry::Never)?.ignore();
        client.get_into(name((key + KEYS / 2) % KEYS), &mut buffer)?;
    }
    Ok(())
}

fn pipelined(client: &Client, operations: u32) -> Result<(), stadium_memcache::Error> {
    let mut pending = VecDeque::new();
    for round in 0..operations / 2 {
        let key = (round * 31) % KEYS;
        client.set(name(key), VALUE, Expiry::Never)?.ignore();
        pending.push_back(client.fetch(name((key + KEYS / 2) % KEYS))?);
        if pending.len() >= 1_000
            && let Some(oldest) = pending.pop_front()
        {
            oldest.wait()?;
        }
    }
    pending.into_iter().try_for_each(|one| one.wait().map(drop))
}
