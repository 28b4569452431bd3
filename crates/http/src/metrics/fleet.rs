//! The figures of the fleet: devices, deliveries, memory, and the event loops.

use std::fmt;

use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::fleet::{FleetStats, LoopStats, RequestStats};
use crate::metrics::encoder::Encoder;

/// All of them.
pub(crate) fn encode(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    fleet(to, stats)?;
    loops(to, stats)?;
    device_requests(to, &stats.requests)
}

fn fleet(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    to.gauge("connections", "Devices with an open connection", stats.connected)?;
    to.gauge("sessions", "Sessions, of connected devices and of those away", stats.sessions)?;
    to.gauge("subscriptions", "Subscriptions of all sessions", stats.subscriptions)?;
    to.gauge("retained_messages", "Retained messages", stats.retained)?;
    let refused = stats.retains_refused_total;
    to.counter("retains_refused", "Messages that were not retained because a bound was reached", refused)?;
    let refused = stats.retains_over_quota_total;
    to.counter(
        "retains_over_quota",
        "Messages that were not retained because their principal reached its quota",
        refused,
    )?;
    let left_out = stats.retained_left_out_total;
    to.counter("retained_left_out", "Subscriptions that were not sent all retained messages", left_out)?;
    to.counter("accepts", "Sockets accepted", stats.accepts_total)?;
    to.counter("connects", "CONNECT packets answered with success", stats.connects_total)?;
    to.counter("publishes_in", "Messages that devices published", stats.publishes_in_total)?;
    let published = stats.application_messages_total;
    to.counter("application_messages", "Messages that applications published to topics", published)?;
    let refused = stats.application_messages_refused_total;
    to.counter(
        "application_messages_refused",
        "Messages of applications that were refused, or whose outcome is unknown",
        refused,
    )?;
    to.counter("deliveries", "Messages written to devices' sockets", stats.deliveries_total)?;
    to.counter("acknowledgements", "Deliveries that devices acknowledged", stats.acknowledgements_total)?;
    to.counter("pushes", "Pushes taken over", stats.pushes_total)?;
    to.counter("pushes_refused", "Pushes refused as busy or rejected", stats.pushes_refused_total)?;
    to.tallies("closes", "Connections closed, by reason", &stats.closes)?;
    to.tallies("drops", "Messages given up, by reason", &stats.drops)?;
    to.tallies("auth_failures", "Logins refused, by reason", &stats.auth_failures)?;
    if let Some(cache) = &stats.auth_cache {
        to.tallies("auth_cache", "Events of the cache of the callback's answers, by kind", &cache.events)?;
        let ejected = cache.ejected_servers;
        to.gauge("auth_cache_ejected_servers", "Servers of that cache that are left alone now", ejected)?;
    }
    let held = &stats.bytes_held;
    let by_holder = [
        ("connections", held.connections),
        ("sessions", held.sessions),
        ("write_queues", held.write_queues),
        ("carry_buffers", held.carry_buffers),
        ("retained", held.retained),
    ];
    let mut family = to.0.encode_descriptor(
        "memory_held",
        "Memory held, by what holds it",
        Some(&Unit::Bytes),
        MetricType::Gauge,
    )?;
    for (holder, bytes) in by_holder {
        family.encode_family(&[("by", holder)])?.encode_gauge(&bytes)?;
    }
    to.histogram(
        "delivery_latency",
        "From a message's arrival or a push's acceptance to the write to the device's socket",
        &stats.delivery_latency,
    )?;
    to.histogram("push_latency", "From a push's acceptance to its last delivery", &stats.push_latency)
}

fn loops(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    let ratio = Unit::Other("ratio".to_owned());
    let mut family = to.0.encode_descriptor(
        "loop_busy",
        "The part of the last second that a loop worked, 0 to 1",
        Some(&ratio),
        MetricType::Gauge,
    )?;
    for (index, each) in stats.loops.iter().enumerate() {
        family.encode_family(&[("loop", index.to_string())])?.encode_gauge(&each.busy_ratio)?;
    }
    let of = |value: fn(&LoopStats) -> u64| stats.loops.iter().map(value).collect::<Vec<_>>();
    to.by_loop("loop_connections", "Connections of a loop", MetricType::Gauge, None, &of(|l| l.connections))?;
    to.by_loop(
        "loop_mailbox_depth",
        "Commands waiting in a loop's mailbox",
        MetricType::Gauge,
        None,
        &of(|l| l.mailbox_depth),
    )?;
    let bytes = Some(&Unit::Bytes);
    to.by_loop("loop_read", "Bytes a loop read", MetricType::Counter, bytes, &of(|l| l.bytes_in_total))?;
    to.by_loop("loop_written", "Bytes a loop wrote", MetricType::Counter, bytes, &of(|l| l.bytes_out_total))?;
    to.by_loop(
        "loop_turns",
        "Waits for events that returned",
        MetricType::Counter,
        None,
        &of(|l| l.turns_total),
    )?;
    to.by_loop(
        "loop_events",
        "Events that those waits returned",
        MetricType::Counter,
        None,
        &of(|l| l.events_total),
    )?;
    to.by_loop(
        "loop_deliveries",
        "Messages a loop wrote to devices' sockets",
        MetricType::Counter,
        None,
        &of(|l| l.deliveries_total),
    )?;
    to.by_loop(
        "loop_publishes_in",
        "Messages that devices published to a loop",
        MetricType::Counter,
        None,
        &of(|l| l.publishes_in_total),
    )
}

fn device_requests(to: &mut Encoder<'_>, requests: &RequestStats) -> fmt::Result {
    let in_flight = requests.in_flight;
    to.gauge("device_requests_in_flight", "Requests of devices whose answer has not left", in_flight)?;
    to.counter("device_requests", "Requests of devices to services, taken", requests.taken_total)?;
    to.counter(
        "device_requests_refused",
        "Requests of devices refused: a bound was reached, or no such service",
        requests.refused_total,
    )?;
    to.counter("device_answers", "Answers of services given to devices", requests.answers_total)?;
    to.counter(
        "device_answers_dropped",
        "Answers dropped: the device was gone or had not subscribed",
        requests.answers_dropped_total,
    )
}
