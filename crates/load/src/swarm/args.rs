//! The flags of `stadium load swarm`, and how they become a configuration.
//!
//! Every flag's help is its documentation. A target may be written as an address (`127.0.0.1:1883`)
//! or a URL (`mqtt://`, `mqtts://`, `ws://`, `wss://`), whose scheme then gives the transport.

use std::net::{IpAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::ValueEnum;

use super::config::{
    Acknowledge, Certificate, ConnectPace, Credentials, Level, Processes, Protocol, Reconnect, Resumption,
    Session, SwarmConfig, Target, Tls, Traffic, Transport, Trust,
};
use super::profile::flags::ProfileArgs;
use super::storm::StormArgs;
use super::template::Template;
use super::time::{microseconds, milliseconds};
use crate::error::Error;

/// Session Expiry Interval of a swarm with profiles whose devices leave: an hour.
const LEAVERS_EXPIRY_S: u32 = 3_600;

/// Connect simulated MQTT devices to a broker, hold them, and measure
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Devices arrive at --rate, subscribe, and stay until --duration or --hold is over, or Ctrl-C. Latency counts from the
time a device or message was meant for, whether or not the broker was ready then. Each process holds as many devices
as its limit of open files allows; more processes start by themselves.

Profiles have devices behave as phones do (--profile, repeatable as NAME=WEIGHT; --profile-file for your own):
  steady      always there, as devices are without a profile
  phone       a mixture: 40% sleepy, 20% carrier, 10% commuter, 20% background, 10% steady
  sleepy      the radio sleeps 5 to 60 s after 10 s without traffic
  carrier     streams idle for 4 to 6 minutes are forgotten, without FIN; keep-alive 3 to 10 minutes
  commuter    the address changes every 5 minutes or so; the radio sleeps 2 to 20 s after 15 s
  background  3 minutes in the foreground, 10 away; half of the times without DISCONNECT
Where devices leave, sessions are kept for an hour, or for --session-expiry. --profile-speed 60 makes minutes seconds.

Examples:
  stadium load swarm --devices 10000 --rate 5000 --hold 30s
  stadium load swarm --devices 10000 --broadcast channels/everybody --broadcast-every 1s --hold 1m
  stadium load swarm --devices 10000 --storm 5s --hold 20s
  stadium load swarm --devices 10000 --profile phone --profile-speed 10 --uplink-every 10s --hold 5m
  stadium load swarm --devices 10000 --storm 5s --storm-share 0.3 --storm-every 30s --storm-over 2s --hold 2m
  stadium load swarm --target mqtts://broker:8883 --ca ca.pem --uplink-every 10s")]
pub struct Args {
    /// Broker, as HOST:PORT or URL; give several to spread devices over them
    #[arg(long = "target", value_name = "HOST:PORT|URL", default_value = "127.0.0.1:1883", num_args = 1..)]
    targets: Vec<String>,
    /// What carries MQTT, where the target is no URL
    #[arg(long, value_enum, default_value = "tcp")]
    transport: TransportName,
    /// Path of the WebSocket, where the target is no URL
    #[arg(long, value_name = "PATH", default_value = "/mqtt")]
    ws_path: String,
    /// Version of MQTT
    #[arg(long, value_enum, default_value = "5")]
    mqtt: ProtocolName,

    /// Devices
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1_000)]
    devices: u32,
    /// A device's id is this, followed by its number
    #[arg(long, value_name = "TEXT", default_value = "swarm-")]
    id_prefix: String,
    /// Number of the first device
    #[arg(long, value_name = "N", default_value_t = 1)]
    first: u32,
    // clap would break the line at the other placeholder's own spelling.
    /// User name; {id} stands for the device's id, an n in braces for its number
    #[arg(long, value_name = "TEXT")]
    username: Option<Template>,
    /// Password; the same stand for the same
    #[arg(long, value_name = "TEXT", conflicts_with = "token_file")]
    password: Option<Template>,
    /// File with a token that every device shows as its password
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Believe brokers whose certificate leads to one in this PEM file
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Believe any certificate: for tests of your own broker
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// PEM file with the devices' certificate
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// PEM file with its key
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Whether devices that come back resume their TLS session
    #[arg(long, value_enum, default_value = "on")]
    tls_resumption: Switch,
    /// Keep-alive in seconds; 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    keep_alive: u16,
    /// Have the broker keep sessions for so long (`s`, `m`, `h`); without it each start is clean
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    session_expiry: Option<u64>,

    /// Topic filter to subscribe to; repeat it for several, `--subscribe ''` for none
    #[arg(long, value_name = "FILTER", default_values = ["inbox/{id}", "channels/everybody"])]
    subscribe: Vec<Template>,
    /// QoS of the subscriptions
    #[arg(long, value_name = "0|1|2", default_value = "1", value_parser = level)]
    qos: Level,
    /// How QoS 1 and 2 are acknowledged: `now`, `never`, or a time to think such as `200ms`
    #[arg(long, value_name = "HOW", default_value = "now", value_parser = acknowledge)]
    ack: Acknowledge,

    /// Devices that arrive in a second; 0 for as fast as --in-flight lets them
    #[arg(long, value_name = "N", default_value_t = 1_000.0)]
    rate: f64,
    /// Handshakes under way at once, at most
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    in_flight: u32,
    /// Time that a device gives the broker from SYN to SUBACK
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = milliseconds)]
    connect_timeout: u64,
    /// First wait before a reconnect; it doubles with each failure
    #[arg(long, value_name = "TIME", default_value = "200ms", value_parser = milliseconds)]
    reconnect_min: u64,
    /// Longest wait before a reconnect
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = milliseconds)]
    reconnect_max: u64,
    /// Failures in a row after which a device gives up; 0 for never
    #[arg(long, value_name = "N", default_value_t = 0)]
    attempts: u16,
    /// A device that was refused or cut tries the next target
    #[arg(long)]
    next_target: bool,

    /// Each device publishes this often
    #[arg(long, value_name = "TIME", value_parser = microseconds)]
    uplink_every: Option<u64>,
    /// Where to
    #[arg(long, value_name = "TOPIC", default_value = "uplink/{id}/swarm")]
    uplink_topic: Template,
    /// Payload of an uplink, in bytes; at least 40
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    uplink_size: usize,
    /// QoS of uplinks
    #[arg(long, value_name = "0|1|2", default_value = "1", value_parser = level)]
    uplink_qos: Level,
    /// One more client publishes to this topic once all devices are up
    #[arg(long, value_name = "TOPIC")]
    broadcast: Option<Template>,
    /// How often
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = microseconds)]
    broadcast_every: u64,
    /// How many times; without it until the end
    #[arg(long, value_name = "N")]
    broadcast_count: Option<u32>,
    /// Payload of a broadcast, in bytes; at least 40
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    broadcast_size: usize,
    /// QoS of broadcasts
    #[arg(long, value_name = "0|1|2", default_value = "0", value_parser = level)]
    broadcast_qos: Level,
    #[command(flatten)]
    storm: StormArgs,
    #[command(flatten)]
    profiles: ProfileArgs,

    /// End so long after the start
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    duration: Option<u64>,
    /// End so long after all devices were up
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    hold: Option<u64>,
    /// Processes; without it as many as the limit of open files asks
    #[arg(long, value_name = "N")]
    processes: Option<u32>,
    /// Loops (threads) a process
    #[arg(long, value_name = "N", default_value_t = 1)]
    loops: usize,
    /// Processors to pin loops to, in turn
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    cpus: Vec<usize>,
    /// Local addresses to connect from; without it more of 127.0.0.0/8 are used as ports run out
    #[arg(long, value_name = "IP,...", value_delimiter = ',')]
    source: Vec<IpAddr>,
}

