//! What a swarm is asked to do, as plain values.
//!
//! [`SwarmConfig::default`] is a small honest fleet on loopback; [`SwarmConfig::check`] reports
//! what is wrong before anything is opened. The whole of it travels to worker processes as JSON.
//! Times are in milliseconds unless a name states another unit.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stadium_mqtt::packet::{QoS, Version};

use super::profile::Mixture;
use super::storm::StormShape;
use super::template::Template;
use super::time::TIME_MS_MAX;
use crate::error::Error;

/// Devices that one process holds at most, as a share of its open-file limit: the rest is for everything else.
const OPEN_FILES_SHARE: f64 = 0.9;
/// Ports that one source address lends towards one target. Of the 28,000 that Linux has by default it gives those of
/// one parity first; after these it looks through all of them for each one of the others, which takes milliseconds.
const PORTS_PER_SOURCE: u32 = 12_000;
/// Loopback addresses between which devices move whose address changes, at least.
const MOVING_SOURCES: u32 = 4;
/// Severed connections that one process keeps at most, as a share of its open-file limit: half of what devices leave.
const LEFT_SHARE: f64 = 0.05;
/// The largest message that the swarm sends, in bytes.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A swarm: its devices, what they do, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwarmConfig {
    /// Brokers; device number k uses target k modulo their count. At least one.
    pub targets: Vec<Target>,
    /// What carries MQTT.
    pub transport: Transport,
    /// MQTT's version.
    pub version: Protocol,
    /// How many devices.
    pub devices: u32,
    /// A device's id is this followed by its number.
    pub id_prefix: String,
    /// The first device's number.
    pub first_number: u32,
    /// How devices identify themselves.
    pub credentials: Credentials,
    /// What the broker keeps of a device that is away.
    pub session: Session,
    /// MQTT keep-alive in seconds; zero for none. The broker may set another one.
    pub keep_alive_s: u16,
    /// Topic filters that each device subscribes to, in one SUBSCRIBE; may be empty.
    pub subscriptions: Vec<Template>,
    /// QoS asked for all of them.
    pub subscription_qos: Level,
    /// How fast devices arrive.
    pub connect: ConnectPace,
    /// What a device does when it was refused or cut.
    pub reconnect: Reconnect,
    /// Whether a device that was refused or cut tries the next target, as behind a name of several nodes of a cluster.
    #[serde(default)]
    pub next_target: bool,
    /// How devices acknowledge QoS 1 and 2.
    pub acknowledge: Acknowledge,
    /// What each device publishes, where it does.
    pub uplink: Option<Traffic>,
    /// What each device answers when it is asked, where it does.
    #[serde(default)]
    pub answer: Option<Answer>,
    /// What one more client publishes for all, once they are connected.
    pub broadcast: Option<Traffic>,
    /// Local addresses to connect from, device number k from address k modulo their count; one whose address changes
    /// takes the next. Empty: loopback targets get as many of 127.0.0.2, 127.0.0.3, ... as the number of devices asks,
    /// and four where addresses change; others the system's choice, and a new port where the address changes.
    pub source_addresses: Vec<IpAddr>,
    /// How many processes.
    pub processes: Processes,
    /// Loops (threads) a process.
    pub loops: usize,
    /// Processors to pin loops to, in turn; empty leaves it to the system.
    pub cpus: Vec<usize>,
    /// Ends the run this long after its start.
    pub duration_ms: Option<u64>,
    /// Ends the run this long after the last device was up, or gave up.
    pub hold_ms: Option<u64>,
    /// Begins a storm this long after the last device was up.
    pub storm_after_ms: Option<u64>,
    /// What a storm is.
    #[serde(default)]
    pub storm: StormShape,
    /// How devices behave.
    #[serde(default)]
    pub profiles: Mixture,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Where it listens.
    pub address: SocketAddr,
    /// The name in its certificate and in the Host header.
    pub host: String,
}

impl Target {
    /// A target known by its address alone.
    pub fn at(address: SocketAddr) -> Self {
        Target { address, host: address.ip().to_string() }
    }
}

/// What carries MQTT.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Plain TCP.
    Tcp,
    /// TLS 1.3 or 1.2.
    Tls(Tls),
    /// WebSocket with this path.
    Ws {
        /// Starts with a slash.
        path: String,
    },
    /// WebSocket over TLS.
    Wss {
        /// Starts with a slash.
        path: String,
        /// See [`Tls`].
        tls: Tls,
    },
}

