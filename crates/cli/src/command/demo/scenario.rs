//! The demo from start to end: start, connect, push, burst, vote, stay, leave.
//!
//! Each step waits for a condition with a deadline, looks for Ctrl-C while it waits, and leaves its
//! figures in a [`Summary`]. Any step may end it: the devices leave before the node stops.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use stadium_example_voting::Voting;
use stadium_load::clock::monotonic_ns;
use stadium_load::stamp::Stamp;
use stadium_load::swarm::BroadcastRow;
use stadium_node::settings::{Settings, from_toml};
use stadium_node::{Node, logging};

use super::Arguments;
use super::fleet::Fleet;
use super::summary::{Burst, PushFigures, Summary};
use super::vote::{self, VoteFigures};
use crate::api::Api;
use crate::failure::{Context, Failure};
use crate::interrupted::Interrupted;
use crate::push_report::{Followed, follow};
use crate::terminal::{Style, Terminal, count, short};

/// Devices unless asked for another number.
const DEVICES: u32 = 10_000;

/// Open files of this process that are not devices: the node's own, the API's, the workers' pipes.
const FILES_RESERVED: u64 = 512;

/// How long the devices may take to connect: a slow machine takes seconds, a broken one must not
/// take for ever.
const CONNECT_PATIENCE: Duration = Duration::from_secs(120);

/// How long one push may take to be acknowledged by all.
const PUSH_PATIENCE: Duration = Duration::from_secs(60);

/// How long the devices' own figures of a push may lag: they are reported four times a second.
const FIGURES_PATIENCE: Duration = Duration::from_secs(2);

/// Pushes of the burst at the end, handed over without waiting for each other.
const BURST_PUSHES: u32 = 20;

/// Between two pushes while the live page stays up.
const STAY_EVERY: Duration = Duration::from_secs(1);

/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The stream that the demo's stamps count in.
const STREAM: u32 = 1;

/// Where pages listen unless asked for another address.
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Runs it, and keeps the first failure until everything is stopped.
pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<(), Failure> {
    let interrupted = Interrupted::listen()?;
    let data = tempfile::tempdir().context("the demo's temporary directory cannot be made")?;
    let settings = settings(arguments, data.path())?;
    logging::start(&settings.log).context("the demo cannot start")?;
    let node = Node::start(&settings).context("the demo's server cannot start")?;
    let outcome = with_node(arguments, terminal, &node, &interrupted);
    node.stop();
    outcome
}

fn with_node(
    arguments: &Arguments,
    terminal: &Terminal,
    node: &Node,
    interrupted: &Interrupted,
) -> Result<(), Failure> {
    let room = node.files_max().saturating_sub(FILES_RESERVED);
    let devices = fleet_size(arguments.devices, DEVICES, room)?;
    let live_url = format!("{}/live", node.running().http_url.as_deref().unwrap_or_default());
    introduce(terminal, node, &live_url, devices);
    let server = node
        .address("mqtt")
        .ok_or_else(|| Failure::new("the demo's server does not listen; this is a bug"))?;
    let mut stage = Stage {
        terminal,
        node,
        interrupted,
        api: api(node)?,
        message: &arguments.message,
        voting_listens: arguments.voting.unwrap_or(ANY_PORT),
        sequence: 0,
        voting: None,
    };
    let fleet = Fleet::start(&[server], devices, Some(vote::answer()))?;
    let performed = stage.perform(&fleet, devices, arguments.pushes, &live_url);
    let performed = performed.and_then(|summary| {
        if !interrupted.is_set() {
            if terminal.is_json() {
                terminal.json(&summary)?;
            } else {
                summary.show(terminal);
            }
            if arguments.stays(terminal) {
                stage.stay(&fleet, &live_url)?;
            }
        } else {
            terminal.note("stopped before all figures were in");
        }
        Ok(())
    });
    if let Some(voting) = stage.voting.take() {
        voting.stop();
    }
    let left = fleet.leave();
    match (performed, interrupted.is_set()) {
        // A failure after Ctrl-C is not a failure of the demo.
        (_, true) => Ok(()),
        (Ok(()), false) => left.map(drop),
        (Err(failure), false) => Err(failure),
    }
}

