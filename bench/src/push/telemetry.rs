//! The cost of telemetry: the same pushes and requests on three servers, one without it, one that
//! samples a request in twenty, and one that samples each.
//!
//! The servers run side by side and take turns of a fraction of a second, so that what else the
//! machine does meets all of them. The cost is in CPU time, which depends least on the client. A
//! receiver takes the spans and forgets them.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;
use stadium_testing::otlp::Receiver;

use super::load::Load;
use super::phones::notification;
use super::platform::Platform;
use super::sizes::Sizes;
use super::{Numbers, devices, register};
use crate::machine;
use crate::process::{Cores, Pinned};
use crate::services::Start;

/// Name of the measurement.
pub(super) const NAME: &str = "telemetry";
/// The servers, and the part of the requests that each samples.
const MODES: [(&str, Option<&str>); 3] = [("off", None), ("sampled", Some("0.05")), ("all", Some("1.0"))];
/// Turns of each server, for pushes and for requests.
const TURNS: u32 = 20;
/// Devices of each server.
const DEVICES: u32 = 1_000;

/// The two kinds of requests.
#[derive(Clone, Copy)]
enum Work {
    /// Durable pushes to single devices that are away.
    Pushes,
    /// A request that no shard takes part in.
    Requests,
}

const WORKS: [(&str, Work); 2] = [("pushes", Work::Pushes), ("requests", Work::Requests)];

/// A server and what it has done.
struct Contender {
    mode: &'static str,
    platform: Platform,
    load: Load,
    /// Pushes so far, for their ids.
    pushes: u64,
    done: u64,
    wall: Duration,
    cpu: Duration,
}

impl Contender {
    fn start(
        start: &Start<'_>,
        sizes: &Sizes,
        collector: &str,
        (mode, ratio): (&'static str, Option<&str>),
    ) -> Result<Self> {
        let settings = ratio.map_or_else(Vec::new, |ratio| {
            vec![format!("telemetry.endpoint={collector}"), format!("telemetry.sample_ratio={ratio}")]
        });
        let platform = Platform::start_with(start, sizes, settings)?;
        register::register(&platform, 0..DEVICES)?;
        platform.move_to(Cores::First)?;
        let load = Load::connect(&platform.target(), sizes.connections)?;
        Ok(Self { mode, platform, load, pushes: 0, done: 0, wall: Duration::ZERO, cpu: Duration::ZERO })
    }

    /// One turn of this work.
    fn turn(&mut self, work: Work, span: Duration) -> Result<()> {
        let pid = self.platform.server.pid();
        let (cpu, began) = (machine::cpu_time(pid)?, Instant::now());
        let is_over = || began.elapsed() >= span;
        let mut done = 0;
        match work {
            Work::Pushes => {
                let (what, pushes) = (notification(0), &mut self.pushes);
                let next = || {
                    if is_over() {
                        return None;
                    }
                    let device = devices::id((*pushes * 7_919 % u64::from(DEVICES)) as u32);
                    let id = format!("0190a1b2c3d47002{pushes:016x}");
                    *pushes += 1;
                    Some(json!({"id": id, "audience": {"device": device}, "notification": &what}).to_string())
                };
                self.load.post("/api/apps/default/pushes", next, |answer| {
                    done += 1;
                    if !matches!(answer.status, 200 | 202) {
                        bail!("a push was answered {}", answer.shown());
                    }
                    Ok(())
                })?;
            }
            Work::Requests => {
                let next = || (!is_over()).then(String::new);
                self.load.ask("GET", "/api/node", next, |answer| {
                    done += 1;
                    if answer.status != 200 {
                        bail!("a request was answered {}", answer.shown());
                    }
                    Ok(())
                })?;
            }
        }
        self.done += done;
        self.wall += began.elapsed();
        self.cpu += machine::cpu_time(pid)? - cpu;
        Ok(())
    }

    /// Requests a second, and the CPU time of each in microseconds, since the last ones.
    fn taken(&mut self) -> (f64, f64) {
        let (done, wall, cpu) = (self.done as f64, self.wall.as_secs_f64(), self.cpu.as_secs_f64());
        (self.done, self.wall, self.cpu) = (0, Duration::ZERO, Duration::ZERO);
        (done / wall, cpu * 1e6 / done)
    }
}

/// Starts the three servers, and has them take turns.
pub(super) fn take(start: &Start<'_>, sizes: &Sizes) -> Result<Numbers> {
    let collector = Receiver::start_forgetful()?.url();
    let contenders = MODES.iter().map(|mode| Contender::start(start, sizes, &collector, *mode));
    let mut contenders = contenders.collect::<Result<Vec<_>>>()?;
    let _pinned = Pinned::to(Cores::Second)?;
    let span = Duration::from_secs_f64(sizes.seconds) / TURNS;
    let mut numbers = Vec::new();
    for (name, work) in WORKS {
        for contender in &mut contenders {
            contender.turn(work, span)?;
            contender.taken();
        }
        for turn in 0..TURNS as usize {
            // Each is the first as often as the others.
            for at in 0..contenders.len() {
                let at = (turn + at) % contenders.len();
                contenders[at].turn(work, span)?;
            }
        }
        let taken: Vec<_> = contenders.iter_mut().map(|one| (one.mode, one.taken())).collect();
        let (_, (_, cpu_off)) = taken[0];
        for (mode, (per_second, cpu_us)) in taken {
            numbers.push((format!("{name}_{mode}_per_second"), per_second));
            numbers.push((format!("{name}_{mode}_cpu_us"), cpu_us));
            if mode != MODES[0].0 {
                numbers.push((format!("{name}_{mode}_cost_percent"), (cpu_us / cpu_off - 1.0) * 100.0));
            }
        }
    }
    Ok(numbers)
}

/// The names and titles of the numbers beyond the rows.
pub(super) fn details() -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for (work, _) in WORKS {
        for (mode, ratio) in MODES {
            let telemetry = ratio.map_or("off".to_owned(), |ratio| format!("on, ratio {ratio}"));
            rows.push((format!("{work}_{mode}_per_second"), format!("{work}/s, telemetry {telemetry}")));
            rows.push((
                format!("{work}_{mode}_cpu_us"),
                format!("server's CPU time of one, telemetry {telemetry}, us"),
            ));
        }
    }
    rows
}
