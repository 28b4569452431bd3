//! Real brokers of Kafka, on loopback ports unless another address is given: killed, stopped, started again.
//!
//! The jars come from Maven Central once, into `~/.cache/stadium-kafka/VERSION`. Each broker is a
//! controller too (KRaft), with the data of one folder that goes with the value. No broker outlives
//! the process that started it, however that ends: see [`Broker::launch`].

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::deadline::until;
use crate::ports;
use crate::process::{Process, Signal};

/// Kafka's version, unless `STADIUM_KAFKA_VERSION` sets another.
const VERSION: &str = "4.1.0";

/// How long a broker may take to start, on a machine that builds beside it.
const STARTS_WITHIN: Duration = Duration::from_secs(120);

/// How a client may connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listener {
    /// Neither TLS nor SASL.
    Plain,
    /// TLS with a client certificate. The broker's is for another name.
    Tls,
    /// SASL without TLS.
    Sasl,
    /// SASL over TLS, without a client certificate.
    SaslTls,
}

impl Listener {
    const SECURE: [Self; 3] = [Self::Tls, Self::Sasl, Self::SaslTls];

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Tls => "TLS",
            Self::Sasl => "SASL",
            Self::SaslTls => "SASLTLS",
        }
    }
}

/// A user who may do everything.
pub const USER: &str = "stadium";
/// A user who may do nothing.
pub const STRANGER: &str = "stranger";
/// The password of both.
pub const PASSWORD: &str = "opening night at 8";

/// A cluster of brokers.
#[derive(Debug)]
pub struct Kafka {
    folder: TempDir,
    libraries: PathBuf,
    brokers: Vec<Broker>,
    listeners: Vec<Listener>,
}

/// A broker, which may run.
#[derive(Debug)]
struct Broker {
    folder: PathBuf,
    /// Where it listens: one for each of the cluster's listeners.
    addresses: Vec<SocketAddr>,
    running: Option<Running>,
}

/// A broker's process.
#[derive(Debug)]
struct Running {
    /// Its shell, which ends the broker when our end of its input goes.
    shell: Child,
    process: Process,
}

