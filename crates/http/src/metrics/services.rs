//! The figures of services, of discovery, and of devices' locations that a service reports.

use std::fmt;

use stadium_metrics::table::services as table;

use crate::fleet::{DiscoveryStats, LocationStats, ServiceStats};
use crate::metrics::encoder::Encoder;

pub(crate) fn services(to: &mut Encoder<'_>, stats: &ServiceStats) -> fmt::Result {
    to.value(table::RPC_CONNECTIONS, stats.connections)?;
    to.value(table::RPC_CONNECTIONS_REFUSED, stats.connections_refused_total)?;
    to.tallies(table::RPC_CONNECTIONS_CUT, &stats.connections_cut)?;
    to.value(table::RPC_INFLIGHT, stats.inflight)?;
    to.value(table::RPC_INFLIGHT_LIMIT, stats.limit)?;
    to.value(table::RPC_QUEUED, stats.queued)?;
    to.value(table::RPC_STREAMS, stats.streams)?;
    to.value(table::RPC_LOAD, stats.load)?;
    let mut family = to.family(table::RPC_REQUESTS)?;
    for method in &stats.methods {
        for tally in &method.outcomes {
            family.series(&[("route", method.route.as_str()), ("outcome", tally.reason)], tally.total)?;
        }
    }
    let mut family = to.family(table::RPC_LATENCY)?;
    for method in &stats.methods {
        for (quantile, took) in [("0.5", method.latency_p50), ("0.99", method.latency_p99)] {
            family.series(&[("route", method.route.as_str()), ("quantile", quantile)], took)?;
        }
    }
    Ok(())
}

pub(crate) fn discovery(to: &mut Encoder<'_>, stats: &DiscoveryStats) -> fmt::Result {
    to.value(table::DISCOVERY_CONNECTED, stats.connected)?;
    to.value(table::DISCOVERY_REGISTRATIONS, stats.registrations)?;
    to.value(table::DISCOVERY_REGISTERED, stats.registered)?;
    to.tallies(table::DISCOVERY_TROUBLES, &stats.troubles)
}

pub(crate) fn locations(to: &mut Encoder<'_>, stats: &LocationStats) -> fmt::Result {
    to.value(table::LOCATION_SOURCES, stats.sources)?;
    to.value(table::LOCATION_EVENTS, stats.events_total)?;
    to.tallies(table::LOCATION_OUTCOMES, &stats.outcomes)?;
    to.value(table::LOCATIONS_WAITING, stats.waiting)?;
    to.value(table::LOCATION_LAG, stats.lag)
}
