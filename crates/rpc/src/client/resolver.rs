//! Looks up the names of instances, on a thread of its own: what the system offers for it blocks.
//!
//! Names are looked up once at the start, and again when the loop asks because a connection failed or ended; never more
//! often than once in [`EVERY_MIN`]. What was found last holds while a look-up fails.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use stadium_reactor::LoopHandle;

use super::config::{ClientConfig, Resolve, Source};
use super::letter::Letter;

/// Between two look-ups.
const EVERY_MIN: Duration = Duration::from_secs(1);

/// The loop's way to the thread, which ends with it.
pub(crate) struct Resolver(SyncSender<()>);

impl Resolver {
    /// Starts the thread, where the client is one of names.
    pub(crate) fn of(config: &ClientConfig, handle: &LoopHandle<Letter>) -> std::io::Result<Option<Self>> {
        let Source::Names(names) = &config.source else { return Ok(None) };
        let (names, handle) = (names.clone(), handle.clone());
        let resolve = config.resolve.clone().unwrap_or_else(|| Arc::new(by_the_system));
        let (ask, asked) = mpsc::sync_channel(1);
        std::thread::Builder::new()
            .name("rpc-resolver".to_owned())
            .spawn(move || run(&names, &resolve, &handle, &asked))?;
        Ok(Some(Self(ask)))
    }

    /// Has the names looked up again soon.
    pub(crate) fn ask(&self) {
        // One question that waits is enough.
        let _ = self.0.try_send(());
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) addresses: Vec<SocketAddr>,
    /// The names that were not found, and why.
    pub(crate) trouble: Option<String>,
}

fn by_the_system(name: &str) -> std::io::Result<Vec<SocketAddr>> {
    name.to_socket_addrs().map(Iterator::collect)
}

fn run(names: &[String], resolve: &Resolve, handle: &LoopHandle<Letter>, asked: &Receiver<()>) {
    let mut known: Vec<Vec<SocketAddr>> = vec![Vec::new(); names.len()];
    loop {
        let looked_at = Instant::now();
        let mut found = Found::default();
        for (name, known) in names.iter().zip(&mut known) {
            match resolve(name) {
                Ok(addresses) => *known = addresses,
                Err(error) => {
                    let trouble = found.trouble.get_or_insert_default();
                    trouble.push_str(if trouble.is_empty() { "" } else { ", " });
                    trouble.push_str(&format!("{name} is not found: {error}"));
                }
            }
            found.addresses.extend_from_slice(known);
        }
        let is_whole = found.trouble.is_none();
        handle.send_beyond_bound(Letter::Resolved(found));
        // A question that comes meanwhile stays in the channel.
        std::thread::sleep(EVERY_MIN.saturating_sub(looked_at.elapsed()).min(EVERY_MIN));
        match asked.recv_timeout(if is_whole { Duration::from_secs(24 * 3_600) } else { EVERY_MIN }) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
