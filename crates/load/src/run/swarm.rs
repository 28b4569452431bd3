//! A swarm's run: starts its loops or workers, adds up their tallies, decides when what happens.
//!
//! Nothing here touches a socket. A swarm goes through arrival, then (when all devices are up) broadcast, storm and
//! hold, as far as its configuration has them, then goodbye.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::members::Members;
use crate::clock::monotonic_ns;
use crate::engine::devices::plan::Plan;
use crate::engine::event::{self, Ask, Control, Event};
use crate::engine::loops::Assignment;
use crate::engine::order::{Cut, Order};
use crate::error::Error;
use crate::latency::Latency;
use crate::machine::{Loads, Watch};
use crate::swarm::broadcast::Spreads;
use crate::swarm::caveats::caveats;
use crate::swarm::config::SwarmConfig;
use crate::swarm::memory::Memory;
use crate::swarm::report::{Ended, GeneratorReport, LatencyReport, Progress, StormReport, SwarmReport};
use crate::swarm::storm::StormShape;
use crate::swarm::tally::{Latencies, Now, Storm, Sums, Tally, add_named};
use crate::workers::{Children, Workers, compile_scenario};

/// Between two looks at how far the swarm is.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long devices may take to disconnect.
const PATIENCE: Duration = Duration::from_secs(15);
/// Where devices never come up, the rest of the plan begins so long after the last one's time, in seconds.
const STRAGGLERS_S: f64 = 30.0;

/// A swarm that has been started. Dropping it ends it without a report.
pub struct Swarm {
    config: SwarmConfig,
    members: Members,
    /// The processes that hold the devices, where this one does not: they end with it.
    workers: Option<Workers>,
    events: Receiver<Event>,
    control: Control,
    processes: u32,
    watch: Watch,
    loads: Loads,

    // The reports of loops.
    now: BTreeMap<u32, Now>,
    sums: Sums,
    latencies: Latencies,
    /// Deliveries of the last interval.
    recent: Latency,
    refused: BTreeMap<String, u64>,
    lost_connections: BTreeMap<String, u64>,
    spreads: Spreads,
    storms: BTreeMap<u32, Storm>,
    /// Of each process, by the loop that reports it.
    memory: BTreeMap<u32, Memory>,
    last_up_ns: u64,
    /// Why the run ends, once it does.
    ended: Option<Ended>,
    stop_ns: u64,

    // The plan's next steps, in [`crate::clock::monotonic_ns`].
    settled_ns: Option<u64>,
    storm_ns: Option<u64>,
    storms_asked: u32,
}

impl std::fmt::Debug for Swarm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Swarm")
            .field("devices", &self.config.devices)
            .field("processes", &self.processes)
            .finish()
    }
}

impl Swarm {
    /// Starts it: on return all loops are ready and the first device's time is 50 ms ahead, or 250
    /// ms where workers hold the devices.
    ///
    /// # Errors
    /// [`Error`] where it cannot run as configured, or a worker cannot be started.
    pub fn start(config: SwarmConfig) -> Result<Self, Error> {
        let (sender, events) = mpsc::channel();
        // Also where workers read certificates again: this process reports what is wrong.
        let plan = Plan::new(config.clone())?;
        let (processes, loops) = (config.workers(), config.loops as u32);
        let (members, workers) = match processes {
            None => {
                let assignment = Assignment::Devices(Arc::new(plan));
                (Members::here(&assignment, loops, &sender)?, None)
            }
            Some(processes) => {
                let own = std::env::current_exe().map_err(Error::system("finding this binary"))?;
                let group = Workers::of_children(Children::start(processes, loops, &own)?, compile_scenario)?;
                (Members::on(group.prepare_devices(&config, &sender)?)?, Some(group))
            }
        };
        Ok(Swarm {
            members,
            workers,
            events,
            control: Control::new(sender),
            processes: processes.unwrap_or(1),
            watch: Watch::new(),
            loads: Loads::default(),
            now: BTreeMap::new(),
            sums: Sums::default(),
            latencies: Latencies::default(),
            recent: Latency::new(),
            refused: BTreeMap::new(),
            lost_connections: BTreeMap::new(),
            spreads: Spreads::default(),
            storms: BTreeMap::new(),
            memory: BTreeMap::new(),
            last_up_ns: 0,
            ended: None,
            stop_ns: 0,
            settled_ns: None,
            storm_ns: None,
            storms_asked: 0,
            config,
        })
    }

    /// What cuts or stops it from elsewhere.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The worker processes' ids, to look at what they need; empty where this process holds the devices.
    pub fn worker_pids(&self) -> Vec<u32> {
        self.workers.as_ref().map(Workers::pids).unwrap_or_default()
    }

