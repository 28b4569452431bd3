//! A scenario's fleets: swarms of MQTT devices that are there beside its users, each watched by a thread of its own.
//!
//! Swarms hold their devices in processes of their own where open files ask for it. They run in the
//! coordinator, also where workers make the rest of the load.

use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use stadium_report::{self as report, Messages};
use stadium_scenario::program::{self, Program, Scheme, Version};

use super::swarm::Swarm;
use crate::clock::monotonic_ns;
use crate::engine::event::Control;
use crate::error::Error;
use crate::swarm::{
    Certificate, ConnectPace, Credentials, Level, Mixture, Processes, Protocol, Resumption, Session,
    SwarmConfig, SwarmReport, Target, Template, Tls, Traffic, Transport, Trust,
};

/// Between two looks of a swarm that has not begun.
const LOOK: Duration = Duration::from_millis(20);
/// What the broker keeps of a device that leaves and comes back, in seconds.
const SESSION_EXPIRY_S: u32 = 3_600;

/// The fleets of a run.
#[derive(Default)]
pub(crate) struct Fleets {
    running: Vec<Fleet>,
}

struct Fleet {
    name: String,
    watched: Arc<Watched>,
    thread: JoinHandle<Result<Option<SwarmReport>, Error>>,
}

/// What the head and a fleet's thread share.
#[derive(Default)]
struct Watched {
    connected: AtomicU64,
    connected_max: AtomicU64,
    received: AtomicU64,
    ended: AtomicBool,
    control: Mutex<Option<Control>>,
}

impl Fleets {
    /// Makes ready the fleets of a program: they begin at their times, counted from `epoch_ns`.
    ///
    /// # Errors
    /// [`Error::Config`] for a fleet that cannot be; [`Error::System`] where no thread can be had.
    pub(crate) fn start(program: &Program, folder: &Path, epoch_ns: u64) -> Result<Self, Error> {
        let mut fleets = Fleets::default();
        for fleet in &program.fleets {
            let config = config(fleet, program, folder)?;
            config.check().map_err(|error| Error::Config(format!("fleet {:?}: {error}", fleet.name)))?;
            let watched = Arc::new(Watched::default());
            let (shared, start_ns) = (watched.clone(), epoch_ns + fleet.start_ns);
            let thread = std::thread::Builder::new()
                .name(format!("fleet-{}", fleet.name))
                .spawn(move || run(config, start_ns, &shared))
                .map_err(Error::system("starting a thread"))?;
            fleets.running.push(Fleet { name: fleet.name.clone(), watched, thread });
        }
        Ok(fleets)
    }

    /// Devices that are connected now.
    pub(crate) fn connected(&self) -> u64 {
        self.running.iter().map(|fleet| fleet.watched.connected.load(Ordering::Relaxed)).sum()
    }

    /// Messages that devices have received so far.
    pub(crate) fn received(&self) -> u64 {
        self.running.iter().map(|fleet| fleet.watched.received.load(Ordering::Relaxed)).sum()
    }

    /// Ends them and reports what came of each; why one could not be is a reason to doubt the run.
    pub(crate) fn finish(self) -> Vec<Result<report::Fleet, String>> {
        for fleet in &self.running {
            fleet.watched.ended.store(true, Ordering::SeqCst);
            if let Ok(control) = fleet.watched.control.lock()
                && let Some(control) = &*control
            {
                control.stop();
            }
        }
        self.running
            .into_iter()
            .map(|Fleet { name, watched, thread }| match thread.join() {
                Ok(Ok(Some(result))) => Ok(fleet_of(&name, &watched, result)),
                Ok(Ok(None)) => {
                    Err(format!("the fleet {name:?} never began: its start is after the run's end"))
                }
                Ok(Err(error)) => Err(format!("the fleet {name:?} could not run: {error}")),
                Err(_) => Err(format!("the fleet {name:?} could not run")),
            })
            .collect()
    }
}