/// `--transport`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum TransportName {
    /// Plain TCP
    Tcp,
    /// TLS
    Tls,
    /// WebSocket
    Ws,
    /// WebSocket over TLS
    Wss,
}

/// `--mqtt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProtocolName {
    /// MQTT 3.1.1
    #[value(name = "3.1.1")]
    V311,
    /// MQTT 5.0
    #[value(name = "5")]
    V5,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

impl Args {
    /// The configuration that the flags ask for, with targets' names resolved and checked.
    ///
    /// # Errors
    /// [`Error::Config`] where flags contradict each other or a name has no address.
    pub fn config(&self) -> Result<SwarmConfig, Error> {
        let mut transport = self.transport;
        let mut path = self.ws_path.clone();
        let mut targets = Vec::with_capacity(self.targets.len());
        for (at, text) in self.targets.iter().enumerate() {
            let (named, rest) = scheme(text)?;
            let (authority, own_path) = match rest.find('/') {
                Some(slash) => (&rest[..slash], Some(&rest[slash..])),
                None => (rest, None),
            };
            if let Some(named) = named {
                if at > 0 && named != transport {
                    return Err(Error::Config("all targets must have the same scheme".to_owned()));
                }
                transport = named;
            }
            if let Some(own_path) = own_path.filter(|path| *path != "/") {
                path = own_path.to_owned();
            }
            targets.push(resolve(authority, transport)?);
        }
        let token = match &self.token_file {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(Error::system(format!("reading {}", path.display())))?;
                let token = text
                    .trim()
                    .parse()
                    .map_err(|error| Error::Config(format!("{}: {error}", path.display())))?;
                Some(token)
            }
        };
        let profiles = self.profiles.mixture()?;
        let config = SwarmConfig {
            targets,
            transport: self.transport(transport, path)?,
            version: match self.mqtt {
                ProtocolName::V311 => Protocol::V311,
                ProtocolName::V5 => Protocol::V5,
            },
            devices: self.devices,
            id_prefix: self.id_prefix.clone(),
            first_number: self.first,
            credentials: Credentials {
                // MQTT 3.1.1 has no password without a user name [MQTT-3.1.2-22].
                username: self.username.clone().or_else(|| {
                    let wanted = token.is_some() || self.password.is_some();
                    wanted.then(|| "{id}".parse().expect("{id} is a placeholder"))
                }),
                password: token.or_else(|| self.password.clone()),
            },
            session: match self.session_expiry {
                // Who leaves wants to find what it missed.
                None if profiles.leaves() => Session::Kept { expiry_s: LEAVERS_EXPIRY_S },
                None => Session::Clean,
                Some(ms) => Session::Kept { expiry_s: u32::try_from(ms / 1_000).unwrap_or(u32::MAX) },
            },
            keep_alive_s: self.keep_alive,
            subscriptions: self
                .subscribe
                .iter()
                .filter(|template| !template.to_string().is_empty())
                .cloned()
                .collect(),
            subscription_qos: self.qos,
            connect: ConnectPace {
                per_second: self.rate,
                in_flight_max: self.in_flight,
                timeout_ms: self.connect_timeout,
            },
            reconnect: Reconnect {
                delay_min_ms: self.reconnect_min,
                delay_max_ms: self.reconnect_max,
                attempts_max: self.attempts,
            },
            next_target: self.next_target,
            acknowledge: self.ack,
            uplink: self.uplink_every.map(|every_us| Traffic {
                topic: self.uplink_topic.clone(),
                every_us,
                size: self.uplink_size,
                qos: self.uplink_qos,
                count: None,
            }),
            answer: None,
            broadcast: self.broadcast.clone().map(|topic| Traffic {
                topic,
                every_us: self.broadcast_every,
                size: self.broadcast_size,
                qos: self.broadcast_qos,
                count: self.broadcast_count,
            }),
            source_addresses: self.source.clone(),
            processes: self.processes.map_or(Processes::Auto, Processes::Workers),
            loops: self.loops,
            cpus: self.cpus.clone(),
            duration_ms: self.duration,
            hold_ms: self.hold,
            storm_after_ms: self.storm.after_ms,
            storm: self.storm.shape(),
            profiles,
        };
        config.check()?;
        Ok(config)
    }

    fn transport(&self, name: TransportName, path: String) -> Result<Transport, Error> {
        let tls = || {
            let trust = match (&self.ca, self.insecure) {
                (Some(path), _) => Trust::Authority(path.clone()),
                (None, true) => Trust::Anybody,
                (None, false) => {
                    return Err(Error::Config(
                        "TLS needs --ca FILE to know whom to believe, or --insecure to believe anybody"
                            .to_owned(),
                    ));
                }
            };
            let certificate = match (&self.cert, &self.key) {
                (Some(chain), Some(key)) => Some(Certificate { chain: chain.clone(), key: key.clone() }),
                _ => None,
            };
            let resumption = match self.tls_resumption {
                Switch::On => Resumption::On,
                Switch::Off => Resumption::Off,
            };
            Ok(Tls { trust, certificate, resumption })
        };
        Ok(match name {
            TransportName::Tcp => Transport::Tcp,
            TransportName::Tls => Transport::Tls(tls()?),
            TransportName::Ws => Transport::Ws { path },
            TransportName::Wss => Transport::Wss { path, tls: tls()? },
        })
    }
}

