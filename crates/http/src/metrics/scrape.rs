//! One scrape: the fleet's snapshot and this port's own requests.
//!
//! Names begin with `stadium_` and end in their unit; totals end in `_total`. The fleet's figures
//! are read when they are scraped, so nothing is counted twice and a scrape costs one snapshot.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;
use stadium_metrics::table::{http, server, services as of_services};

use crate::fleet::Readiness;
use crate::metrics::encoder::Encoder;
use crate::metrics::process::Process;
use crate::metrics::sources::Sources;
use crate::metrics::{acme, backup, cluster, fleet, process, requests, services, shards, telemetry, topics};

/// Everything `/metrics` shows, in the OpenMetrics text format.
pub(crate) fn text(sources: &Sources) -> Result<String, fmt::Error> {
    let mut text = String::with_capacity(16 * 1024);
    let mut registry = Registry::with_prefix("stadium");
    registry.register_collector(Box::new(Scrape(sources.clone())));
    encode_registry(&mut text, &registry)?;
    // These have the names that Prometheus' own clients give them, without a prefix.
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process));
    encode_registry(&mut text, &registry)?;
    encode_eof(&mut text)?;
    // The encoder knows no summaries, which alone may have the label `quantile`.
    let summary = of_services::RPC_LATENCY.family();
    Ok(text.replace(&format!(" {summary} unknown\n"), &format!(" {summary} summary\n")))
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
        let mut to = Encoder::new(encoder);
        to.info(server::BUILD, &[("version", app.config.version.as_str())])?;
        to.value(server::UPTIME, app.started.elapsed())?;
        to.value(server::READY, app.fleet.readiness() == Readiness::Ready)?;
        process::disk(&mut to, &app.config.data_dir)?;
        let stats = app.fleet.stats();
        fleet::encode(&mut to, &stats)?;
        topics::encode(&mut to, &stats, &self.0.stream_ends)?;
        if let Some(stats) = &stats.services {
            services::services(&mut to, stats)?;
        }
        if let Some(stats) = &stats.discovery {
            services::discovery(&mut to, stats)?;
        }
        if let Some(stats) = &stats.locations {
            services::locations(&mut to, stats)?;
        }
        if let Some(stats) = &stats.acme {
            acme::encode(&mut to, stats)?;
        }
        if let Some(stats) = &stats.backup {
            backup::encode(&mut to, stats)?;
        }
        if let Some(stats) = &stats.cluster {
            cluster::encode(&mut to, stats)?;
        }
        if let Some(counts) = app.config.tracer.counts() {
            telemetry::encode(&mut to, counts)?;
        }
        shards::encode(&mut to, &self.0)?;
        to.value(http::HTTP_CONNECTIONS, self.0.connections.open())?;
        to.value(http::HTTP_CONNECTIONS_MAX, app.config.connections_max as u64)?;
        to.value(http::HTTP_CONNECTIONS_TURNED_AWAY, self.0.connections.turned_away_total())?;
        to.value(http::HTTP_LIVE_VIEWS, app.views.open() as u64)?;
        requests::encode(&mut to, &self.0.requests)
    }
}
