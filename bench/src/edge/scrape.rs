//! A collector of metrics: reads `/metrics` of a server again and again while a measurement runs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

/// The time between two reads: a Prometheus server takes 15 seconds.
const EVERY: Duration = Duration::from_millis(100);
/// Longer than any read takes.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Counters of what happens to a message: each is one event of the hot path.
const EVENTS: [&str; 2] = ["stadium_publishes_in_total ", "stadium_deliveries_total "];

/// Does this while the metrics of the server are read. Returns its result, and beside it the number of
/// reads, the longest of them, and the events a second that the counters show.
pub(super) fn while_scraped<T>(
    server: SocketAddr,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, Vec<(String, f64)>)> {
    let (over, first) = (AtomicBool::new(false), scrape(server)?);
    let began = Instant::now();
    let (done, reads) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut took = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                scrape(server)?;
                took.push(began.elapsed());
                thread::sleep(EVERY.saturating_sub(began.elapsed()));
            }
            anyhow::Ok(took)
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (done, reader.join())
    });
    let (done, took) = (done?, reads.ok().context("the reader of metrics failed")??);
    let events = (scrape(server)? - first) / began.elapsed().as_secs_f64();
    let longest = took.iter().max().copied().unwrap_or_default();
    let numbers = [
        ("scrapes", took.len() as f64),
        ("scrape_max_ms", longest.as_secs_f64() * 1e3),
        ("events_per_s", events),
    ];
    Ok((done, numbers.map(|(name, value)| (name.to_owned(), value)).to_vec()))
}

/// The sum of the events that the server has counted.
fn scrape(server: SocketAddr) -> Result<f64> {
    let mut socket = TcpStream::connect(server)?;
    socket.set_read_timeout(Some(ANSWER_MAX))?;
    write!(socket, "GET /metrics HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("the metrics were not answered: {}", answer.lines().next().unwrap_or_default());
    }
    let values = EVENTS.map(|name| {
        answer.lines().find_map(|line| line.strip_prefix(name)).and_then(|value| value.parse::<f64>().ok())
    });
    ensure!(values.iter().all(Option::is_some), "a counter is missing among the metrics");
    Ok(values.iter().flatten().sum())
}