fn scheme(text: &str) -> Result<(Option<TransportName>, &str), Error> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok((None, text)) };
    let transport = match scheme {
        "mqtt" | "tcp" => TransportName::Tcp,
        "mqtts" | "tls" | "ssl" => TransportName::Tls,
        "ws" => TransportName::Ws,
        "wss" => TransportName::Wss,
        other => {
            return Err(Error::Config(format!(
                "target {text:?}: no scheme {other:?}; use mqtt, mqtts, ws or wss"
            )));
        }
    };
    Ok((Some(transport), rest))
}

fn resolve(authority: &str, transport: TransportName) -> Result<Target, Error> {
    let port = match transport {
        TransportName::Tcp => 1883,
        TransportName::Tls => 8883,
        TransportName::Ws => 80,
        TransportName::Wss => 443,
    };
    let with_port = authority
        .rsplit_once(':')
        .filter(|(host, port)| port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']')));
    let (host, port) = match with_port {
        Some((host, text)) => (host, text.parse().unwrap_or(port)),
        None => (authority, port),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = (host, port)
        .to_socket_addrs()
        .map_err(Error::system(format!("resolving the target {host:?}")))?
        .next()
        .ok_or_else(|| Error::Config(format!("target {host:?} has no address")))?;
    Ok(Target { address, host: host.to_owned() })
}