/// TLS of the devices. Files are PEM, and read by each process of the swarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// Whom to believe.
    pub trust: Trust,
    /// The devices' certificate, where the broker asks for one.
    pub certificate: Option<Certificate>,
    /// Whether devices that come back shorten the handshake.
    pub resumption: Resumption,
}

/// Whom devices believe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Brokers whose certificate leads to one in this file.
    Authority(PathBuf),
    /// Anybody: for tests of one's own broker.
    Anybody,
}

/// A client certificate; all devices show the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The chain, leaf first.
    pub chain: PathBuf,
    /// The leaf's key.
    pub key: PathBuf,
}

/// Whether TLS sessions are resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resumption {
    /// As real devices do.
    On,
    /// Each connection pays for a full handshake.
    Off,
}

/// MQTT's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// 3.1.1
    #[serde(rename = "3.1.1")]
    V311,
    /// 5.0
    #[serde(rename = "5")]
    V5,
}

impl From<Protocol> for Version {
    fn from(protocol: Protocol) -> Version {
        match protocol {
            Protocol::V311 => Version::V311,
            Protocol::V5 => Version::V5,
        }
    }
}

/// Quality of service, as a number in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub struct Level(pub QoS);

impl From<Level> for u8 {
    fn from(level: Level) -> u8 {
        level.0 as u8
    }
}

impl TryFrom<u8> for Level {
    type Error = String;

    fn try_from(byte: u8) -> Result<Self, String> {
        QoS::from_byte(byte).map(Level).ok_or_else(|| format!("QoS {byte} does not exist; use 0, 1 or 2"))
    }
}

/// How devices identify themselves. Both are absent by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// User name.
    pub username: Option<Template>,
    /// Password, or a token.
    pub password: Option<Template>,
}

/// What the broker keeps of a device that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    /// Nothing: clean start each time.
    Clean,
    /// Subscriptions and messages, for `expiry_s` seconds in MQTT 5 and for as long as the broker likes in 3.1.1.
    Kept {
        /// Session Expiry Interval.
        expiry_s: u32,
    },
}

/// How fast devices arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConnectPace {
    /// Devices a second over the whole swarm, in an open model: a device's time is fixed beforehand, and latency
    /// counts from it, whether or not the swarm or the broker was ready. Zero: as fast as `in_flight_max` lets
    /// them, and latency counts from the actual beginning.
    pub per_second: f64,
    /// Devices of the whole swarm between their SYN and their SUBACK, at most.
    pub in_flight_max: u32,
    /// How long a device waits for its SUBACK before it gives the attempt up.
    pub timeout_ms: u64,
}

/// What a device does when it was refused or cut: waits, longer each time, never all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconnect {
    /// The first wait's upper end; half of it is its lower end.
    pub delay_min_ms: u64,
    /// The longest wait. A broker that names a time itself is obeyed instead.
    pub delay_max_ms: u64,
    /// Failures in a row after which a device gives up; zero for never.
    pub attempts_max: u16,
}

/// How devices acknowledge messages of QoS 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acknowledge {
    /// In the turn of the loop that received them.
    AtOnce,
    /// So long after, as a device would that thinks.
    After {
        /// The time, in milliseconds.
        ms: u64,
    },
    /// Not at all: shows what the broker does with its window full.
    Never,
}

/// What somebody publishes, in an open model: the times are fixed beforehand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Where to; devices' uplinks may use `{id}` and `{n}`.
    pub topic: Template,
    /// Between two messages, in microseconds.
    pub every_us: u64,
    /// Payload in bytes; never less than [`crate::stamp::STAMP_BYTES`].
    pub size: usize,
    /// QoS.
    pub qos: Level,
    /// How many; `None` until the end of the run.
    pub count: Option<u32>,
}

/// Answers of devices to a message that asks them: the herd. Each answer states where its own
/// answer goes and what it belongs to (Response Topic and Correlation Data of MQTT 5.0, section
/// 4.10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// A message asks if its payload holds this text.
    pub when: String,
    /// Where to; may use `{id}` and `{n}`.
    pub topic: Template,
    /// What: each device answers one of them, always the same one, shared out by its number.
    pub payloads: Vec<String>,
    /// Response Topic; may use `{id}` and `{n}`.
    pub respond_to: Template,
    /// QoS.
    pub qos: Level,
}

/// How many processes hold the devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processes {
    /// This one: for tests, and for callers with open files to spare.
    Here,
    /// So many workers.
    Workers(u32),
    /// As many workers as the open-file limit asks.
    Auto,
}

