//! What every service answers beside its own methods: health, statistics, quiesce, log level.
//!
//! Each instance is asked by itself, so that one that does not answer hides no other.

use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use serde_json::{Value, json};
use stadium_discovery::HostPort;
use stadium_rpc::proto::log_level_request::Level;
use stadium_rpc::proto::{
    Health, HealthRequest, LogLevel, LogLevelRequest, QuiesceRequest, Quiesced, Statistics,
    StatisticsRequest, health::Status,
};

use super::caller::{call_trait, instances};
use super::place::{self, PlaceFlags, TlsFlags};
use crate::failure::Failure;
use crate::terminal::{Style, Terminal, count, short};

/// Whether instances take requests.
pub(super) fn health(
    name: &str,
    flags: &PlaceFlags,
    deadline: Duration,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let route = format!("{name}/health");
    let mut serving = 0;
    let mut rows = Vec::new();
    for instance in instances(name, flags, deadline)? {
        let answer =
            call_trait::<Health>(&flags.tls.at(&instance, name)?, &route, &HealthRequest {}, &[], deadline);
        let (word, detail, style) = match &answer {
            Ok(health) if health.status() == Status::Serving => {
                ("serving", health.detail.clone(), Style::Good)
            }
            Ok(health) if health.status() == Status::Quiescing => {
                ("quiescing", health.detail.clone(), Style::Warning)
            }
            Ok(health) => ("failing", health.detail.clone(), Style::Bad),
            Err(failure) => ("unreachable", failure.to_string(), Style::Bad),
        };
        serving += usize::from(word == "serving");
        if terminal.is_json() {
            rows.push(json!({"instance": instance.to_string(), "status": word, "detail": detail}));
        } else {
            let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
            terminal.data(&format!("{:<22} {}{detail}", instance.to_string(), terminal.out(style, word)))?;
        }
    }
    if terminal.is_json() {
        terminal.json(&json!({ "instances": rows }))?;
    }
    if serving == 0 {
        return Err(Failure::Unavailable(format!("no instance of {name} takes requests")));
    }
    Ok(())
}

/// What instances have done.
pub(super) fn statistics(
    name: &str,
    flags: &PlaceFlags,
    deadline: Duration,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let route = format!("{name}/statistics");
    let mut rows = Vec::new();
    for instance in instances(name, flags, deadline)? {
        let statistics: Statistics =
            call_trait(&flags.tls.at(&instance, name)?, &route, &StatisticsRequest {}, &[], deadline)?;
        if terminal.is_json() {
            rows.push(statistics_json(&instance, &statistics));
            continue;
        }
        terminal.data(&format!(
            "{} load {:.2}, {} of {} under way, {} queued, {} streams, {} connections",
            terminal.out(Style::Strong, &instance),
            statistics.load,
            count(statistics.inflight.into()),
            count(statistics.limit.into()),
            count(statistics.queued.into()),
            count(statistics.streams.into()),
            count(statistics.connections.into()),
        ))?;
        for method in &statistics.methods {
            terminal.data(&format!(
                "  {:<24} {} ok, {} busy, {} rejected, {} failed, {} expired, {} cancelled; half within {}, 99% within {}",
                method.route,
                count(method.ok),
                count(method.busy),
                count(method.rejected),
                count(method.failed),
                count(method.expired),
                count(method.cancelled),
                short(method.latency_p50_us as f64 / 1e6),
                short(method.latency_p99_us as f64 / 1e6),
            ))?;
        }
    }
    if terminal.is_json() { terminal.json(&json!({ "instances": rows })) } else { Ok(()) }
}

fn statistics_json(instance: &HostPort, statistics: &Statistics) -> Value {
    let methods: Vec<_> = statistics
        .methods
        .iter()
        .map(|method| {
            json!({
                "route": method.route,
                "ok": method.ok,
                "busy": method.busy,
                "rejected": method.rejected,
                "failed": method.failed,
                "expired": method.expired,
                "cancelled": method.cancelled,
                "latency_p50_us": method.latency_p50_us,
                "latency_p99_us": method.latency_p99_us,
            })
        })
        .collect();
    json!({
        "instance": instance.to_string(),
        "methods": methods,
        "inflight": statistics.inflight,
        "limit": statistics.limit,
        "queued": statistics.queued,
        "load": statistics.load,
        "connections": statistics.connections,
        "streams": statistics.streams,
        "uptime_ms": statistics.uptime_ms,
        "refused_connections": statistics.refused_connections,
        "cut_unfinished": statistics.cut_unfinished,
        "cut_slow_readers": statistics.cut_slow_readers,
    })
}

/// Has an instance leave.
pub(super) fn quiesce(
    name: &str,
    instance: &str,
    within: Option<Duration>,
    tls: &TlsFlags,
    metadata: &[u8],
    deadline: Duration,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let instance = &the_one(instance)?;
    let within_ms = within.map_or(0, |within| u64::try_from(within.as_millis()).unwrap_or(u64::MAX));
    let route = format!("{name}/quiesce");
    let quiesced: Quiesced =
        call_trait(&tls.at(instance, name)?, &route, &QuiesceRequest { within_ms }, metadata, deadline)?;
    if terminal.is_json() {
        return terminal.json(&json!({"instance": instance.to_string(), "inflight": quiesced.inflight}));
    }
    terminal.data(&format!(
        "{} quiesces: {} requests are under way",
        terminal.out(Style::Name, instance),
        count(quiesced.inflight.into())
    ))
}

/// The instance that is to leave. Of a name with several addresses it is not clear which.
fn the_one(text: &str) -> Result<HostPort, Failure> {
    let instance = place::read("HOST:PORT", text)?;
    if instance.address().is_some() {
        return Ok(instance);
    }
    let found = text.to_socket_addrs();
    let found = found.map_err(|error| Failure::Unavailable(format!("{text} is not found: {error}")))?;
    let found: BTreeSet<SocketAddr> = found.collect();
    let several: Vec<String> = found.iter().map(ToString::to_string).collect();
    match several.len() {
        0 => Err(Failure::Unavailable(format!("{text} is not found: it has no address"))),
        // By its name still: that is what its certificate carries.
        1 => Ok(instance),
        _ => {
            let several = several.join(", ");
            Err(Failure::Usage(format!("{text} has several addresses: name which of {several} is to leave")))
        }
    }
}

/// Shows or sets the log level.
pub(super) fn log_level(
    name: &str,
    level: Option<&str>,
    flags: &PlaceFlags,
    metadata: &[u8],
    deadline: Duration,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let route = format!("{name}/log-level");
    let mut request = LogLevelRequest::default();
    if let Some(level) = level {
        let wanted = Level::from_str_name(&level.to_ascii_uppercase());
        request.set_level(wanted.ok_or_else(|| Failure::Usage(format!("{level:?} is no level")))?);
    }
    let mut rows = Vec::new();
    for instance in instances(name, flags, deadline)? {
        let answer: LogLevel =
            call_trait(&flags.tls.at(&instance, name)?, &route, &request, metadata, deadline)?;
        let level = answer.level().as_str_name().to_ascii_lowercase();
        if terminal.is_json() {
            rows.push(json!({"instance": instance.to_string(), "level": level}));
        } else {
            terminal.data(&format!("{:<22} {level}", instance.to_string()))?;
        }
    }
    if terminal.is_json() { terminal.json(&json!({ "instances": rows })) } else { Ok(()) }
}