fn run(config: SwarmConfig, start_ns: u64, watched: &Watched) -> Result<Option<SwarmReport>, Error> {
    while monotonic_ns() < start_ns {
        if watched.ended.load(Ordering::SeqCst) {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
    let swarm = Swarm::start(config)?;
    if let Ok(mut control) = watched.control.lock() {
        *control = Some(swarm.control());
    }
    // An end of the run meanwhile found no control to report to.
    if watched.ended.load(Ordering::SeqCst) {
        swarm.control().stop();
    }
    swarm
        .wait(&mut |progress| {
            let up = u64::from(progress.now.up);
            watched.connected.store(up, Ordering::Relaxed);
            watched.connected_max.fetch_max(up, Ordering::Relaxed);
            watched.received.store(progress.sums.deliveries, Ordering::Relaxed);
        })
        .map(Some)
}

/// A swarm's report as a fleet of a result.
fn fleet_of(name: &str, watched: &Watched, swarm: SwarmReport) -> report::Fleet {
    let sums = swarm.sums;
    let histograms = swarm.histograms;
    let mut facts: Vec<(String, String)> = swarm
        .storms
        .iter()
        .map(|storm| {
            let outcome =
                format!("{} of {} back, the last after {:.2} s", storm.back, storm.cut, storm.all_back_s);
            ("storm".to_owned(), outcome)
        })
        .collect();
    facts.extend(
        swarm
            .profiles
            .iter()
            .map(|(profile, devices)| (format!("profile {profile}"), format!("{devices} devices"))),
    );
    if swarm.latency.notice.count > 0 {
        facts.push((
            "dead connections noticed".to_owned(),
            format!("p50 {:.1} s", swarm.latency.notice.p50_ms / 1e3),
        ));
    }
    if let Some(bytes) = swarm.generator.memory_per_device {
        facts.push(("generator's memory".to_owned(), format!("{bytes:.0} B a device")));
    }
    facts.extend(swarm.caveats.into_iter().map(|caveat| ("caveat".to_owned(), caveat)));
    report::Fleet {
        name: name.to_owned(),
        devices: u64::from(swarm.devices),
        connected_max: watched.connected_max.load(Ordering::Relaxed).max(u64::from(swarm.at_end.up)),
        connects: sums.connected,
        lost_connections: swarm.lost_connections,
        refused: swarm.refused,
        connect: histograms.connack,
        messages: Messages {
            sent: sums.broadcasts + sums.uplinks,
            received: sums.deliveries,
            lost: sums.lost,
            duplicates: sums.duplicates,
            reordered: 0,
            latency: histograms.delivery,
        },
        facts,
    }
}

/// What a swarm is asked for by a fleet.
fn config(fleet: &program::Fleet, program: &Program, folder: &Path) -> Result<SwarmConfig, Error> {
    let target = &program.targets[fleet.target];
    let wrong = |what: &dyn std::fmt::Display| Error::Config(format!("fleet {:?}: {what}", fleet.name));
    let template = |text: &str| -> Result<Template, Error> {
        text.replace("{number}", "{n}").parse().map_err(|error| wrong(&error))
    };
    let address = (target.host.as_str(), target.port)
        .to_socket_addrs()
        .ok()
        .and_then(|mut addresses| addresses.next())
        .ok_or_else(|| wrong(&format!("the host {:?} has no address", target.host)))?;
    let level = |qos: u8| Level::try_from(qos).map_err(|error| wrong(&error));
    let traffic = |traffic: &program::Traffic| -> Result<Traffic, Error> {
        Ok(Traffic {
            topic: template(&traffic.topic)?,
            every_us: ((1e6 / traffic.rate) as u64).max(1),
            size: traffic.bytes as usize,
            qos: level(traffic.qos)?,
            count: None,
        })
    };
    let credentials = match &fleet.credentials {
        None => Credentials::default(),
        Some((user_name, password)) => {
            let of = |what: &str, text: &str| {
                // Without the text: it may be secret.
                template(&filled(text, program)).map_err(|_| {
                    wrong(&format!("its {what} has braces that are neither {{id}} nor {{number}}"))
                })
            };
            Credentials {
                username: Some(of("user_name", user_name)?),
                password: Some(of("password", password)?),
            }
        }
    };
    let profiles = if fleet.profile == "steady" {
        Mixture::default()
    } else {
        Mixture::named(&fleet.profile, program.seed).map_err(|error| wrong(&error))?
    };
    let session =
        if profiles.is_empty() { Session::Clean } else { Session::Kept { expiry_s: SESSION_EXPIRY_S } };
    Ok(SwarmConfig {
        targets: vec![Target { address, host: target.host.clone() }],
        transport: transport(target, folder),
        version: if target.version == Version::Mqtt311 { Protocol::V311 } else { Protocol::V5 },
        devices: fleet.devices,
        id_prefix: fleet.id_prefix.clone(),
        credentials,
        session,
        keep_alive_s: fleet.keep_alive_s,
        subscriptions: fleet.subscriptions.iter().map(|filter| template(filter)).collect::<Result<_, _>>()?,
        subscription_qos: level(fleet.qos)?,
        connect: ConnectPace {
            per_second: fleet.connects_per_second,
            timeout_ms: target.connect_timeout_ns / 1_000_000,
            ..SwarmConfig::default().connect
        },
        uplink: fleet.uplink.as_ref().map(traffic).transpose()?,
        broadcast: fleet.broadcast.as_ref().map(traffic).transpose()?,
        source_addresses: target.source_addresses.clone(),
        processes: match fleet.processes {
            0 => Processes::Auto,
            processes => Processes::Workers(processes),
        },
        storm_after_ms: fleet.storm_ns.map(|ns| ns / 1_000_000),
        profiles,
        ..SwarmConfig::default()
    })
}

/// A text with the values of the scenario's variables: `${name}`.
fn filled(text: &str, program: &Program) -> String {
    let mut text = text.to_owned();
    for (name, value) in program.variables.iter().zip(&program.initial) {
        let place = format!("${{{name}}}");
        if text.contains(&place) {
            let mut bytes = Vec::new();
            value.write(&mut bytes);
            text = text.replace(&place, &String::from_utf8_lossy(&bytes));
        }
    }
    text
}

fn transport(target: &program::Target, folder: &Path) -> Transport {
    let tls = || Tls {
        trust: match &target.tls.authority {
            Some(path) if !target.tls.insecure => Trust::Authority(folder.join(path)),
            _ => Trust::Anybody,
        },
        certificate: target
            .tls
            .identity
            .as_ref()
            .map(|(chain, key)| Certificate { chain: folder.join(chain), key: folder.join(key) }),
        resumption: if target.tls.resumption { Resumption::On } else { Resumption::Off },
    };
    let path = || if target.path.is_empty() { "/mqtt".to_owned() } else { target.path.clone() };
    match target.scheme {
        Scheme::Mqtts => Transport::Tls(tls()),
        Scheme::MqttWs => Transport::Ws { path: path() },
        Scheme::MqttWss => Transport::Wss { path: path(), tls: tls() },
        _ => Transport::Tcp,
    }
}
