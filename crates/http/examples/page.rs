//! The live page over a fleet that is made up: `cargo run -p stadium-http --example page [ADDRESS]`.
//!
//! Nothing here is measured. It moves every figure of the page, so that the page can be looked at and tested in a
//! browser without devices.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stadium_http::fleet::memory::MemoryFleet;
use stadium_http::fleet::{Fleet, LoopStats, Tally};
use stadium_http::{Config, Server, new_push_id};
use stadium_push::live::{
    Away, ChannelName, LatencySummary, LiveAudience, LivePush, LiveReport, Message, Progress, Qos, TopicPush,
};
use stadium_push::{AppName, PushId};

const DEVICES: u64 = 48_200;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listen: SocketAddr = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".to_owned()).parse()?;
    let data = tempfile::tempdir()?;
    let fleet = Arc::new(MemoryFleet::new());
    let config = Config { open_read: true, ..Config::new(listen, data.path()) };
    let server = Server::bind(config, Arc::clone(&fleet) as Arc<dyn Fleet>, None).await?;
    eprintln!("http://{}/live shows a made-up fleet; Ctrl-C ends it", server.address());
    let show = tokio::spawn(animate(fleet));
    server.run(async { drop(tokio::signal::ctrl_c().await) }).await;
    show.abort();
    Ok(())
}

/// Moves everything, twenty times a second.
async fn animate(fleet: Arc<MemoryFleet>) {
    const STEP: Duration = Duration::from_millis(50);
    fleet.change_stats(|stats| {
        stats.loops = vec![LoopStats::default(); 4];
        stats.retained = 312;
        stats.closes = ["keepalive", "by_device", "takeover", "slow_reader", "protocol_error", "idle"]
            .map(|reason| Tally { reason, total: 0 })
            .to_vec();
        stats.drops = ["queue_full", "expired"].map(|reason| Tally { reason, total: 0 }).to_vec();
        stats.auth_failures = vec![Tally { reason: "bad_password", total: 0 }];
    });
    let mut push: Option<(PushId, Instant)> = None;
    let mut next_push = Instant::now() + Duration::from_secs(1);
    let started = Instant::now();
    let mut ticks = tokio::time::interval(STEP);
    let mut step: u64 = 0;
    loop {
        ticks.tick().await;
        step += 1;
        let seconds = started.elapsed().as_secs_f64();
        if Instant::now() >= next_push {
            push = begin(&fleet).map(|id| (id, Instant::now()));
            next_push = Instant::now() + Duration::from_secs(9);
        }
        let burst = match push {
            Some((id, since)) => advance(&fleet, id, since.elapsed()),
            None => 0,
        };
        fleet.change_stats(|stats| {
            let full = 1.0 - (-seconds / 6.0).exp();
            let sway = 1.0 + 0.012 * (seconds / 7.0).sin();
            let connected = (DEVICES as f64 * full * sway) as u64;
            stats.connects_total += connected.saturating_sub(stats.connected) + 2 + step % 5;
            stats.connected = connected;
            stats.sessions = connected + 1_870;
            stats.subscriptions = stats.sessions * 2;
            let steady =
                (1_500.0 + 600.0 * (seconds / 5.0).sin() + 250.0 * (seconds * 1.7).sin()) as u64 / 20;
            let deliveries = steady + burst;
            stats.deliveries_total += deliveries;
            stats.acknowledgements_total += deliveries;
            stats.publishes_in_total += 20 + step % 7;
            for part in 1..=100 {
                let micros = 700.0 * (1.0 + 0.4 * (seconds / 9.0).sin())
                    + 30_000.0 * (f64::from(part) / 100.0).powi(14);
                stats
                    .delivery_latency
                    .record_many(Duration::from_micros(micros as u64), deliveries.div_ceil(100));
            }
            for (index, each) in stats.loops.iter_mut().enumerate() {
                let wobble = 0.08 * (seconds / 2.0 + index as f64).sin();
                each.busy_ratio = (0.22 + 0.17 * index as f64 + wobble + if burst > 0 { 0.25 } else { 0.0 })
                    .clamp(0.02, 0.99);
                each.connections = connected / 4 + index as u64 * 11;
                each.deliveries_total += deliveries / 4;
                each.bytes_out_total += deliveries * 40;
                each.bytes_in_total += 900;
                each.mailbox_depth = if burst > 0 { 3 + index as u64 } else { 0 };
            }
            for (index, tally) in stats.closes.iter_mut().enumerate() {
                tally.total += u64::from(step.is_multiple_of(7 + 9 * index as u64 * index as u64));
            }
            stats.drops[0].total += u64::from(step.is_multiple_of(61));
            stats.drops[1].total += u64::from(step.is_multiple_of(23));
            stats.auth_failures[0].total += u64::from(step.is_multiple_of(97));
            stats.bytes_held.connections = connected * 310;
            stats.bytes_held.sessions = stats.sessions * 220;
            stats.bytes_held.write_queues = burst * 60;
            stats.bytes_held.retained = 74_000;
        });
    }
}

/// Pushes to everybody.
fn begin(fleet: &MemoryFleet) -> Option<PushId> {
    let id = new_push_id()?;
    let push = LivePush {
        app: AppName::default(),
        id,
        to: LiveAudience::Channel(ChannelName::everybody()),
        qos: Qos::AtLeastOnce,
        payload_bytes: 142,
        title: None,
    };
    let message = Message { payload: vec![b'x'; 142].into(), content_type: None, properties: Vec::new() };
    fleet.push(TopicPush { push, message, away: Away::Skip }).ok()?;
    Some(id)
}

/// Moves the push; returns the deliveries of this step.
fn advance(fleet: &MemoryFleet, id: PushId, since: Duration) -> u64 {
    let mut moved = 0;
    let connected = fleet.stats().connected;
    fleet.change_push(id, |report: &mut LiveReport| {
        let part = (since.as_secs_f64() / 1.1).min(1.0);
        if report.targeted == 0 {
            report.targeted = connected + 1_870;
            report.not_connected = 1_870;
            report.queued = 1_870;
        }
        let reached = report.targeted - report.not_connected;
        let sent = (reached as f64 * part) as u64;
        moved = sent.saturating_sub(report.sent);
        report.sent = sent;
        report.acknowledged = (reached as f64 * (since.as_secs_f64() / 1.3).min(1.0)) as u64;
        report.progress = if report.acknowledged == reached { Progress::Settled } else { Progress::Sending };
        if report.progress == Progress::Sending {
            report.times.sent = Some((Duration::ZERO, since));
            report.times.acknowledged = Some((Duration::ZERO, since));
        }
        report.times.acknowledged_latency = LatencySummary {
            count: report.acknowledged,
            p50: since.min(Duration::from_millis(641)),
            p90: since.min(Duration::from_millis(1_120)),
            p99: since.min(Duration::from_millis(1_262)),
            p999: since.min(Duration::from_millis(1_288)),
            max: since.min(Duration::from_millis(1_300)),
        };
        report.times.sent_latency = report.times.acknowledged_latency;
    });
    moved
}