fn settings(arguments: &Arguments, data: &Path) -> Result<Settings, Failure> {
    let text = format!(
        "[server]\ntrial = true\ndata = {:?}\nloops = {}\n[mqtt]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"{}\"\n[rpc]\nlisten = \"127.0.0.1:0\"\n\
         [shards]\ncount = 1\n[journal]\nsegment_bytes = 4194304\nreserve_bytes = 65536\n[log]\nlevel = \"warn\"\n",
        data.display().to_string(),
        arguments.loops,
        arguments.http.unwrap_or(ANY_PORT),
    );
    let loaded = from_toml(&text, Path::new("the demo's settings"));
    loaded.map(|loaded| loaded.settings).map_err(|problems| Failure::Usage(problems.to_string()))
}

/// How many devices: as many as asked for, or `usual`. `room` is how many open files there are for them.
pub(super) fn fleet_size(asked: Option<u32>, usual: u32, room: u64) -> Result<u32, Failure> {
    let room = u32::try_from(room).unwrap_or(u32::MAX);
    match asked {
        Some(devices) if devices > room => Err(Failure::new(format!(
            "{} devices need as many open files, and this process may have {}: raise the limit (ulimit -n), or take fewer \
             devices; `stadium load swarm` fills a server of its own with more",
            count(u64::from(devices)),
            count(u64::from(room)),
        ))),
        Some(devices) => Ok(devices),
        None => Ok(usual.min(room).max(1)),
    }
}

fn api(node: &Node) -> Result<Api, Failure> {
    let url = node.running().http_url.clone().unwrap_or_default();
    Ok(Api::local(url, admin_key(node)?))
}

fn admin_key(node: &Node) -> Result<String, Failure> {
    let file = node.admin_key_file();
    let key = std::fs::read_to_string(&file).context(format_args!("{} cannot be read", file.display()))?;
    Ok(key.trim().to_owned())
}

fn introduce(terminal: &Terminal, node: &Node, live_url: &str, devices: u32) {
    if terminal.is_json() {
        return;
    }
    terminal.note(format_args!(
        "\n  {}  {}",
        terminal.err(Style::Strong, "STADIUM"),
        terminal.err(Style::Faint, format_args!("demo on loopback, {} loops, nothing is kept", node.loops()))
    ));
    terminal.note(format_args!("\n  Live page    {}", terminal.err(Style::Name, live_url)));
    terminal.note(format_args!(
        "  Devices      {} over MQTT 5, two subscriptions each\n",
        count(u64::from(devices))
    ));
}

/// The parts that every step needs.
struct Stage<'a> {
    terminal: &'a Terminal,
    node: &'a Node,
    interrupted: &'a Interrupted,
    api: Api,
    message: &'a str,
    voting_listens: SocketAddr,
    sequence: u32,
    /// From the second act on.
    voting: Option<Voting>,
}

