//! The figures of services, of discovery, and of devices' locations that a service reports.

use std::fmt;

use prometheus_client::encoding::NoLabelSet;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::fleet::{DiscoveryStats, LocationStats, ServiceStats};
use crate::metrics::encoder::Encoder;

pub(crate) fn services(to: &mut Encoder<'_>, stats: &ServiceStats) -> fmt::Result {
    to.gauge("rpc_connections", "Open connections of callers", stats.connections)?;
    let refused = stats.connections_refused_total;
    to.counter(
        "rpc_connections_refused",
        "Connections of callers over the bound, which were closed",
        refused,
    )?;
    to.tallies(
        "rpc_connections_cut",
        "Connections of callers that were cut, by reason",
        &stats.connections_cut,
    )?;
    to.gauge("rpc_inflight", "Requests that services work on", stats.inflight)?;
    to.gauge("rpc_inflight_limit", "Requests that services may work on at once", stats.limit)?;
    to.gauge("rpc_queued", "Requests that wait for admission", stats.queued)?;
    to.gauge("rpc_streams", "Open streams and channels", stats.streams)?;
    let ratio = Unit::Other("ratio".to_owned());
    to.gauge_f64("rpc_load", "The load factor that callers get", ratio, stats.load)?;
    let mut family =
        to.0.encode_descriptor("rpc_requests", "Requests by their end", None, MetricType::Counter)?;
    for method in &stats.methods {
        for tally in &method.outcomes {
            let labels = [("route", method.route.as_str()), ("outcome", tally.reason)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&tally.total, None)?;
        }
    }
    let mut family = to.0.encode_descriptor(
        "rpc_latency",
        "From reading a request to its answer, since the start",
        Some(&Unit::Seconds),
        MetricType::Unknown,
    )?;
    for method in &stats.methods {
        for (quantile, took) in [("0.5", method.latency_p50), ("0.99", method.latency_p99)] {
            let labels = [("route", method.route.as_str()), ("quantile", quantile)];
            family.encode_family(&labels)?.encode_gauge(&took.as_secs_f64())?;
        }
    }
    Ok(())
}

pub(crate) fn discovery(to: &mut Encoder<'_>, stats: &DiscoveryStats) -> fmt::Result {
    let connected = u64::from(stats.connected);
    to.gauge(
        "discovery_connected",
        "1 when discovery's backend answers, or none is needed and every name of the list is found",
        connected,
    )?;
    to.gauge("discovery_registrations", "Registrations that are wanted", stats.registrations)?;
    to.gauge("discovery_registered", "Registrations that the backend holds", stats.registered)?;
    to.tallies("discovery_troubles", "What went wrong in discovery and was mended", &stats.troubles)
}

pub(crate) fn locations(to: &mut Encoder<'_>, stats: &LocationStats) -> fmt::Result {
    to.gauge("location_sources", "Instances that report where devices are", stats.sources)?;
    to.counter("location_events", "Locations that were taken from a service", stats.events_total)?;
    to.tallies("location_outcomes", "What became of locations", &stats.outcomes)?;
    to.gauge("locations_waiting", "Devices whose locations wait to be written", stats.waiting)?;
    to.gauge_f64(
        "location_lag",
        "How long the oldest location of the last batch was here before it was durable",
        Unit::Seconds,
        stats.lag.as_secs_f64(),
    )
}
