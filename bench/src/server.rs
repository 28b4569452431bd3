//! The servers under measurement: how each is started, tuned so that none is held back by a default.
//!
//! For all: loopback, anonymous, no logging, no persistence, no limit on connections, queues wide enough
//! that nothing is dropped. Each has its folder under target/bench for configuration and data.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::allocations;
use crate::client::WireName;
use crate::figure::Contender;
use crate::newer_debian;
use crate::process::{Cores, Owned};
use crate::program::java_on;
use crate::rpc::peer::HEAP;
use crate::tls::Identity;

/// Time for a server to accept its first connection.
const START_MAX: Duration = Duration::from_secs(20);

/// A server of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The bare epoll loop, [`crate::bare`].
    Bare,
    /// This product.
    Stadium,
    /// Eclipse Mosquitto, the Debian package.
    Mosquitto,
    /// nats-server over its own protocol, the Debian package.
    Nats,
    /// nats-server over MQTT, with JetStream, which its QoS 1 needs.
    NatsMqtt,
    /// rumqttd, from crates.io.
    Rumqttd,
    /// mochi-mqtt, a Go module, with bench/peers/mochi/main.go.
    Mochi,
    /// HiveMQ Community Edition, from Maven Central, with bench/peers/hivemq.
    HiveMq,
}

impl Contender for Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare loop",
            Self::Stadium => "stadium",
            Self::Mosquitto => "mosquitto",
            Self::Nats => "nats-server",
            Self::NatsMqtt => "nats-server (MQTT)",
            Self::Rumqttd => "rumqttd",
            Self::Mochi => "mochi",
            Self::HiveMq => "hivemq",
        }
    }
}

impl Kind {
    /// What its clients speak.
    pub(crate) fn wire(self) -> WireName {
        match self {
            Self::Nats => WireName::Nats,
            _ => WireName::Mqtt,
        }
    }

    /// True for a virtual machine, which is slow until its code is compiled.
    pub(crate) fn warms_up(self) -> bool {
        self == Self::HiveMq
    }
}

/// Where things are.
pub(crate) struct Places {
    /// The workspace's target/.
    pub(crate) target: PathBuf,
    /// This binary.
    pub(crate) bench: PathBuf,
}

impl Places {
    /// Derived from where this binary lies: target/PROFILE.
    pub(crate) fn find() -> Result<Self> {
        let bench = std::env::current_exe()?;
        let target = bench.ancestors().nth(2).context("this binary does not lie in target/")?.to_path_buf();
        Ok(Self { target, bench })
    }

    /// The product's binary, built as this binary was.
    pub(crate) fn stadium(&self) -> PathBuf {
        self.bench.with_file_name("stadium")
    }

    /// The program of examples/voting, built as this binary was.
    pub(crate) fn voting(&self) -> PathBuf {
        self.bench.with_file_name("voting")
    }

    /// A program of the product's that only benches start: an example, built as this binary was.
    pub(crate) fn example(&self, name: &str) -> PathBuf {
        self.bench.with_file_name("examples").join(name)
    }

    /// The Java peers' jar and those it needs, as a class path.
    pub(crate) fn java_class_path(&self) -> String {
        self.class_path("java", "peers")
    }

    /// The class path of bench/peers/sdk/jvm, which the bench of the SDKs runs.
    pub(crate) fn sdk_class_path(&self) -> String {
        self.class_path("sdk-jvm", "bench")
    }

    /// The class path of bench/peers/memcache/java.
    pub(crate) fn memcache_class_path(&self) -> String {
        self.class_path("memcache-jvm", "bench")
    }

    /// The class path of bench/peers/hivemq.
    fn hivemq_class_path(&self) -> String {
        self.class_path("hivemq", "peer")
    }

    fn class_path(&self, folder: &str, jar: &str) -> String {
        let folder = self.target.join("peers").join(folder);
        format!("{}/{jar}.jar:{}/lib/*", folder.display(), folder.display())
    }

    /// A file of bench/peers.
    pub(crate) fn peers_source(&self, name: &str) -> PathBuf {
        self.target.with_file_name("bench").join("peers").join(name)
    }

    /// The peer on tonic.
    pub(crate) fn tonic(&self) -> PathBuf {
        self.target.join("peers/tonic/release/tonic-peer")
    }

    pub(crate) fn peer(&self, name: &str) -> PathBuf {
        self.target.join("peers/bin").join(name)
    }
}

/// What to start beyond the kind.
#[derive(Clone, Copy)]
pub(crate) struct Setup<'a> {
    /// Cores it may use.
    pub(crate) cores: Cores,
    /// Loops, for Stadium.
    pub(crate) loops: usize,
    /// Serve TLS with this identity instead of plain TCP.
    pub(crate) tls: Option<&'a Identity>,
    /// Preload this allocation counter.
    pub(crate) counter: Option<&'a Path>,
    /// The figure that a virtual machine's heap is set for.
    pub(crate) heap: Heap,
}

