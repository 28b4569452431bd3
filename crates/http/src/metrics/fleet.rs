//! The figures of the fleet: devices, deliveries, memory, and the event loops.

use std::fmt;

use stadium_metrics::table::{fleet as table, loops as of_loop};

use crate::fleet::{FleetStats, LoopStats, RequestStats};
use crate::metrics::encoder::{Encoder, Value};

/// All of them.
pub(crate) fn encode(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    fleet(to, stats)?;
    loops(to, stats)?;
    device_requests(to, &stats.requests)?;
    to.value(table::FEED_MESSAGES, stats.feed_messages_total)?;
    to.value(table::FEED_MESSAGES_DROPPED, stats.feed_messages_dropped_total)
}

fn fleet(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    to.value(table::CONNECTIONS, stats.connected)?;
    to.value(table::SESSIONS, stats.sessions)?;
    to.value(table::SUBSCRIPTIONS, stats.subscriptions)?;
    to.value(table::RETAINED_MESSAGES, stats.retained)?;
    to.value(table::RETAINS_REFUSED, stats.retains_refused_total)?;
    to.value(table::RETAINS_OVER_QUOTA, stats.retains_over_quota_total)?;
    to.value(table::RETAINED_LEFT_OUT, stats.retained_left_out_total)?;
    to.value(table::ACCEPTS, stats.accepts_total)?;
    to.value(table::CONNECTS, stats.connects_total)?;
    to.value(table::PUBLISHES_IN, stats.publishes_in_total)?;
    to.value(table::DELIVERIES, stats.deliveries_total)?;
    to.value(table::ACKNOWLEDGEMENTS, stats.acknowledgements_total)?;
    to.value(table::PUSHES, stats.pushes_total)?;
    to.value(table::PUSHES_REFUSED, stats.pushes_refused_total)?;
    to.tallies(table::CLOSES, &stats.closes)?;
    to.tallies(table::DROPS, &stats.drops)?;
    to.tallies(table::AUTH_FAILURES, &stats.auth_failures)?;
    if let Some(cache) = &stats.auth_cache {
        to.tallies(table::AUTH_CACHE, &cache.events)?;
        to.value(table::AUTH_CACHE_EJECTED_SERVERS, cache.ejected_servers)?;
    }
    let held = &stats.bytes_held;
    let by_holder = [
        ("connections", held.connections),
        ("sessions", held.sessions),
        ("write_queues", held.write_queues),
        ("carry_buffers", held.carry_buffers),
        ("retained", held.retained),
    ];
    let mut family = to.family(table::MEMORY_HELD)?;
    for (holder, bytes) in by_holder {
        family.series(&[("by", holder)], bytes)?;
    }
    to.histogram(table::DELIVERY_LATENCY, &stats.delivery_latency)?;
    to.histogram(table::PUSH_LATENCY, &stats.push_latency)
}

fn loops(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    let of = |of: fn(&LoopStats) -> Value| stats.loops.iter().map(of);
    to.by_loop(of_loop::LOOP_BUSY, of(|l| l.busy_ratio.into()))?;
    to.by_loop(of_loop::LOOP_CONNECTIONS, of(|l| l.connections.into()))?;
    to.by_loop(of_loop::LOOP_MAILBOX_DEPTH, of(|l| l.mailbox_depth.into()))?;
    to.by_loop(of_loop::LOOP_READ, of(|l| l.bytes_in_total.into()))?;
    to.by_loop(of_loop::LOOP_WRITTEN, of(|l| l.bytes_out_total.into()))?;
    to.by_loop(of_loop::LOOP_TURNS, of(|l| l.turns_total.into()))?;
    to.by_loop(of_loop::LOOP_EVENTS, of(|l| l.events_total.into()))?;
    to.by_loop(of_loop::LOOP_DELIVERIES, of(|l| l.deliveries_total.into()))?;
    to.by_loop(of_loop::LOOP_PUBLISHES_IN, of(|l| l.publishes_in_total.into()))
}

fn device_requests(to: &mut Encoder<'_>, requests: &RequestStats) -> fmt::Result {
    to.value(table::DEVICE_REQUESTS_IN_FLIGHT, requests.in_flight)?;
    to.value(table::DEVICE_REQUESTS, requests.taken_total)?;
    to.value(table::DEVICE_REQUESTS_REFUSED, requests.refused_total)?;
    to.value(table::DEVICE_ANSWERS, requests.answers_total)?;
    to.value(table::DEVICE_ANSWERS_DROPPED, requests.answers_dropped_total)
}