impl Stage<'_> {
    /// The part with figures.
    fn perform(
        &mut self,
        fleet: &Fleet,
        devices: u32,
        pushes: u32,
        live_url: &str,
    ) -> Result<Summary, Failure> {
        let mut summary = Summary {
            devices,
            live_url: live_url.to_owned(),
            loops: self.node.loops(),
            ..Summary::default()
        };
        self.connect(fleet, &mut summary)?;
        for _ in 0..pushes {
            if self.interrupted.is_set() {
                return Ok(summary);
            }
            let figures = self.push(fleet)?;
            self.print_push(&figures, devices);
            summary.pushes.push(figures);
        }
        if !self.interrupted.is_set() {
            summary.burst = Some(self.burst(fleet)?);
        }
        if !self.interrupted.is_set() {
            summary.vote = self.vote(fleet, devices)?;
        }
        Ok(summary)
    }

    /// Waits until everybody is connected and subscribed.
    fn connect(&self, fleet: &Fleet, summary: &mut Summary) -> Result<(), Failure> {
        let bar = self.terminal.progress(u64::from(summary.devices), "connecting");
        let began = Instant::now();
        let (mut first, mut last) = (None, began);
        loop {
            let connected = self.node.connected();
            let now = Instant::now();
            if first.is_none() && self.node.accepted() > 0 {
                first = Some(now);
            }
            if connected > summary.connected {
                summary.connected = connected;
                last = now;
            }
            bar.set_position(connected);
            let progress = fleet.progress();
            if progress.now.up >= summary.devices || self.interrupted.is_set() {
                break;
            }
            if fleet.has_ended() {
                bar.finish_and_clear();
                return Err(Failure::new("the fleet left before it was complete; its own error follows"));
            }
            if began.elapsed() > CONNECT_PATIENCE {
                bar.finish_and_clear();
                return Err(Failure::new(format!(
                    "after {} s only {} of {} devices are connected and subscribed: is the machine too small or too busy? Try \
                     --devices with fewer",
                    CONNECT_PATIENCE.as_secs(),
                    count(u64::from(progress.now.up)),
                    count(u64::from(summary.devices)),
                )));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        bar.finish_and_clear();
        summary.connect_s = last.duration_since(first.unwrap_or(began)).as_secs_f64();
        summary.connects_per_second = summary.connected as f64 / summary.connect_s.max(0.001);
        if !self.terminal.is_json() && !self.interrupted.is_set() {
            self.terminal.note(format_args!(
                "  {}    {} devices in {}, {} a second",
                self.terminal.err(Style::Good, "connected"),
                count(summary.connected),
                self.terminal.err(Style::Strong, short(summary.connect_s)),
                count(summary.connects_per_second as u64),
            ));
        }
        Ok(())
    }

    /// One push to everybody, followed to its last acknowledgement, with what the devices
    /// themselves saw.
    fn push(&mut self, fleet: &Fleet) -> Result<PushFigures, Failure> {
        let bar = self.terminal.progress(self.node.connected(), "lighting up");
        let id = self.hand_over(1)?;
        let followed = follow(&self.api, &id, PUSH_PATIENCE, |report| bar.set_position(report.acknowledged))?;
        bar.finish_and_clear();
        let report = match followed {
            Followed::Settled(report) => report,
            Followed::Unfinished(report) => {
                return Err(Failure::new(format!(
                    "push {id}: only {} of {} devices acknowledged within {} s",
                    count(report.acknowledged),
                    count(report.targeted),
                    PUSH_PATIENCE.as_secs()
                )));
            }
        };
        let seen = self.seen_by_devices(fleet, report.acknowledged);
        Ok(PushFigures::new(report, seen))
    }

    fn hand_over(&mut self, qos: u8) -> Result<String, Failure> {
        hand_over(&self.api, qos, self.message, &mut self.sequence)
    }

    /// The devices' own figures of the newest push, once all have reported.
    fn seen_by_devices(&self, fleet: &Fleet, expected: u64) -> Option<BroadcastRow> {
        let deadline = Instant::now() + FIGURES_PATIENCE;
        let mut newest = None;
        while Instant::now() < deadline && !self.interrupted.is_set() {
            newest = fleet
                .progress()
                .broadcast
                .filter(|row| row.stream == STREAM && row.sequence == self.sequence);
            if newest.as_ref().is_some_and(|row| u64::from(row.received) >= expected) {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        newest
    }

    fn print_push(&self, figures: &PushFigures, devices: u32) {
        if self.terminal.is_json() {
            return;
        }
        self.terminal.note(format_args!("  {}", figures.line(self.terminal, devices)));
    }

    /// Pushes at QoS 0, handed over one after the other without waiting: what fan-out the server
    /// sustains.
    fn burst(&mut self, fleet: &Fleet) -> Result<Burst, Failure> {
        let before = fleet.progress().sums.deliveries;
        let mut sent_ns = Vec::new();
        for _ in 0..BURST_PUSHES {
            sent_ns.push(monotonic_ns());
            self.hand_over(0)?;
        }
        let connected = self.node.connected();
        let last = self.seen_by_devices(fleet, connected);
        let deliveries = fleet.progress().sums.deliveries.saturating_sub(before);
        let handing_over_ns = sent_ns.last().zip(sent_ns.first()).map_or(0, |(last, first)| last - first);
        let took_s = handing_over_ns as f64 / 1e9 + last.map_or(0.0, |row| row.to_last_ms / 1e3);
        let burst = Burst {
            pushes: BURST_PUSHES,
            deliveries,
            took_s,
            per_second: deliveries as f64 / took_s.max(1e-6),
        };
        if !self.terminal.is_json() {
            self.terminal.note(format_args!("  {}", burst.line(self.terminal)));
        }
        Ok(burst)
    }

    /// The second act: everybody has credit for one vote, and is asked twice.
    fn vote(&mut self, fleet: &Fleet, devices: u32) -> Result<Option<VoteFigures>, Failure> {
        let bar = self.terminal.progress(u64::from(devices), "voting");
        let voting = vote::open(self.node, admin_key(self.node)?, self.voting_listens, devices)?;
        let page_url = format!("http://{}", voting.address());
        if !self.terminal.is_json() {
            let shown = self.terminal.err(Style::Name, &page_url);
            self.terminal.note(format_args!("\n  Voting page  {shown}\n"));
        }
        let voting = &*self.voting.insert(voting);
        let interrupted = self.interrupted;
        let asked = u64::from(devices);
        // Only the hand-over: following the push to its last acknowledgement would cost the votes
        // time.
        let message = format!("{}! One vote each.", vote::ASKS);
        hand_over(&self.api, 1, &message, &mut self.sequence)?;
        let mut first = None;
        vote::until(
            voting,
            || interrupted.is_set() || fleet.has_ended(),
            |results| {
                bar.set_position(results.cast.counted);
                let is_in = results.cast.counted >= asked && results.total >= i64::from(devices);
                if is_in {
                    first = Some(results.clone());
                }
                is_in
            },
        )?;
        let Some(first) = first else { return Ok(None) };
        hand_over(&self.api, 1, &format!("{} again!", vote::ASKS), &mut self.sequence)?;
        let mut last = None;
        vote::until(
            voting,
            || interrupted.is_set() || fleet.has_ended(),
            |results| {
                bar.set_position(results.cast.refused);
                let is_in = results.cast.refused >= asked;
                if is_in {
                    last = Some(results.clone());
                }
                is_in
            },
        )?;
        // Each vote's record holds a push too: these pushes go out before anything else.
        let all_confirmed = || Ok(self.api.get(vote::PUSHES)?["jobs"]["total"] == 0);
        vote::until_confirmed(all_confirmed, || interrupted.is_set() || fleet.has_ended())?;
        bar.finish_and_clear();
        let Some(last) = last else { return Ok(None) };
        let figures = VoteFigures::new(devices, page_url, &first, &last)?;
        if !self.terminal.is_json() {
            for line in figures.lines(self.terminal) {
                self.terminal.note(format_args!("  {line}"));
            }
        }
        Ok(Some(figures))
    }

    /// Keeps the page alive until Ctrl-C.
    fn stay(&mut self, fleet: &Fleet, live_url: &str) -> Result<(), Failure> {
        if !self.terminal.is_json() {
            self.terminal.note(format_args!(
                "\n  The devices stay. Look at {} ; a push goes out every second. {}\n",
                self.terminal.err(Style::Name, live_url),
                self.terminal.err(Style::Faint, "Ctrl-C ends it."),
            ));
        }
        let mut next = Instant::now() + STAY_EVERY;
        while !self.interrupted.is_set() {
            if fleet.has_ended() {
                return Err(Failure::new("the fleet left by itself; its own error follows"));
            }
            if Instant::now() >= next {
                self.push(fleet)?;
                next = Instant::now() + STAY_EVERY;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

/// Hands a push to everybody over, with a stamp and the next number; its id.
fn hand_over(api: &Api, qos: u8, message: &str, sequence: &mut u32) -> Result<String, Failure> {
    *sequence += 1;
    let stamp = Stamp { sent_ns: monotonic_ns(), stream: STREAM, sequence: *sequence }.encode();
    let message = format!("{} {message}", String::from_utf8_lossy(&stamp));
    let accepted = api.post("/api/push", &json!({"to": "everybody", "message": message, "qos": qos}))?;
    Ok(accepted.get("id").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned())
}