impl Setup<'_> {
    /// One core, plain TCP.
    pub(crate) fn one_core() -> Self {
        Self { cores: Cores::First, loops: 1, tls: None, counter: None, heap: Heap::ForRate }
    }
}

/// Settings of a virtual machine's heap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heap {
    /// A large young generation, so that collections are rare.
    ForRate,
    /// A small one, so that resident memory shows live objects. A large one would show garbage.
    ForMemory,
}

/// A running server; ends when dropped.
pub(crate) struct Server {
    process: Owned,
    /// Where devices connect.
    pub(crate) address: SocketAddr,
    /// Where Stadium serves HTTP.
    pub(crate) http: SocketAddr,
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// What its clients speak.
    pub(crate) wire: WireName,
    /// Where the allocation counter counts.
    pub(crate) allocations: Option<PathBuf>,
}

impl Server {
    /// Starts a server and waits until it accepts.
    pub(crate) fn start(kind: Kind, places: &Places, setup: &Setup<'_>) -> Result<Self> {
        let address = free_address()?;
        let http = free_address()?;
        let folder = places.target.join(format!("bench/{}-{}", slug(kind), address.port()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let start = Start { kind, places, setup, address, http, folder: &folder };
        let mut command = start.command()?;
        let log = fs::File::create(folder.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let allocations = setup.counter.map(|library| {
            let file = folder.join("allocations");
            command.env("LD_PRELOAD", library).env(allocations::FILE_VARIABLE, &file);
            file
        });
        let process = Owned::start(&mut command)?;
        let mut server = Self { process, address, http, folder, wire: kind.wire(), allocations };
        server.wait_until_it_accepts(kind)?;
        Ok(server)
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn wait_until_it_accepts(&mut self, kind: Kind) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_MAX && self.process.is_running() {
            if TcpStream::connect(self.address).is_ok() {
                // Give it the time to notice that the probe has gone.
                std::thread::sleep(Duration::from_millis(200));
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        bail!("{} does not accept at {}: {}", kind.name(), self.address, log.trim())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.stop();
        // A measurement of QoS 1 leaves hundreds of megabytes in JetStream's folder.
        for data in ["jetstream", "hivemq"] {
            let _ = fs::remove_dir_all(self.folder.join(data));
        }
    }
}

/// A server about to start.
struct Start<'a> {
    kind: Kind,
    places: &'a Places,
    setup: &'a Setup<'a>,
    address: SocketAddr,
    http: SocketAddr,
    folder: &'a Path,
}

impl Start<'_> {
    fn command(&self) -> Result<Command> {
        match self.kind {
            Kind::Bare => {
                let mut bare = self.run(&self.places.bench);
                bare.args(["bare", "--address", &self.address.to_string()]);
                Ok(bare)
            }
            Kind::Stadium => self.stadium(),
            Kind::Mosquitto => self.mosquitto(),
            Kind::Nats | Kind::NatsMqtt => self.nats(),
            Kind::Rumqttd => self.rumqttd(),
            Kind::Mochi => {
                let mut mochi = self.run(&self.places.peer("mochi"));
                mochi.arg(self.address.to_string());
                Ok(mochi)
            }
            Kind::HiveMq => self.hivemq(),
        }
    }

    fn run(&self, program: &Path) -> Command {
        self.setup.cores.command(program)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    fn stadium(&self) -> Result<Command> {
        let mut stadium = self.run(&self.places.stadium());
        stadium.args(["serve", "--trial", "--rpc", "off", "--loops", &self.setup.loops.to_string()]);
        stadium.args(["--http", &self.http.to_string(), "--data"]).arg(self.folder.join("data"));
        match self.setup.tls {
            None => _ = stadium.args(["--mqtt", &self.address.to_string()]),
            Some(identity) => {
                let (certificate, key) = identity.write(self.folder)?;
                stadium.args(["--mqtt", &free_address()?.to_string(), "--mqtts", &self.address.to_string()]);
                stadium.env("STADIUM_MQTTS__CERTIFICATE", certificate).env("STADIUM_MQTTS__KEY", key);
            }
        }
        Ok(stadium)
    }

    fn mosquitto(&self) -> Result<Command> {
        let mut text = format!(
            "listener {} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_dest none\nsys_interval 0\n\
             max_connections -1\nmax_inflight_messages 0\nmax_queued_messages 0\nset_tcp_nodelay true\n",
            self.address.port()
        );
        if let Some(identity) = self.setup.tls {
            let (certificate, key) = identity.write(self.folder)?;
            let tls = format!("certfile {}\nkeyfile {}\n", certificate.display(), key.display());
            text.insert_str(text.find("allow_anonymous").expect("just written"), &tls);
        }
        let config = self.write("mosquitto.conf", &text)?;
        let mut mosquitto = self.run(&newer_debian::program(self.places, newer_debian::MOSQUITTO));
        mosquitto.arg("-c").arg(config);
        Ok(mosquitto)
    }

    fn nats(&self) -> Result<Command> {
        let port = self.address.port();
        let limits = "max_connections: 1000000\nmax_pending: 1GB\nwrite_deadline: \"60s\"\nlogtime: false\n";
        let text = match self.kind {
            Kind::NatsMqtt => format!(
                "host: 127.0.0.1\nport: {}\nserver_name: bench\n{limits}\
                 jetstream {{ store_dir: \"{}\" }}\nmqtt {{ host: 127.0.0.1, port: {port}, max_ack_pending: 65535 }}\n",
                self.http.port(),
                self.folder.join("jetstream").display()
            ),
            _ => format!("host: 127.0.0.1\nport: {port}\n{limits}"),
        };
        let config = self.write("nats.conf", &text)?;
        let mut nats = self.run(&self.places.peer("nats-server"));
        nats.arg("-c").arg(config);
        Ok(nats)
    }

    fn rumqttd(&self) -> Result<Command> {
        let text = format!(
            "id = 0\n[router]\nid = 0\nmax_connections = 20010\nmax_outgoing_packet_count = 200\n\
             max_segment_size = 104857600\nmax_segment_count = 10\n\
             [v4.1]\nname = \"v4-1\"\nlisten = \"{}\"\nnext_connection_delay_ms = 0\n\
             [v4.1.connections]\nconnection_timeout_ms = 60000\nmax_payload_size = 20480\n\
             max_inflight_count = 500\ndynamic_filters = true\n",
            self.address
        );
        let config = self.write("rumqttd.toml", &text)?;
        let mut rumqttd = self.run(&self.places.peer("rumqttd"));
        rumqttd.arg("-c").arg(config);
        Ok(rumqttd)
    }

    /// In-memory persistence, as mosquitto has none on disk either. One event loop, because it has one
    /// core: Netty's default is two.
    fn hivemq(&self) -> Result<Command> {
        let config = format!(
            "<?xml version=\"1.0\"?>\n<hivemq>\n\
             <listeners><tcp-listener>\
             <port>{}</port><bind-address>{}</bind-address>\
             </tcp-listener></listeners>\n\
             <mqtt>\
             <queued-messages><max-queue-size>100000</max-queue-size></queued-messages>\
             <receive-maximum><server-receive-maximum>65535</server-receive-maximum></receive-maximum>\
             </mqtt>\n\
             <anonymous-usage-statistics><enabled>false</enabled></anonymous-usage-statistics>\n\
             <persistence><mode>in-memory</mode></persistence>\n\
             </hivemq>\n",
            self.address.port(),
            self.address.ip()
        );
        self.write("config.xml", &config)?;
        self.write("logback.xml", HIVEMQ_LOGS)?;
        let mut hivemq = java_on(self.setup.cores, HEAP, &self.places.hivemq_class_path());
        hivemq.arg("-Dio.netty.eventLoopThreads=1");
        if self.setup.heap == Heap::ForMemory {
            hivemq.args(["-Xms256m", "-Xmn32m"]);
        }
        hivemq.arg("stadium.peers.HiveMqBroker").arg(self.folder);
        Ok(hivemq)
    }
}

/// Errors alone, so that a server that does not start can be explained.
const HIVEMQ_LOGS: &str = "<configuration>
<appender name=\"CONSOLE\" class=\"ch.qos.logback.core.ConsoleAppender\">
<encoder><pattern>%level %msg%n%ex</pattern></encoder>
</appender>
<root level=\"ERROR\"><appender-ref ref=\"CONSOLE\"/></root>
</configuration>
";

fn slug(kind: Kind) -> String {
    kind.name().replace([' ', '(', ')'], "")
}

/// A free port of the loopback, below the range from which the clients' sockets take theirs.
///
/// A port of that range could be taken, between now and the server's bind, by one of thousands of client sockets.
pub(crate) fn free_address() -> Result<SocketAddr> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first: u16 = range.split_whitespace().next().and_then(|port| port.parse().ok()).unwrap_or(32_768);
    // Different processes of one machine start in different places.
    let start = 10_000 + u16::try_from(std::process::id() % 10_000).expect("below 10,000");
    static NEXT: std::sync::atomic::AtomicU16 = std::sync::atomic::AtomicU16::new(0);
    for _ in 0..1_000 {
        let port = start + NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if port < first && TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no free port below {first}")
}
