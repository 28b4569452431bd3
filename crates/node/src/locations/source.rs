//! One instance of the service: its stream is read, and asked for again whenever it ends.
//!
//! The pause before that doubles up to [`PAUSE_MAX`] and is shortened by chance, so that an instance that comes back is not asked by all
//! servers at once. Its known locations come first each time, so that nothing is missed; unchanged
//! ones are not written again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use prost::Message as _;
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, Streaming};
use tokio::sync::watch;

use super::Means;
use super::event::Seen;
use super::pending::Taken;
use stadium_rpc_api::proto::WatchLocationsRequest;

/// Events that an instance may send ahead of us.
const CREDIT: u32 = 1_024;

/// Bytes of an event, and more.
const EVENT_BYTES_MAX: usize = 16 << 10;

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// A stream that is silent for so long without having failed is there: it has nothing to report.
const SILENT: Duration = Duration::from_secs(6);

/// The first pause, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Reads an instance's events, until it is stopped.
pub(super) async fn watch(means: Arc<Means>, address: SocketAddr, mut stopped: watch::Receiver<bool>) {
    let config = ClientConfig {
        name: "locations".to_owned(),
        tls: means.tls.clone(),
        hedge: None,
        deadline: CONNECT_MAX,
        frame_bytes_max: EVENT_BYTES_MAX,
        fragment_bytes: EVENT_BYTES_MAX,
        payload_bytes_max: EVENT_BYTES_MAX,
        busy_poll: Duration::ZERO,
        ..ClientConfig::at(vec![address])
    };
    let client = match Client::start(config) {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%address, %error, "An instance that knows locations cannot be watched");
            return;
        }
    };
    let mut source = Source { means: &means, address, is_here: false, is_reported: false };
    tokio::select! {
        biased;
        // Also where nobody can stop it any more.
        _ = stopped.wait_for(|stop| *stop) => {}
        () = source.read_again_and_again(&client) => {}
    }
    if source.is_here {
        means.figures.source(-1);
        tracing::info!(service = means.service, %address, "An instance that knew locations is watched no more");
    }
    // Its thread is waited for.
    let _ = tokio::task::spawn_blocking(move || drop(client)).await;
}

struct Source<'a> {
    means: &'a Means,
    address: SocketAddr,
    /// It reports locations.
    is_here: bool,
    /// Its absence was logged.
    is_reported: bool,
}

impl Source<'_> {
    async fn read_again_and_again(&mut self, client: &Client) {
        let service = client.service(&self.means.service);
        let route = format!("{}/Watch", self.means.service);
        let request = WatchLocationsRequest { with_last: true }.encode_to_vec();
        let mut pause = PAUSE_MIN;
        loop {
            let options = CallOptions::default();
            let mut events = service.stream_bytes(&route, request.clone(), CREDIT, &options);
            let ended = self.read(&mut events).await;
            drop(events);
            if self.is_here {
                pause = PAUSE_MIN;
            }
            self.gone(&ended);
            tokio::time::sleep(shortened(pause)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Reads a stream to its end, and returns the reason of the end.
    async fn read(&mut self, events: &mut Streaming<Vec<u8>>) -> String {
        loop {
            let next = match self.is_here {
                true => events.next().await,
                false => match tokio::time::timeout(SILENT, events.next()).await {
                    Ok(next) => next,
                    Err(_) => {
                        self.here();
                        continue;
                    }
                },
            };
            match next {
                Ok(Some(bytes)) => {
                    self.here();
                    self.take(&bytes).await;
                }
                Ok(None) => return "it leaves".to_owned(),
                Err(CallError::Rejected { code, reason }) => return format!("it refuses: {reason} ({code})"),
                Err(error) => return error.to_string(),
            }
        }
    }

    async fn take(&self, bytes: &[u8]) {
        let Means { pending, figures, .. } = self.means;
        figures.taken();
        let seen = match Seen::read(bytes, SystemTime::now()) {
            Ok(seen) => seen,
            Err(reason) => {
                figures.refused();
                tracing::debug!(address = %self.address, reason, "A location is ignored");
                return;
            }
        };
        match pending.take(seen, Instant::now()).await {
            Taken::New(devices) => figures.waiting(devices),
            Taken::Replaced => figures.replaced(),
        }
    }

    fn here(&mut self) {
        if !self.is_here {
            (self.is_here, self.is_reported) = (true, false);
            self.means.figures.source(1);
            tracing::info!(service = self.means.service, address = %self.address, "Locations are taken from an instance");
        }
    }

    fn gone(&mut self, why: &str) {
        if std::mem::take(&mut self.is_here) {
            self.means.figures.source(-1);
        }
        if std::mem::replace(&mut self.is_reported, true) {
            tracing::debug!(service = self.means.service, address = %self.address, error = why, "An instance that knows locations is still away");
        } else {
            tracing::warn!(service = self.means.service, address = %self.address, error = why, "An instance that knows locations is away; it is tried again");
        }
    }
}

/// Between half of it and all of it.
fn shortened(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_shortened_by_at_most_a_half() {
        let pauses: Vec<Duration> = (0..100).map(|_| shortened(PAUSE_MAX)).collect();
        assert!(pauses.iter().all(|pause| (PAUSE_MAX / 2..=PAUSE_MAX).contains(pause)));
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}