impl Kafka {
    /// Starts brokers that are reached without TLS and SASL, and waits until they are ready.
    pub fn start(brokers: usize) -> Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), brokers)
    }

    /// The same at an address of this machine, or of the network namespace that the thread is in.
    pub fn start_at(address: IpAddr, brokers: usize) -> Result<Self> {
        Self::with(address, brokers, None)
    }

    /// Fetches what a start needs from the network, unless it is here: a network namespace may have
    /// no way to it.
    pub fn fetch() -> Result<()> {
        libraries().map(drop)
    }

    /// Starts one broker with all listeners. Its certificate is the authority's. SASL knows [`USER`]
    /// and [`STRANGER`] by PLAIN and SCRAM; the stranger, and who shows another certificate than
    /// that of CN=stadium, may do nothing.
    pub fn secure(authority: &Authority) -> Result<Self> {
        Self::with(Ipv4Addr::LOCALHOST.into(), 1, Some(authority))
    }

    fn with(address: IpAddr, count: usize, authority: Option<&Authority>) -> Result<Self> {
        let libraries = libraries()?;
        let folder = tempfile::Builder::new().prefix("stadium-kafka-").tempdir()?;
        let mut listeners = vec![Listener::Plain];
        if authority.is_some() {
            listeners.extend(Listener::SECURE);
        }
        let mut brokers = Vec::new();
        for number in 0..count {
            let folder = folder.path().join(number.to_string());
            fs::create_dir(&folder)?;
            let addresses: Result<_> = listeners.iter().map(|_| ports::free_at(address)).collect();
            brokers.push(Broker { folder, addresses: addresses?, running: None });
        }
        let mut kafka = Self { folder, libraries, brokers, listeners };
        kafka.configure(address, authority)?;
        kafka.format(authority.is_some())?;
        for broker in 0..count {
            kafka.begin(broker)?;
        }
        for broker in 0..count {
            kafka.wait(broker)?;
        }
        Ok(kafka)
    }

    /// Addresses of all brokers, for a client.
    pub fn bootstrap(&self, listener: Listener) -> Vec<String> {
        let at = self.listeners.iter().position(|known| *known == listener);
        let at = at.expect("a listener of this cluster");
        self.brokers.iter().map(|broker| broker.addresses[at].to_string()).collect()
    }

    /// The number of brokers.
    pub fn brokers(&self) -> usize {
        self.brokers.len()
    }

    /// Starts a broker that was killed, and waits until it is ready.
    pub fn up(&mut self, broker: usize) -> Result<()> {
        self.begin(broker)?;
        self.wait(broker)
    }

    /// Kills a broker with SIGKILL.
    pub fn kill(&mut self, broker: usize) -> Result<()> {
        let running = self.brokers[broker].running.take().context("the broker does not run")?;
        running.end()
    }

    /// Stops a broker with SIGSTOP: its connections stay open.
    pub fn pause(&self, broker: usize) -> Result<()> {
        self.process(broker)?.signal(Signal::STOP)
    }

    /// Lets a broker that was stopped go on.
    pub fn resume(&self, broker: usize) -> Result<()> {
        self.process(broker)?.signal(Signal::CONT)
    }

    /// Has all brokers run, whatever was done to them.
    pub fn revive(&mut self) -> Result<()> {
        for broker in 0..self.brokers() {
            match self.brokers[broker].running {
                Some(_) => self.resume(broker)?,
                None => self.begin(broker)?,
            }
        }
        (0..self.brokers()).try_for_each(|broker| self.wait(broker))
    }

    /// Runs a tool of Kafka's, with the address of the brokers, and returns its output.
    ///
    /// It takes a second or two: a JVM starts.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Result<String> {
        let bootstrap = self.bootstrap(Listener::Plain).join(",");
        let mut tool = self.java(&["-Xmx128m", "-XX:TieredStopAtLevel=1"], class);
        tool.args(["--bootstrap-server", &bootstrap]).args(arguments);
        output(&mut tool)
    }

    fn process(&self, broker: usize) -> Result<Process> {
        Ok(self.brokers[broker].running.as_ref().context("the broker does not run")?.process)
    }

    fn java(&self, options: &[&str], class: &str) -> Command {
        let mut java = Command::new("java");
        java.args(["-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto"]).args(options);
        java.arg(format!(
            "-Dlog4j2.configurationFile={}",
            self.folder.path().join("log4j2.properties").display()
        ));
        java.arg("-cp").arg(format!("{}/*", self.libraries.display())).arg(class);
        java
    }

    fn configure(&self, address: IpAddr, authority: Option<&Authority>) -> Result<()> {
        fs::write(self.folder.path().join("log4j2.properties"), LOGGING)?;
        let count = self.brokers.len();
        let controllers: Result<Vec<_>> = self.brokers.iter().map(|_| ports::free_at(address)).collect();
        let controllers = controllers?;
        let voters: Vec<_> =
            controllers.iter().enumerate().map(|(broker, at)| format!("{}@{at}", broker + 1)).collect();
        let (replicas, in_sync) = (count.min(3), count.min(2));
        for (number, broker) in self.brokers.iter().enumerate() {
            let listeners: Vec<_> = (self.listeners.iter().zip(&broker.addresses))
                .map(|(listener, address)| format!("{}://{address}", listener.name()))
                .collect();
            let listeners = listeners.join(",");
            let mut text = String::new();
            writeln!(text, "process.roles=broker,controller\nnode.id={}", number + 1)?;
            writeln!(text, "controller.quorum.voters={}", voters.join(","))?;
            writeln!(text, "listeners={listeners},CONTROLLER://{}", controllers[number])?;
            writeln!(text, "advertised.listeners={listeners}\nlog.dirs={}", broker.data().display())?;
            writeln!(text, "default.replication.factor={replicas}\nmin.insync.replicas={in_sync}")?;
            writeln!(text, "offsets.topic.replication.factor={replicas}")?;
            text.push_str(PROPERTIES);
            if let Some(authority) = authority {
                Self::secure_properties(authority, &mut text)?;
            }
            fs::write(broker.properties(), text)?;
        }
        Ok(())
    }

    fn secure_properties(authority: &Authority, text: &mut String) -> Result<()> {
        let other_name = authority.server_named("elsewhere.test")?;
        for (prefix, identity) in [("", authority.server()?), ("listener.name.tls.", other_name)] {
            let keystore = identity.key.with_extension("keystore");
            let text_of = |file: &Path| fs::read_to_string(file);
            fs::write(&keystore, text_of(&identity.key)? + &text_of(&identity.certificate)?)?;
            writeln!(text, "{prefix}ssl.keystore.type=PEM")?;
            writeln!(text, "{prefix}ssl.keystore.location={}", keystore.display())?;
        }
        writeln!(text, "ssl.truststore.type=PEM\nssl.truststore.location={}", authority.file().display())?;
        text.push_str(SECURE_PROPERTIES);
        for listener in ["sasl", "sasltls"] {
            let module = "org.apache.kafka.common.security";
            writeln!(
                text,
                "listener.name.{listener}.plain.sasl.jaas.config={module}.plain.PlainLoginModule required \
                 user_{USER}=\"{PASSWORD}\" user_{STRANGER}=\"{PASSWORD}\";"
            )?;
            for hash in ["256", "512"] {
                writeln!(
                    text,
                    "listener.name.{listener}.scram-sha-{hash}.sasl.jaas.config={module}.scram.ScramLoginModule \
                     required;"
                )?;
            }
        }
        Ok(())
    }

    /// Makes the brokers' data folders: the first by Kafka's tool, the others like it, which saves a
    /// JVM each.
    fn format(&self, has_users: bool) -> Result<()> {
        let first = &self.brokers[0];
        let mut tool = self.java(&["-Xmx128m", "-XX:TieredStopAtLevel=1"], "kafka.tools.StorageTool");
        tool.args(["format", "--cluster-id", &random_id()?, "--config"]).arg(first.properties());
        if has_users {
            for hash in ["256", "512"] {
                for user in [USER, STRANGER] {
                    let credentials = format!("SCRAM-SHA-{hash}=[name={user},password=\"{PASSWORD}\"]");
                    tool.arg("--add-scram").arg(credentials);
                }
            }
        }
        output(&mut tool)?;
        let meta = fs::read_to_string(first.data().join("meta.properties"))?;
        for (number, broker) in self.brokers.iter().enumerate().skip(1) {
            fs::create_dir(broker.data())?;
            fs::copy(first.data().join("bootstrap.checkpoint"), broker.data().join("bootstrap.checkpoint"))?;
            let mut own = String::new();
            for line in meta.lines() {
                match line.split_once('=') {
                    Some(("node.id", _)) => writeln!(own, "node.id={}", number + 1)?,
                    Some(("directory.id", _)) => writeln!(own, "directory.id={}", random_id()?)?,
                    _ => writeln!(own, "{line}")?,
                }
            }
            fs::write(broker.data().join("meta.properties"), own)?;
        }
        Ok(())
    }

    /// Starts a broker that was killed. A controller alone is never ready: more may have to begin.
    pub fn begin(&mut self, broker: usize) -> Result<()> {
        let mut java = self.java(&["-Xmx384m", "-Xms128m"], "kafka.Kafka");
        let broker = &mut self.brokers[broker];
        ensure!(broker.running.is_none(), "the broker runs already");
        java.arg(broker.properties());
        // The log of the start before would say that it is ready.
        match fs::remove_file(broker.log()) {
            Err(error) if error.kind() != ErrorKind::NotFound => bail!("cannot remove its log: {error}"),
            _ => {}
        }
        broker.running = Some(broker.launch(&java)?);
        Ok(())
    }

    /// Waits until a broker that was started is ready.
    pub fn wait(&mut self, broker: usize) -> Result<()> {
        let broker = &mut self.brokers[broker];
        let log = broker.log();
        let running = broker.running.as_mut().context("the broker was started")?;
        let process = PathBuf::from(format!("/proc/{}/stat", running.process.0));
        let started = until(STARTS_WITHIN, "a broker to start", || {
            let has_ended = match fs::read_to_string(&process) {
                Ok(stat) => stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" Z")),
                Err(_) => true,
            };
            if has_ended {
                return Ok(Some(false));
            }
            // The log is that of this start.
            let text = fs::read_to_string(&log).unwrap_or_default();
            Ok(text.contains("Kafka Server started").then_some(true))
        });
        match started.with_context(|| end_of(&log))? {
            true => Ok(()),
            false => bail!("a broker ended:\n{}", end_of(&log)),
        }
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for broker in &self.brokers {
                eprintln!("--- {}\n{}", broker.log().display(), end_of(&broker.log()));
            }
        }
        for running in self.brokers.iter_mut().filter_map(|broker| broker.running.take()) {
            // It may have ended already; there is nothing to do then.
            let _ = running.end();
        }
    }
}