    /// Runs it to its end, reporting to `watch` four times a second how far it is.
    ///
    /// # Errors
    /// [`Error`] where no loop is left and none has reported anything. A worker that dies on the
    /// way is no error: the report states it.
    pub fn wait(mut self, watch: &mut dyn FnMut(&Progress)) -> Result<SwarmReport, Error> {
        let mut failure = None;
        let mut looked = Instant::now();
        let mut before = (Instant::now(), Sums::default());
        while self.ended.is_none() {
            match self.events.recv_timeout(INTERVAL.saturating_sub(looked.elapsed())) {
                Ok(event) => {
                    if let Some(error) = self.take(event) {
                        failure = Some(error);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                // We hold a sender ourselves.
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if looked.elapsed() >= INTERVAL {
                looked = Instant::now();
                if let Some(load) = self.watch.look() {
                    self.loads.add(load);
                }
                let progress = self.progress(before.0.elapsed(), &before.1);
                before = (Instant::now(), self.sums);
                watch(&progress);
            }
            self.proceed();
        }
        self.stop_ns = monotonic_ns();
        self.members.order(Order::Stop);
        self.await_goodbyes();
        match failure {
            Some(error) if self.sums.attempts == 0 => Err(error),
            _ => Ok(self.report()),
        }
    }

    /// Takes an event; returns why a member failed, if that is what it reports.
    fn take(&mut self, event: Event) -> Option<Error> {
        match event {
            Event::Tally(event::Tally::Devices(tally)) => self.add(&tally),
            Event::Ask(Ask::Cut) => self.cut(StormShape::default()),
            Event::Ask(Ask::Finish | Ask::Stop) => self.ended = self.ended.or(Some(Ended::Interrupted)),
            Event::Ended { share, result } => {
                self.members.ended(share);
                // Before the goodbyes nobody should end.
                self.ended = self.ended.or(Some(Ended::WorkerDied));
                return result.err();
            }
            Event::Lost { worker, why } => {
                self.members.lose(worker, &why);
                self.ended = self.ended.or(Some(Ended::WorkerDied));
                return Some(Error::Worker(why));
            }
            Event::Tally(event::Tally::Users(_)) | Event::Load { .. } => {}
        }
        None
    }

    fn add(&mut self, tally: &Tally) {
        self.now.insert(tally.share, tally.now);
        self.sums.add(&tally.sums);
        self.latencies.add(&tally.latencies);
        self.recent.add(&tally.latencies.delivery);
        add_named(&mut self.refused, &tally.refused);
        add_named(&mut self.lost_connections, &tally.lost_connections);
        tally.spreads.iter().for_each(|spread| self.spreads.add(spread));
        self.last_up_ns = self.last_up_ns.max(tally.last_up_ns);
        if let Some(memory) = tally.memory {
            self.memory.insert(tally.share, memory);
        }
        for (number, part) in &tally.storms {
            let storm = self.storms.entry(*number).or_default();
            storm.cut_ns = storm.cut_ns.max(part.cut_ns);
            storm.cut += part.cut;
            storm.back += part.back;
            storm.last_back_ns = storm.last_back_ns.max(part.last_back_ns);
        }
    }

    fn cut(&mut self, shape: StormShape) {
        self.storms_asked += 1;
        self.members.order(Order::Cut(Cut {
            number: self.storms_asked,
            at_ns: monotonic_ns(),
            share_ppm: (shape.share * 1e6) as u32,
            over_ms: shape.over_ms,
        }));
    }

    fn now(&self) -> Now {
        let mut sum = Now::default();
        self.now.values().for_each(|now| sum.add(now));
        sum
    }

    /// Begins what is due.
    fn proceed(&mut self) {
        let now_ns = monotonic_ns();
        let since = |from_ns: u64| now_ns.saturating_sub(from_ns);
        if self.settled_ns.is_none() && self.is_settled(now_ns) {
            self.settled_ns = Some(now_ns);
            self.storm_ns = self.config.storm_after_ms.map(|ms| now_ns + ms * 1_000_000);
            if self.config.broadcast.is_some() {
                // Any number but zero that another run is unlikely to use.
                self.members.order(Order::Broadcast { stream: fastrand::u32(1..) });
            }
        }
        if self.storm_ns.is_some_and(|at_ns| now_ns >= at_ns) {
            // From the plan's time, so that storms keep their rhythm.
            let every_ns = self.config.storm.every_ms.map(|ms| ms * 1_000_000);
            self.storm_ns = self.storm_ns.zip(every_ns).map(|(at_ns, every_ns)| at_ns + every_ns);
            self.cut(self.config.storm);
        }
        let over =
            |after_ms: Option<u64>, from_ns: u64| after_ms.is_some_and(|ms| since(from_ns) >= ms * 1_000_000);
        if over(self.config.duration_ms, self.members.epoch_ns)
            || self.settled_ns.is_some_and(|settled_ns| over(self.config.hold_ms, settled_ns))
        {
            self.ended = self.ended.or(Some(Ended::Complete));
        }
    }

    /// Whether all devices have been up or gave up; or their time is long over.
    fn is_settled(&self, now_ns: u64) -> bool {
        let devices = u64::from(self.config.devices);
        let connect = &self.config.connect;
        let ramp_s = if connect.per_second > 0.0 { devices as f64 / connect.per_second } else { 0.0 };
        let late = now_ns.saturating_sub(self.members.epoch_ns) as f64 / 1e9 > ramp_s + STRAGGLERS_S;
        self.sums.first_ups + u64::from(self.now().given_up) >= devices || late
    }

    fn progress(&mut self, interval: Duration, before: &Sums) -> Progress {
        let seconds = interval.as_secs_f64().max(1e-3);
        let delivery = self.recent.summary();
        self.recent.take();
        Progress {
            elapsed_s: monotonic_ns().saturating_sub(self.members.epoch_ns) as f64 / 1e9,
            devices: self.config.devices,
            now: self.now(),
            settled: self.settled_ns.is_some(),
            sums: self.sums,
            connects_per_second: (self.sums.subscribed - before.subscribed) as f64 / seconds,
            deliveries_per_second: (self.sums.deliveries - before.deliveries) as f64 / seconds,
            delivery,
            suback: self.latencies.suback.summary(),
            broadcast: self.spreads.newest(),
            refused: self.refused.clone(),
            lost_connections: self.lost_connections.clone(),
        }
    }

    /// Takes the last figures, and waits until all have ended.
    fn await_goodbyes(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while self.members.are_running() {
            match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(event) => {
                    self.take(event);
                }
                Err(_) => break,
            }
        }
        self.members.end();
    }

    /// What processes grew by since they had no device, shared out over all devices.
    fn memory_per_device(&self) -> Option<f64> {
        let all_up = self.sums.first_ups == u64::from(self.config.devices);
        let grown: u64 =
            self.memory.values().map(|memory| memory.now.saturating_sub(memory.without_devices)).sum();
        (all_up && !self.memory.is_empty()).then(|| grown as f64 / f64::from(self.config.devices))
    }

    /// How many devices have which profile.
    fn profiles(&self) -> BTreeMap<String, u32> {
        let mixture = &self.config.profiles;
        let mut counts = BTreeMap::new();
        if !mixture.is_empty() {
            for device in 0..self.config.devices {
                let name = &mixture.profiles[mixture.profile_of(device)].profile.name;
                match counts.get_mut(name) {
                    Some(count) => *count += 1,
                    None => {
                        counts.insert(name.clone(), 1);
                    }
                }
            }
        }
        counts
    }

    fn report(mut self) -> SwarmReport {
        let elapsed_s = self.stop_ns.saturating_sub(self.members.epoch_ns) as f64 / 1e9;
        let up_s = self.last_up_ns.saturating_sub(self.members.epoch_ns) as f64 / 1e9;
        let all_up = self.sums.first_ups == u64::from(self.config.devices);
        let sums = self.sums;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let cpu_s = sums.cpu_ns as f64 / 1e9;
        let latency = LatencyReport {
            connack: self.latencies.connack.summary(),
            suback: self.latencies.suback.summary(),
            reconnect: self.latencies.reconnect.summary(),
            delivery: self.latencies.delivery.summary(),
            delivery_asleep: self.latencies.delivery_asleep.summary(),
            delivery_away: self.latencies.delivery_away.summary(),
            notice: self.latencies.notice.summary(),
            back: self.latencies.back.summary(),
            uplink: self.latencies.uplink.summary(),
            lateness: self.latencies.lateness.summary(),
        };
        let generator = GeneratorReport {
            cpu_s,
            cpu_share: if elapsed_s > 0.0 { cpu_s / elapsed_s } else { 0.0 },
            saturated_share: share(sums.intervals_saturated, sums.intervals),
            machine_busy_share: self.loads.busy_share(),
            memory_bytes: self.memory.values().map(|memory| memory.now).sum(),
            memory_per_device: self.memory_per_device(),
        };
        let storms = self
            .storms
            .values()
            .map(|storm| StormReport {
                cut: storm.cut,
                back: storm.back,
                all_back_s: storm.last_back_ns.saturating_sub(storm.cut_ns) as f64 / 1e9,
            })
            .collect();
        let ended = self.ended.unwrap_or_default();
        SwarmReport {
            devices: self.config.devices,
            processes: self.processes,
            loops: self.processes * self.config.loops as u32,
            ended,
            elapsed_s,
            at_end: self.now(),
            all_up_s: all_up.then_some(up_s),
            connects_per_second: if up_s > 0.0 { sums.first_ups as f64 / up_s } else { 0.0 },
            sums,
            refused: std::mem::take(&mut self.refused),
            lost_connections: std::mem::take(&mut self.lost_connections),
            latency,
            histograms: self.latencies.take(),
            broadcast: std::mem::take(&mut self.spreads).report(),
            storms,
            profiles: self.profiles(),
            generator,
            caveats: caveats(ended, &sums, &latency, &generator),
        }
    }
}

impl Drop for Swarm {
    fn drop(&mut self) {
        self.members.end();
    }
}