fn level(text: &str) -> Result<Level, String> {
    let byte: u8 = text.parse().map_err(|_| "use 0, 1 or 2".to_owned())?;
    Level::try_from(byte)
}

fn acknowledge(text: &str) -> Result<Acknowledge, String> {
    match text {
        "now" => Ok(Acknowledge::AtOnce),
        "never" => Ok(Acknowledge::Never),
        time => milliseconds(time).map(|ms| Acknowledge::After { ms }),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::swarm::profile::preset;
    use crate::swarm::storm::{Back, StormShape};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn config(flags: &str) -> Result<SwarmConfig, Error> {
        let words = std::iter::once("swarm").chain(flags.split_whitespace());
        Line::try_parse_from(words).expect("the flags parse").args.config()
    }

    #[test]
    fn flags_are_consistent_and_the_default_is_the_default() {
        Line::command().debug_assert();
        assert_eq!(config("").expect("the default is valid"), SwarmConfig::default());
    }

    #[test]
    fn flags_become_the_configuration() {
        let config = config(
            "--devices 10000 --target 127.0.0.1:1884 --rate 5000 --subscribe a/{n} --subscribe b --qos 0 \
             --mqtt 3.1.1 --session-expiry 1h --ack 20ms --uplink-every 2s --broadcast c --broadcast-every 500us \
             --storm 5s --hold 1.5m --cpus 0,1 --source 127.0.0.2,127.0.0.3 --processes 3",
        )
        .expect("the flags are valid");
        assert_eq!(config.targets, [Target::at(([127, 0, 0, 1], 1884).into())]);
        assert_eq!((config.devices, config.connect.per_second), (10_000, 5_000.0));
        assert_eq!(config.subscriptions.len(), 2);
        assert_eq!(config.version, Protocol::V311);
        assert_eq!(config.session, Session::Kept { expiry_s: 3_600 });
        assert_eq!(config.acknowledge, Acknowledge::After { ms: 20 });
        assert_eq!(config.uplink.map(|uplink| uplink.every_us), Some(2_000_000));
        assert_eq!(config.broadcast.map(|broadcast| broadcast.every_us), Some(500));
        assert_eq!((config.storm_after_ms, config.hold_ms), (Some(5_000), Some(90_000)));
        assert_eq!((config.cpus.len(), config.source_addresses.len()), (2, 2));
        assert_eq!(config.processes, Processes::Workers(3));
    }

    #[test]
    fn who_leaves_finds_what_it_missed() {
        let session = |flags| config(flags).expect("the flags are valid").session;
        assert_eq!(session("--profile sleepy"), Session::Clean);
        assert_eq!(session("--profile sleepy --profile carrier"), Session::Kept { expiry_s: 3_600 });
        assert_eq!(session("--profile carrier --session-expiry 1m"), Session::Kept { expiry_s: 60 });
        let commuters = config("--profile commuter").expect("the flags are valid");
        assert_eq!(commuters.sources().len(), 4, "addresses to move between");
    }

    #[test]
    fn help_describes_each_profile() {
        let help = Line::command().render_long_help().to_string();
        for (name, wanted) in preset::PRESETS {
            let row = format!("  {name:<12}{wanted}");
            assert!(help.contains(&row), "{row:?} is not in\n{help}");
        }
    }

    #[test]
    fn a_storm_has_a_shape() {
        let storm = config("--storm 1s --storm-share 0.3 --storm-every 10s --storm-over 2s --storm-backoff")
            .expect("the flags are valid")
            .storm;
        let expected = StormShape { share: 0.3, every_ms: Some(10_000), over_ms: 2_000, back: Back::Later };
        assert_eq!(storm, expected);
        assert!(config("--storm 1s --storm-share 1.3").is_err());
        assert!(config("--storm 1s --storm-every 1s --storm-over 2s").is_err());
    }

    #[test]
    fn a_url_gives_the_transport() {
        let ws = config("--target ws://127.0.0.1:8080/fleet").expect("a valid target");
        assert_eq!(ws.transport, Transport::Ws { path: "/fleet".to_owned() });
        let tls = config("--target mqtts://localhost --insecure").expect("a valid target");
        assert!(matches!(tls.transport, Transport::Tls(_)));
        assert_eq!((tls.targets[0].address.port(), tls.targets[0].host.as_str()), (8883, "localhost"));
        let six = config("--target [::1]:1883").expect("a valid target");
        assert_eq!(six.targets[0].address.to_string(), "[::1]:1883");
        for (flags, wanted) in [
            ("--target mqtts://localhost", "--insecure"),
            ("--target ftp://localhost", "ftp"),
            ("--devices 0", "at least one device"),
        ] {
            let text = config(flags).expect_err("it cannot work").to_string();
            assert!(text.contains(wanted), "{flags}: {text}");
        }
    }
}