impl Default for SwarmConfig {
    fn default() -> Self {
        let template = |text: &str| text.parse().expect("the default templates are well formed");
        SwarmConfig {
            targets: vec![Target::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 1883)))],
            transport: Transport::Tcp,
            version: Protocol::V5,
            devices: 1_000,
            id_prefix: "swarm-".to_owned(),
            first_number: 1,
            credentials: Credentials::default(),
            session: Session::Clean,
            keep_alive_s: 60,
            subscriptions: vec![template("inbox/{id}"), template("channels/everybody")],
            subscription_qos: Level(QoS::AtLeastOnce),
            connect: ConnectPace { per_second: 1_000.0, in_flight_max: 1_000, timeout_ms: 10_000 },
            reconnect: Reconnect { delay_min_ms: 200, delay_max_ms: 30_000, attempts_max: 0 },
            next_target: false,
            acknowledge: Acknowledge::AtOnce,
            uplink: None,
            answer: None,
            broadcast: None,
            source_addresses: Vec::new(),
            processes: Processes::Auto,
            loops: 1,
            cpus: Vec::new(),
            duration_ms: None,
            hold_ms: None,
            storm_after_ms: None,
            storm: StormShape::default(),
            profiles: Mixture::default(),
        }
    }
}

impl SwarmConfig {
    /// Reports what is wrong with it, if anything is: before a socket is opened.
    ///
    /// # Errors
    /// [`Error::Config`] with the setting and what to do about it.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |text: String| Err(Error::Config(text));
        if self.targets.is_empty() {
            return refuse("there is no target; name at least one".to_owned());
        }
        if self.targets.len() > usize::from(u16::MAX) {
            return refuse(format!("{} targets; use at most 65,535", self.targets.len()));
        }
        if self.devices == 0 {
            return refuse("a swarm has at least one device".to_owned());
        }
        if self.first_number.checked_add(self.devices).is_none() {
            return refuse(format!(
                "device numbers run from {} over {} devices, which is more than 32 bits hold",
                self.first_number, self.devices
            ));
        }
        if self.connect.in_flight_max == 0 {
            return refuse("with no handshake in flight no device connects; allow at least 1".to_owned());
        }
        if !(0.0..=1e9).contains(&self.connect.per_second) {
            return refuse(format!("{} devices a second is not a rate", self.connect.per_second));
        }
        if self.connect.timeout_ms == 0 {
            return refuse("the connect timeout is zero; a device needs some time".to_owned());
        }
        if self.reconnect.delay_min_ms > self.reconnect.delay_max_ms {
            return refuse("the shortest reconnect delay is longer than the longest".to_owned());
        }
        if self.loops == 0 || self.loops > 256 {
            return refuse(format!("{} loops a process; use 1 to 256", self.loops));
        }
        if self.processes == Processes::Workers(0) {
            return refuse("zero worker processes; use at least 1".to_owned());
        }
        for source in &self.source_addresses {
            if self.targets.iter().any(|target| target.address.is_ipv4() != source.is_ipv4()) {
                return refuse(format!(
                    "source address {source} cannot reach every target: one of them is IPv4, the other IPv6"
                ));
            }
        }
        for (name, traffic) in [("uplink", &self.uplink), ("broadcast", &self.broadcast)] {
            let Some(traffic) = traffic else { continue };
            if traffic.every_us == 0 || traffic.every_us > TIME_MS_MAX * 1_000 {
                return refuse(format!(
                    "the {name} needs a time between messages above zero and below 30 days"
                ));
            }
            if traffic.size > MESSAGE_BYTES_MAX {
                return refuse(format!(
                    "{name} messages of {} bytes; use at most {MESSAGE_BYTES_MAX}",
                    traffic.size
                ));
            }
        }
        if let Some(answer) = &self.answer {
            if answer.when.is_empty() || answer.payloads.is_empty() {
                return refuse("an answer needs a text that asks for it, and something to say".to_owned());
            }
            if answer.payloads.iter().any(|payload| payload.len() > MESSAGE_BYTES_MAX) {
                return refuse(format!("answers have at most {MESSAGE_BYTES_MAX} bytes"));
            }
            if answer.qos.0 == QoS::ExactlyOnce {
                return refuse("answers go out at QoS 0 or 1".to_owned());
            }
        }
        self.storm.check().map_err(Error::Config)?;
        self.profiles.check().map_err(Error::Config)?;
        if self.broadcast.as_ref().is_some_and(|broadcast| !broadcast.topic.is_constant()) {
            return refuse("a broadcast goes to one topic: {id} and {n} mean nothing in it".to_owned());
        }
        let times = [
            Some(self.connect.timeout_ms),
            Some(self.reconnect.delay_max_ms),
            self.duration_ms,
            self.hold_ms,
            self.storm_after_ms,
        ];
        if times.into_iter().flatten().any(|ms| ms > TIME_MS_MAX) {
            return refuse("no time of a swarm is longer than 30 days".to_owned());
        }
        Ok(())
    }

    /// How many worker processes hold the devices; `None` for this process alone.
    pub fn workers(&self) -> Option<u32> {
        match self.processes {
            Processes::Here => None,
            Processes::Workers(count) => Some(count.min(self.devices.max(1))),
            Processes::Auto => Some(self.devices.div_ceil(devices_per_process())),
        }
    }

    /// Where devices connect from; empty for the system's choice.
    pub fn sources(&self) -> Vec<IpAddr> {
        if !self.source_addresses.is_empty() {
            return self.source_addresses.clone();
        }
        let loopback = self.targets.iter().all(|target| match target.address.ip() {
            IpAddr::V4(address) => address.is_loopback(),
            IpAddr::V6(_) => false,
        });
        // No more targets than 32 bits count: each took bytes of a configuration.
        let per_target = self.devices.div_ceil(u32::try_from(self.targets.len()).unwrap_or(u32::MAX));
        let least = if self.profiles.moves() { MOVING_SOURCES } else { 1 };
        let count = per_target.div_ceil(PORTS_PER_SOURCE).max(least);
        if !loopback || count == 1 {
            return Vec::new();
        }
        let first = u32::from(Ipv4Addr::new(127, 0, 0, 2));
        (0..count).map(|step| IpAddr::V4(Ipv4Addr::from(first + step))).collect()
    }
}

