//! Prometheus metrics: the fleet's snapshot and this port's own requests.
//!
//! Names begin with `stadium_` and end in their unit; totals end in `_total`. The fleet's figures are read at the
//! moment of the scrape, so nothing is counted twice and a scrape costs one snapshot.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::fleet::{
    DiscoveryStats, FleetStats, Histogram, LATENCY_BOUNDS_S, LocationStats, Readiness, RequestStats,
    ServiceStats, Tally,
};
use crate::request::app::App;

mod plain;
mod push;
mod shards;

pub(crate) use plain::{plain, wants_open_metrics};

/// Requests answered since the start, by route and status. Its size is bounded by the routes and the statuses
/// they answer; paths of strangers count under one route.
#[derive(Default)]
pub(crate) struct Requests {
    by_answer: Mutex<BTreeMap<(Arc<str>, u16), Answered>>,
    /// `POST /api/push` and its like, by path: made once for each.
    labels: Mutex<HashMap<String, Labels>>,
}

/// What the methods of a path are called.
type Labels = Vec<(Method, Arc<str>)>;

#[derive(Clone, Default)]
struct Answered {
    count: u64,
    took: Histogram,
}

impl Requests {
    /// What metrics and log call a route: its method and its path, `other` for paths and methods of strangers.
    pub(crate) fn label(&self, method: &Method, path: Option<&str>) -> Arc<str> {
        const KNOWN: [Method; 6] =
            [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
        let Some(path) = path.filter(|_| KNOWN.contains(method)) else { return "other".into() };
        let mut labels = self.labels.lock();
        if !labels.contains_key(path) {
            labels.insert(path.to_owned(), Vec::new());
        }
        let of_path = labels.get_mut(path).expect("it is there now");
        if let Some((_, label)) = of_path.iter().find(|(known, _)| known == method) {
            return Arc::clone(label);
        }
        let label: Arc<str> = format!("{method} {path}").into();
        of_path.push((method.clone(), Arc::clone(&label)));
        label
    }

    pub(crate) fn answered(&self, route: Arc<str>, status: u16, took: Duration) {
        let mut by_answer = self.by_answer.lock();
        let answered = by_answer.entry((route, status)).or_default();
        answered.count += 1;
        answered.took.record(took);
    }
}

/// Everything `/metrics` shows, in the OpenMetrics text format.
pub(crate) fn text(app: &Arc<App>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("stadium");
    registry.register_collector(Box::new(Scrape(Arc::clone(app))));
    let mut text = String::with_capacity(16 * 1024);
    encode(&mut text, &registry)?;
    // The encoder knows no summaries, which alone may have the label `quantile`.
    Ok(text.replace(" stadium_rpc_latency_seconds unknown\n", " stadium_rpc_latency_seconds summary\n"))
}

struct Scrape(Arc<App>);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let app = &self.0;
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
        fleet(&mut to, &stats)?;
        loops(&mut to, &stats)?;
        device_requests(&mut to, &stats.requests)?;
        to.counter("feed_messages", "Messages of devices taken for feeds", stats.feed_messages_total)?;
        let dropped = stats.feed_messages_dropped_total;
        to.counter("feed_messages_dropped", "Messages of devices that no feed's queue took", dropped)?;
        if let Some(stats) = &stats.services {
            services(&mut to, stats)?;
        }
        if let Some(stats) = &stats.discovery {
            discovery(&mut to, stats)?;
        }
        if let Some(stats) = &stats.locations {
            locations(&mut to, stats)?;
        }
        shards::encode(&mut to, app)?;
        to.gauge("http_connections", "Open HTTP connections", app.connections.open())?;
        to.gauge("http_connections_max", "HTTP connections at most", app.config.connections_max as u64)?;
        let help = "HTTP connections over the bound, which were closed";
        to.counter("http_connections_turned_away", help, app.connections.turned_away_total())?;
        to.gauge("http_live_views", "Open live views", app.views.open() as u64)?;
        requests(&mut to, &app.requests)
    }
}