impl Broker {
    fn properties(&self) -> PathBuf {
        self.folder.join("server.properties")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("out.log")
    }

    /// Starts the broker under a shell that kills it when its own input ends. We hold the other end
    /// of that pipe, so broker and data go with us even if we are killed or nobody drops the value.
    fn launch(&self, java: &Command) -> Result<Running> {
        const SCRIPT: &str = r#"exec 3<&0; "$@" </dev/null >"$BROKER_LOG" 2>&1 & echo $!; exec >&-
            read -r word <&3; kill -KILL $!; wait $! 2>/dev/null; [ "$word" = keep ] || rm -rf "$CLUSTER""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "broker"]).arg(java.get_program()).args(java.get_args());
        shell.env("BROKER_LOG", self.log()).env("LOG_DIR", &self.folder);
        shell.env("CLUSTER", self.folder.parent().context("a broker's folder is in the cluster's")?);
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().context("cannot start a shell")?;
        let mut line = String::new();
        BufReader::new(shell.stdout.take().context("its output is a pipe")?).read_line(&mut line)?;
        let process = Process(line.trim().parse().context("the broker's process id")?);
        Ok(Running { shell, process })
    }
}

impl Running {
    /// Kills the broker, whose data stay, and waits until it is gone.
    fn end(mut self) -> Result<()> {
        let mut stdin = self.shell.stdin.take().context("its input is a pipe")?;
        stdin.write_all(b"keep\n")?;
        drop(stdin);
        // It waits for the broker.
        self.shell.wait()?;
        Ok(())
    }
}