/// Devices that one process holds: what its limit of open files, raised as far as it goes, leaves.
pub fn devices_per_process() -> u32 {
    let limit = open_files();
    ((limit as f64 * OPEN_FILES_SHARE) as u32).clamp(1, 1_000_000)
}

/// Severed connections that one process keeps after their devices have left them.
pub(crate) fn left_per_process() -> usize {
    ((open_files() as f64 * LEFT_SHARE) as usize).clamp(1, 50_000)
}

/// The limit of open files, raised to the hard limit where it was lower.
fn open_files() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum.unwrap_or(u64::MAX),
        Err(_) => limit.current.unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_swarm_is_valid_and_survives_json() {
        let config = SwarmConfig::default();
        config.check().expect("the default is valid");
        let text = serde_json::to_string(&config).expect("a configuration is JSON");
        assert_eq!(serde_json::from_str::<SwarmConfig>(&text).expect("and comes back"), config);
    }

    #[test]
    fn many_devices_for_one_loopback_target_come_from_several_addresses() {
        let sources = |devices| SwarmConfig { devices, ..SwarmConfig::default() }.sources();
        assert_eq!(sources(12_000), Vec::<IpAddr>::new());
        assert_eq!(
            sources(12_001),
            ["127.0.0.2", "127.0.0.3"].map(|text| text.parse::<IpAddr>().expect("an address"))
        );
        assert_eq!(sources(100_000).len(), 9);
    }

    #[test]
    fn what_cannot_work_is_refused_before_it_starts() {
        type Spoil = fn(&mut SwarmConfig);
        let table: [(&str, Spoil); 7] = [
            ("no target", |config| config.targets.clear()),
            ("at least one device", |config| config.devices = 0),
            ("32 bits", |config| config.first_number = u32::MAX),
            ("in flight", |config| config.connect.in_flight_max = 0),
            ("not a rate", |config| config.connect.per_second = f64::NAN),
            ("something to say", |config| {
                config.answer = Some(Answer {
                    when: "now".to_owned(),
                    topic: "uplink/{id}".parse().expect("a template"),
                    payloads: Vec::new(),
                    respond_to: "inbox/{id}".parse().expect("a template"),
                    qos: Level(QoS::AtLeastOnce),
                });
            }),
            ("IPv6", |config| config.source_addresses = vec!["::1".parse().expect("an address")]),
        ];
        for (wanted, spoil) in table {
            let mut config = SwarmConfig::default();
            spoil(&mut config);
            let text = config.check().expect_err("it cannot work").to_string();
            assert!(text.contains(wanted), "{text:?} should have {wanted:?}");
        }
    }
}