fn fleet(to: &mut Encoder<'_>, stats: &FleetStats) -> fmt::Result {
    to.gauge("connections", "Devices with an open connection", stats.connected)?;
    to.gauge("sessions", "Sessions, of connected devices and of those away", stats.sessions)?;
    to.gauge("subscriptions", "Subscriptions of all sessions", stats.subscriptions)?;
    to.gauge("retained_messages", "Retained messages", stats.retained)?;
    let refused = stats.retains_refused_total;
    to.counter("retains_refused", "Messages that were not retained because a bound was reached", refused)?;
    let left_out = stats.retained_left_out_total;
    to.counter("retained_left_out", "Subscriptions that were not sent all retained messages", left_out)?;
    to.counter("accepts", "Sockets accepted", stats.accepts_total)?;
    to.counter("connects", "CONNECT packets answered with success", stats.connects_total)?;
    to.counter("publishes_in", "Messages that devices published", stats.publishes_in_total)?;
    to.counter("deliveries", "Messages written to devices' sockets", stats.deliveries_total)?;
    to.counter("acknowledgements", "Deliveries that devices acknowledged", stats.acknowledgements_total)?;
    to.counter("pushes", "Pushes taken over", stats.pushes_total)?;
    to.counter("pushes_refused", "Pushes refused as busy or rejected", stats.pushes_refused_total)?;
    to.tallies("closes", "Connections closed, by reason", &stats.closes)?;
    to.tallies("drops", "Messages given up, by reason", &stats.drops)?;
    to.tallies("auth_failures", "Logins refused, by reason", &stats.auth_failures)?;
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
    let of = |value: fn(&crate::fleet::LoopStats) -> u64| stats.loops.iter().map(value).collect::<Vec<_>>();
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

fn services(to: &mut Encoder<'_>, stats: &ServiceStats) -> fmt::Result {
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
    to.gauge_f64("rpc_load", "The load factor that callers are told", ratio, stats.load)?;
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

fn discovery(to: &mut Encoder<'_>, stats: &DiscoveryStats) -> fmt::Result {
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

fn locations(to: &mut Encoder<'_>, stats: &LocationStats) -> fmt::Result {
    to.gauge("location_sources", "Instances that tell where devices are", stats.sources)?;
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

fn requests(to: &mut Encoder<'_>, requests: &Requests) -> fmt::Result {
    let by_answer = requests.by_answer.lock().clone();
    let mut family =
        to.0.encode_descriptor("http_requests", "HTTP requests answered", None, MetricType::Counter)?;
    for ((route, status), answered) in &by_answer {
        let labels = [("route", route.to_string()), ("status", status.to_string())];
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&answered.count, None)?;
    }
    let mut by_route: BTreeMap<&str, Histogram> = BTreeMap::new();
    for ((route, _), answered) in &by_answer {
        by_route.entry(route).or_default().add(&answered.took);
    }
    let mut family = to.0.encode_descriptor(
        "http_request_duration",
        "From a request's head to its answer's",
        Some(&Unit::Seconds),
        MetricType::Histogram,
    )?;
    for (route, took) in by_route {
        let labels = [("route", route)];
        let mut one = family.encode_family(&labels)?;
        one.encode_histogram::<NoLabelSet>(took.sum_s, took.count(), &buckets(&took), None)?;
    }
    Ok(())
}

/// Bound and count of each bucket, the last without a bound.
fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let bounds = LATENCY_BOUNDS_S.into_iter().chain([f64::INFINITY]);
    bounds.zip(histogram.buckets).collect()
}

/// The few shapes that our metrics have.
struct Encoder<'a>(DescriptorEncoder<'a>);

impl Encoder<'_> {
    fn info(&mut self, name: &str, help: &str, version: &str) -> fmt::Result {
        let mut info = self.0.encode_descriptor(name, help, None, MetricType::Info)?;
        info.encode_info(&[("version", version)])
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn gauge_f64(&mut self, name: &str, help: &str, unit: Unit, value: f64) -> fmt::Result {
        self.0.encode_descriptor(name, help, Some(&unit), MetricType::Gauge)?.encode_gauge(&value)
    }

    fn counter(&mut self, name: &str, help: &str, total: u64) -> fmt::Result {
        let mut counter = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        counter.encode_counter::<NoLabelSet, _, u64>(&total, None)
    }

    fn tallies(&mut self, name: &str, help: &str, tallies: &[Tally]) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for tally in tallies {
            let labels = [("reason", tally.reason)];
            family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&tally.total, None)?;
        }
        Ok(())
    }

    fn by_loop(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        unit: Option<&Unit>,
        values: &[u64],
    ) -> fmt::Result {
        let mut family = self.0.encode_descriptor(name, help, unit, kind)?;
        for (index, value) in values.iter().enumerate() {
            let labels = [("loop", index.to_string())];
            let mut one = family.encode_family(&labels)?;
            match kind {
                MetricType::Counter => one.encode_counter::<NoLabelSet, _, u64>(value, None)?,
                _ => one.encode_gauge(value)?,
            }
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> fmt::Result {
        let mut one = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        one.encode_histogram::<NoLabelSet>(histogram.sum_s, histogram.count(), &buckets(histogram), None)
    }
}