/// The end of a log.
fn end_of(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// An id as Kafka makes them: 16 random bytes.
fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    std::io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut bytes)?;
    // An id that began with a dash would be taken for an option.
    bytes[0] &= 0x7f;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| {
        format!("cannot start {}: install openjdk-17-jre-headless", command.get_program().display())
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("{command:?} failed: {text}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(text)
}

/// The folder of Kafka's jars, fetched if they are not there.
fn libraries() -> Result<PathBuf> {
    let version = std::env::var("STADIUM_KAFKA_VERSION").unwrap_or_else(|_| VERSION.into());
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    let cache = Path::new(&home).join(".cache/stadium-kafka");
    let folder = cache.join(&version);
    fs::create_dir_all(&cache)?;
    // One process fetches, others wait for it.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    if folder.join(".complete").exists() {
        return Ok(folder);
    }
    let project = tempfile::tempdir()?;
    let file = project.path().join("pom.xml");
    fs::write(&file, PROJECT.replace("KAFKA_VERSION", &version))?;
    let mut maven = Command::new("mvn");
    maven.args(["--quiet", "--batch-mode", "--file"]).arg(&file);
    maven.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
    maven.arg(format!("-DoutputDirectory={}", folder.display()));
    let status = maven.stdin(Stdio::null()).stdout(Stdio::null()).status();
    ensure!(
        status.context("cannot start mvn: install maven")?.success(),
        "mvn could not fetch Kafka {version}"
    );
    File::create(folder.join(".complete"))?;
    Ok(folder)
}

/// The project that Maven fetches for: the broker, its tools, and what they log with.
const PROJECT: &str = r"<project><modelVersion>4.0.0</modelVersion>
<groupId>stadium</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
<version>KAFKA_VERSION</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId>
<version>KAFKA_VERSION</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId>
<version>2.24.3</version></dependency>
</dependencies></project>
";

const LOGGING: &str = "rootLogger.level=warn
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
rootLogger.appenderRef.stdout.ref=stdout
appender.stdout.type=Console
appender.stdout.name=stdout
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=%d %p %c{1} %m%n
";

/// Short times, so that a failover takes about 3 s, and few threads. A broker whose session ends is out
/// of sync at once: the time for a replica that lags is longer, as a busy machine needs.
const PROPERTIES: &str = "controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,TLS:SSL,SASL:SASL_PLAINTEXT,SASLTLS:SASL_SSL
inter.broker.listener.name=PLAIN
num.network.threads=2
num.io.threads=4
num.recovery.threads.per.data.dir=1
auto.create.topics.enable=false
unclean.leader.election.enable=false
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
replica.lag.time.max.ms=10000
broker.session.timeout.ms=2500
broker.heartbeat.interval.ms=300
controller.quorum.election.timeout.ms=500
controller.quorum.fetch.timeout.ms=1000
controller.quorum.request.timeout.ms=1000
message.max.bytes=17825792
replica.fetch.max.bytes=17825792
";

const SECURE_PROPERTIES: &str = "listener.name.tls.ssl.client.auth=required
listener.name.sasl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasltls.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:stadium;User:CN=stadium
";
