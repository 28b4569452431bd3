//! What an engine runs: a scenario after it was checked, with names turned into numbers.
//!
//! A session is a list of [`Op`]s with jumps; an op that sends something is a [`Step`] of the
//! program's one list, so that figures are counted by its number. Times are nanoseconds.

use crate::check::Check;
use crate::expression::Expression;
use crate::extract::Extract;
use crate::table::Table;
use crate::template::Template;
use crate::value::Value;

/// A checked scenario.
#[derive(Debug, Clone)]
pub struct Program {
    /// The scenario's name.
    pub name: String,
    /// What it is for, in a sentence; may be empty.
    pub description: String,
    /// The text that it was made from.
    pub text: String,
    /// What random numbers start from: two runs with one seed draw the same.
    pub seed: u64,
    /// Where requests go.
    pub targets: Vec<Target>,
    /// Data that sessions draw rows from.
    pub tables: Vec<Table>,
    /// Names of variables, by slot.
    pub variables: Vec<String>,
    /// Their first values, by slot.
    pub initial: Vec<Value>,
    /// Which of them are secrets, and where their values come from.
    pub secrets: Vec<Secret>,
    /// One after the other.
    pub phases: Vec<Phase>,
    /// What users do. At least one, or at least one fleet.
    pub sessions: Vec<Session>,
    /// All steps of all sessions that send something.
    pub steps: Vec<Step>,
    /// Thresholds: their texts, and the line in the scenario that each is on.
    pub thresholds: Vec<(String, u32)>,
    /// Swarms of MQTT devices that are there besides.
    pub fleets: Vec<Fleet>,
    /// The most users in a session at once, over all workers; those that are due beyond are counted and not begun.
    pub users_max: u64,
    /// How long users may take to finish when the last phase has ended.
    pub grace_ns: u64,
}

/// The number of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u16);

/// A variable whose value is not in the scenario and is never shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// Where its value is kept.
    pub slot: Slot,
    /// The environment variable that holds its value.
    pub env: Option<String>,
    /// The file that holds its value, as the scenario names it.
    pub file: Option<String>,
}

/// What a target speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// `http:`, and WebSocket and event streams on it.
    Http,
    /// `https:`, and WebSocket and event streams on it.
    Https,
    /// `mqtt:`
    Mqtt,
    /// `mqtts:`
    Mqtts,
    /// MQTT over WebSocket, `mqtt+ws:`
    MqttWs,
    /// MQTT over WebSocket over TLS, `mqtt+wss:`
    MqttWss,
    /// `rsocket:`
    Rsocket,
    /// `rsockets:` (over TLS)
    Rsockets,
    /// `tcp:`
    Tcp,
    /// `tls:`
    Tls,
}

impl Scheme {
    /// Whether TLS is spoken.
    pub fn is_secured(self) -> bool {
        matches!(self, Scheme::Https | Scheme::Mqtts | Scheme::MqttWss | Scheme::Rsockets | Scheme::Tls)
    }
}

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in the scenario.
    pub name: String,
    /// What it speaks.
    pub scheme: Scheme,
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The URL's path, put before every path of a step; may be empty; for MQTT over WebSocket the path itself.
    pub path: String,
    /// TLS, where the scheme has it.
    pub tls: Tls,
    /// The version of HTTP or MQTT.
    pub version: Version,
    /// Who uses which connection.
    pub connections: Connections,
    /// Time for a connection, TLS and upgrades included.
    pub connect_timeout_ns: u64,
    /// Whether users keep the cookies that answers set, each its own until its session is over, and send them again.
    pub cookies: bool,
    /// Headers of every request (HTTP, WebSocket, event streams).
    pub headers: Vec<(String, Template)>,
    /// Where its figures are published for Prometheus, a whole URL.
    pub metrics: Option<String>,
    /// Local addresses to connect from, in turn; empty leaves it to the system.
    pub source_addresses: Vec<std::net::IpAddr>,
}

