//! One scrape: the fleet's snapshot and this port's own requests.
//!
//! Names begin with `stadium_` and end in their unit; totals end in `_total`. The fleet's figures
//! are read when they are scraped, so nothing is counted twice and a scrape costs one snapshot.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::{Registry, Unit};

use crate::fleet::Readiness;
use crate::metrics::encoder::Encoder;
use crate::metrics::sources::Sources;
use crate::metrics::{cluster, fleet, requests, services, shards, topics};

/// Everything `/metrics` shows, in the OpenMetrics text format.
pub(crate) fn text(sources: &Sources) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("stadium");
    registry.register_collector(Box::new(Scrape(sources.clone())));
    let mut text = String::with_capacity(16 * 1024);
    encode(&mut text, &registry)?;
    // The encoder knows no summaries, which alone may have the label `quantile`.
    Ok(text.replace(" stadium_rpc_latency_seconds unknown\n", " stadium_rpc_latency_seconds summary\n"))
}

struct Scrape(Sources);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Sources { app, .. } = &self.0;
        let mut to = Encoder(encoder);
        to.info("build", "The version of the server", &app.config.version)?;
        to.gauge_f64(
            "uptime",
            "Time since the HTTP port started",
            Unit::Seconds,
            app.started.elapsed().as_secs_f64(),
        )?;
        let ready = u64::from(app.fleet.readiness() == Readiness::Ready);
        to.gauge("ready", "1 when new work should be sent here, else 0", ready)?;
        let stats = app.fleet.stats();
        fleet::encode(&mut to, &stats)?;
        to.counter("feed_messages", "Messages of devices taken for feeds", stats.feed_messages_total)?;
        let dropped = stats.feed_messages_dropped_total;
        to.counter("feed_messages_dropped", "Messages of devices that no feed's queue took", dropped)?;
        topics::encode(&mut to, &stats.streams, &self.0.stream_ends)?;
        if let Some(stats) = &stats.services {
            services::services(&mut to, stats)?;
        }
        if let Some(stats) = &stats.discovery {
            services::discovery(&mut to, stats)?;
        }
        if let Some(stats) = &stats.locations {
            services::locations(&mut to, stats)?;
        }
        if let Some(stats) = &stats.cluster {
            cluster::encode(&mut to, stats)?;
        }
        shards::encode(&mut to, &self.0)?;
        to.gauge("http_connections", "Open HTTP connections", self.0.connections.open())?;
        to.gauge("http_connections_max", "HTTP connections at most", app.config.connections_max as u64)?;
        let help = "HTTP connections over the bound, which were closed";
        to.counter("http_connections_turned_away", help, self.0.connections.turned_away_total())?;
        to.gauge("http_live_views", "Open live views", app.views.open() as u64)?;
        requests::encode(&mut to, &self.0.requests)
    }
}