/// TLS towards a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// A file with the authorities to believe (PEM).
    pub authority: Option<String>,
    /// Whether any certificate will do. Without it and without `authority` the system's authorities count.
    pub insecure: bool,
    /// Whether sessions are resumed; otherwise every connection is a full handshake.
    pub resumption: bool,
    /// The name to ask for and to verify; otherwise the host.
    pub server_name: Option<String>,
    /// Files with a certificate chain and a key of our own (PEM).
    pub identity: Option<(String, String)>,
}

/// The version of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// HTTP/1.1
    Http1,
    /// HTTP/2, by prior knowledge or over ALPN.
    Http2,
    /// MQTT 3.1.1
    Mqtt311,
    /// MQTT 5.0
    Mqtt5,
    /// The protocol has one only.
    Only,
}

/// Who uses which connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// Each user has one of its own, opened when it is first needed and closed with the session.
    PerUser,
    /// Users share so many on each loop; HTTP only.
    Shared(u32),
    /// Each request has one of its own.
    PerRequest,
}

/// A time of the run.
#[derive(Debug, Clone)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How long it is.
    pub duration_ns: u64,
    /// Who comes in it.
    pub arrivals: Arrivals,
    /// Whether its figures count; those of a warm-up are only drawn.
    pub measured: bool,
    /// Weights of the sessions, by their number.
    pub mix: Vec<f64>,
}

/// Who comes in a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// An open model: users come at their time, whatever became of those before.
    Open {
        /// Users a second at the phase's start.
        from: f64,
        /// Users a second at its end: the rate goes there in a straight line.
        to: f64,
        /// How far apart they come.
        spacing: Spacing,
    },
    /// A closed model: so many users; one that has finished its session begins anew.
    Closed {
        /// Users at the phase's start.
        from: f64,
        /// Users at its end.
        to: f64,
    },
    /// Nobody new; those that are there go on.
    None,
}

/// How far apart users come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Evenly.
    Constant,
    /// As a Poisson process: independent of each other, as people do.
    Poisson,
}

/// What a user does.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// Its program; the end of the list is the end of the session.
    pub ops: Vec<Op>,
}

/// One thing of a session.
#[derive(Debug, Clone)]
pub enum Op {
    /// Waits.
    Think(Pause),
    /// Gives a variable a value.
    Set {
        /// Which.
        slot: Slot,
        /// What.
        value: Expression,
    },
    /// Takes the next row of a table into its variables.
    Draw {
        /// Number of the table.
        table: usize,
    },
    /// Waits until so many nanoseconds after this op's last time, whatever was done between: a pace. It is when
    /// the next step is due, so that a target that stalls cannot slow it unseen.
    Pace(u64),
    /// Goes on at another op.
    Jump(u32),
    /// Goes back to an earlier op, unless the run is ending: then the session has come to its end (`repeat = "forever"`).
    Again(u32),
    /// Goes on at another op unless this is true.
    JumpUnless {
        /// What is asked.
        condition: Expression,
        /// Where to.
        to: u32,
    },
    /// Goes on at one of several ops, by weight.
    Choose(Vec<(f64, u32)>),
    /// Does step number so many of the program.
    Step(u32),
    /// Ends the session here, well or not.
    End {
        /// Whether it counts as failed.
        failed: bool,
    },
}

/// How long a user waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pause {
    /// Exactly so long.
    Constant(u64),
    /// Anything between the two.
    Uniform(u64, u64),
    /// Exponentially distributed, with this mean; at most ten times it.
    Exponential(u64),
    /// Normally distributed: mean and standard deviation; never below zero.
    Normal(u64, u64),
}

impl Pause {
    /// Draws one, in nanoseconds.
    pub fn sample(&self, random: &mut fastrand::Rng) -> u64 {
        match *self {
            Pause::Constant(ns) => ns,
            Pause::Uniform(from, to) => random.u64(from.min(to)..=to.max(from)),
            Pause::Exponential(mean) => {
                // 1 - f64() lies in (0, 1], so its logarithm is finite.
                let drawn = -(1.0 - random.f64()).ln() * mean as f64;
                (drawn as u64).min(mean.saturating_mul(10))
            }
            Pause::Normal(mean, deviation) => {
                // Box and Muller; the conversion of a negative number saturates at zero.
                let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
                let angle = std::f64::consts::TAU * random.f64();
                (mean as f64 + radius * angle.cos() * deviation as f64) as u64
            }
        }
    }
}

/// Something that is sent, and measured.
#[derive(Debug, Clone)]
pub struct Step {
    /// Number of its session.
    pub session: usize,
    /// Its name, unique in its session.
    pub name: String,
    /// Number of its target.
    pub target: usize,
    /// What is done.
    pub action: Action,
    /// Time for it, from when it is sent to its answer's end.
    pub timeout_ns: u64,
    /// What is taken from the answer.
    pub extract: Vec<Extract>,
    /// What must be true of the answer.
    pub checks: Vec<Check>,
    /// Whether the session ends where it fails: no answer, a check that does not hold, a value that is not there.
    pub ends_session_on_failure: bool,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum Action {
    /// A request and its answer.
    Http(Http),
    /// An event stream: opened, and so many events awaited.
    Events {
        /// The request that opens it.
        request: Http,
        /// Events to wait for; the stream is closed then.
        count: u32,
    },
    /// A WebSocket.
    WebSocket(WebSocket),
    /// MQTT.
    Mqtt(Mqtt),
    /// RSocket.
    Rsocket(Rsocket),
    /// Bytes over TCP or TLS.
    Tcp(Tcp),
}

/// An HTTP request.
#[derive(Debug, Clone)]
pub struct Http {
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path and query, without the target's.
    pub path: Template,
    /// Headers besides Host and Content-Length. Those of the target are not in it.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Option<Template>,
}

/// Something over a user's WebSocket. The answer is the last message received.
#[derive(Debug, Clone)]
pub enum WebSocket {
    /// Opens it.
    Open {
        /// Path and query, without the target's.
        path: Template,
        /// Headers besides those of the upgrade.
        headers: Vec<(String, Template)>,
        /// Subprotocol to ask for.
        subprotocol: Option<String>,
    },
    /// Sends a message and waits for so many.
    Send {
        /// The message.
        payload: Template,
        /// Whether it is a binary message.
        binary: bool,
        /// Messages to wait for; zero for none.
        receive: u32,
    },
    /// Waits for so many messages.
    Receive {
        /// How many.
        count: u32,
    },
    /// Closes it.
    Close,
}

/// Something over a user's MQTT connection. The answer's body is the last payload received, its status the reason code.
#[derive(Debug, Clone)]
pub enum Mqtt {
    /// CONNECT to CONNACK.
    Connect {
        /// The client id; empty for one by the server.
        client_id: Template,
        /// User name and password.
        credentials: Option<(Template, Template)>,
        /// Clean start (MQTT 5), clean session (3.1.1).
        clean_start: bool,
        /// Keep-alive in seconds.
        keep_alive_s: u16,
        /// Session expiry interval in seconds (MQTT 5).
        session_expiry_s: u32,
    },
    /// SUBSCRIBE to SUBACK.
    Subscribe {
        /// Topic filters.
        filters: Vec<Template>,
        /// QoS asked for.
        qos: u8,
    },
    /// PUBLISH to its acknowledgement.
    Publish {
        /// The topic.
        topic: Template,
        /// The payload.
        payload: Template,
        /// QoS 0, 1 or 2.
        qos: u8,
        /// Whether it is retained.
        retain: bool,
        /// Whether a stamp is put before the payload, so that receivers count loss, duplicates and order.
        stamped: bool,
    },
    /// Waits for so many messages.
    Receive {
        /// How many.
        count: u32,
    },
    /// DISCONNECT.
    Disconnect,
}

/// Something over a user's RSocket connection, which is set up when it is first needed.
#[derive(Debug, Clone)]
pub struct Rsocket {
    /// Which interaction.
    pub interaction: Interaction,
    /// The route (composite metadata with routing).
    pub route: Template,
    /// The payload's data.
    pub data: Template,
    /// The data's MIME type, stated at the set-up.
    pub mime: String,
    /// For a stream: payloads to wait for before it is cancelled; `u32::MAX` for all.
    pub count: u32,
}

/// RSocket's ways to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interaction {
    /// One payload for one.
    RequestResponse,
    /// No answer.
    FireAndForget,
    /// Many payloads for one.
    RequestStream,
}

/// Something over a user's TCP or TLS connection, which is opened when it is first needed.
#[derive(Debug, Clone)]
pub enum Tcp {
    /// Opens it.
    Open,
    /// Sends bytes, and waits for an answer where one is described.
    Send {
        /// The bytes.
        payload: Template,
        /// How the answer ends; `None` where there is none.
        until: Option<Until>,
    },
    /// Waits for bytes.
    Receive {
        /// How they end.
        until: Until,
    },
    /// Closes it.
    Close,
}

/// How an answer of bytes ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Until {
    /// After so many bytes.
    Bytes(u64),
    /// With these bytes.
    Delimiter(Vec<u8>),
    /// With the connection.
    End,
}

/// A swarm of MQTT devices beside the sessions.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// Its name.
    pub name: String,
    /// Number of its target.
    pub target: usize,
    /// How many devices.
    pub devices: u32,
    /// Devices that arrive in a second.
    pub connects_per_second: f64,
    /// When they begin to arrive, from the run's start.
    pub start_ns: u64,
    /// The id: this and a number.
    pub id_prefix: String,
    /// What each subscribes to: `{id}`, `{number}` are filled in.
    pub subscriptions: Vec<String>,
    /// QoS of the subscriptions.
    pub qos: u8,
    /// MQTT keep-alive in seconds.
    pub keep_alive_s: u16,
    /// User name and password, `{id}` and `{number}` filled in.
    pub credentials: Option<(String, String)>,
    /// Name of the device profile: `steady`, `phone`, `sleepy`, `carrier`, `commuter`, `background`.
    pub profile: String,
    /// Processes that hold them; zero for as many as open files ask.
    pub processes: u32,
    /// A message to all, so often, where there is one: messages a second, topic, payload bytes, QoS.
    pub broadcast: Option<Traffic>,
    /// What each device publishes, where it does.
    pub uplink: Option<Traffic>,
    /// Cuts all devices at once, so long after the start.
    pub storm_ns: Option<u64>,
}

/// Messages of a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Messages a second: of the broadcaster, or of each device.
    pub rate: f64,
    /// The topic; for uplinks `{id}` and `{number}` are filled in.
    pub topic: String,
    /// Bytes of the payload.
    pub bytes: u32,
    /// QoS 0, 1 or 2.
    pub qos: u8,
}

#[cfg(test)]
mod tests {
    use super::Pause;

    #[test]
    fn pauses_have_their_mean_and_bounds() {
        let mut random = fastrand::Rng::with_seed(11);
        for (pause, mean, bounds) in [
            (Pause::Constant(500), 500.0, 500..=500),
            (Pause::Uniform(100, 300), 200.0, 100..=300),
            (Pause::Uniform(300, 100), 200.0, 100..=300),
            (Pause::Exponential(1_000), 1_000.0, 0..=10_000),
            (Pause::Normal(1_000, 100), 1_000.0, 0..=2_000),
        ] {
            let mut sum = 0;
            for _ in 0..20_000 {
                let drawn = pause.sample(&mut random);
                assert!(bounds.contains(&drawn), "{pause:?} drew {drawn}");
                sum += drawn;
            }
            let drawn = sum as f64 / 20_000.0;
            assert!((drawn - mean).abs() <= mean * 0.03, "{pause:?} has mean {drawn}");
        }
    }
}
