//! Kafka on this machine: where its jars are, and brokers that are killed and started again.
//!
//! Each broker is a controller too (KRaft), in a JVM of its own. All have a folder that the caller gives.
//! Their times are short, so that a failover takes about 3 s. They acknowledge before they sync, as Kafka does
//! by default.

use std::fmt::{self, Write as _};
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::{Context as _, Error, Result};
use crate::ports;
use crate::tied::Tied;

/// The version that is fetched.
const VERSION: &str = "4.1.0";

/// The listener that every broker has, without TLS and SASL.
pub const PLAIN: &str = "PLAIN";

/// Where Kafka's jars are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    version: String,
    libraries: PathBuf,
    /// The folder of all fetched versions, if this is one.
    cache: Option<PathBuf>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kafka {}", self.version)?;
        if self.cache.is_some() { f.write_str(", fetched with Maven") } else { Ok(()) }
    }
}

impl Source {
    /// The jars of a folder, if the broker's is among them.
    pub(crate) fn installed(libraries: &Path) -> Option<Self> {
        let version = fs::read_dir(libraries).ok()?.flatten().find_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            // `kafka_SCALA-VERSION.jar`
            let (_, version) = name.strip_prefix("kafka_")?.strip_suffix(".jar")?.split_once('-')?;
            // Beside it are its tests and sources, whose names have more behind the version.
            version.chars().all(|c| c.is_ascii_digit() || c == '.').then(|| version.to_owned())
        })?;
        Some(Self { version, libraries: libraries.to_owned(), cache: None })
    }

    /// The jars of a version that Maven fetches into `~/.cache/stadium-kafka`; `None` is 4.1.0.
    pub fn fetched(home: &Path, version: Option<String>) -> Self {
        let version = version.unwrap_or_else(|| VERSION.to_owned());
        let cache = home.join(".cache/stadium-kafka");
        Self { libraries: cache.join(&version), version, cache: Some(cache) }
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether nodes can work with it: Kafka 4.0 or newer.
    pub(crate) fn is_new_enough(&self) -> bool {
        let major = self.version.split('.').next().and_then(|major| major.parse().ok());
        major.is_some_and(|major: u32| major >= 4)
    }

    /// Whether nothing has to be fetched.
    pub fn is_here(&self) -> bool {
        self.cache.is_none() || self.libraries.join(".complete").exists()
    }

    /// The folder of the jars, fetched with Maven if they are not there: that takes a minute.
    ///
    /// # Errors
    /// Maven is not installed, or could not fetch them.
    pub fn libraries(&self) -> Result<&Path> {
        let Some(cache) = &self.cache else { return Ok(&self.libraries) };
        fs::create_dir_all(cache).context(cache.display())?;
        // One process fetches, others wait for it.
        let lock = File::create(cache.join("lock")).context(cache.display())?;
        lock.lock().context(cache.display())?;
        if self.is_here() {
            return Ok(&self.libraries);
        }
        let project = tempfile::tempdir().context("a temporary folder")?;
        let file = project.path().join("pom.xml");
        fs::write(&file, PROJECT.replace("KAFKA_VERSION", &self.version)).context(file.display())?;
        let mut maven = Command::new("mvn");
        maven.args(["--quiet", "--batch-mode", "--file"]).arg(&file);
        maven.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
        maven.arg(format!("-DoutputDirectory={}", self.libraries.display()));
        let run = maven.stdin(Stdio::null()).output().context("mvn cannot be started: install maven")?;
        if !run.status.success() {
            let text = String::from_utf8_lossy(&run.stdout);
            return Err(Error::new(format!("mvn could not fetch Kafka {}: {}", self.version, text.trim())));
        }
        File::create(self.libraries.join(".complete")).context(self.libraries.display())?;
        Ok(&self.libraries)
    }
}

/// The brokers that are wanted.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The address that they listen on.
    pub address: IpAddr,
    /// How many; at least one. Topics have three replicas of each partition, or as many as there are brokers.
    pub brokers: usize,
    /// Listeners beside [`PLAIN`].
    pub listeners: &'a [&'static str],
    /// Settings of each broker, which win over those that it has anyway.
    pub properties: &'a str,
    /// More arguments for the tool that makes the brokers' folders.
    pub format: &'a [String],
    /// More options for the JVM of each broker.
    pub jvm: &'static [&'static str],
}

impl Default for Plan<'_> {
    /// One broker on 127.0.0.1.
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            brokers: 1,
            listeners: &[],
            properties: "",
            format: &[],
            jvm: &[],
        }
    }
}

/// Brokers of one cluster. They end with the value; the folder stays.
#[derive(Debug)]
pub struct Brokers {
    folder: PathBuf,
    java: PathBuf,
    libraries: PathBuf,
    listeners: Vec<&'static str>,
    jvm: &'static [&'static str],
    brokers: Vec<Broker>,
}

/// A broker, which may run.
#[derive(Debug)]
struct Broker {
    folder: PathBuf,
    /// Where it listens: one for each of the listeners.
    addresses: Vec<SocketAddr>,
    process: Option<Tied>,
}

impl Brokers {
    /// Makes their folders inside of `folder`, and starts none. It takes a second: a JVM starts.
    ///
    /// # Errors
    /// Java, the ports or the files.
    pub fn prepare(java: &Path, libraries: &Path, folder: &Path, plan: &Plan<'_>) -> Result<Self> {
        let mut listeners = vec![PLAIN];
        listeners.extend(plan.listeners);
        let mut brokers = Vec::new();
        for number in 0..plan.brokers {
            let folder = folder.join(number.to_string());
            fs::create_dir_all(&folder).context(folder.display())?;
            let addresses = listeners.iter().map(|_| ports::free_at(plan.address));
            brokers.push(Broker { folder, addresses: addresses.collect::<Result<_>>()?, process: None });
        }
        let (folder, java, libraries) = (folder.to_owned(), java.to_owned(), libraries.to_owned());
        let brokers = Self { folder, java, libraries, listeners, jvm: plan.jvm, brokers };
        brokers.configure(plan)?;
        brokers.format(plan.format)?;
        Ok(brokers)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.brokers.len()
    }

    /// Addresses of all brokers' listeners of this name; none where there is no such listener.
    pub fn bootstrap(&self, listener: &str) -> Vec<String> {
        let at = self.listeners.iter().position(|known| *known == listener);
        at.map_or_else(Vec::new, |at| {
            self.brokers.iter().map(|broker| broker.addresses[at].to_string()).collect()
        })
    }

    /// Starts a broker, and does not wait. A controller alone is never ready: more may have to begin. The folder
    /// `doomed` goes if this process is killed, see [`Tied::start`].
    ///
    /// # Errors
    /// It runs already, or its log cannot be removed.
    pub fn begin(&mut self, broker: usize, doomed: &Path) -> Result<()> {
        let mut java = self.java(&[MEMORY, self.jvm].concat(), "kafka.Kafka");
        let broker = &mut self.brokers[broker];
        if broker.process.is_some() {
            return Err(Error::new("the broker runs already"));
        }
        java.arg(broker.properties()).env("LOG_DIR", &broker.folder);
        // The log of the start before would say that it is ready.
        match fs::remove_file(broker.log()) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::new(format!("{}: {error}", broker.log().display())));
            }
            _ => {}
        }
        broker.process = Some(Tied::start(&java, &broker.log(), doomed)?);
        Ok(())
    }

    /// Whether a broker that was begun is ready.
    ///
    /// # Errors
    /// It ended, with the end of its log; or it was not begun.
    pub fn is_ready(&self, broker: usize) -> Result<bool> {
        let broker = &self.brokers[broker];
        let process = broker.process.as_ref().ok_or_else(|| Error::new("the broker does not run"))?;
        if process.has_ended() {
            return Err(Error::new(format!("a broker of Kafka ended:\n{}", process.log())));
        }
        let log = fs::read_to_string(broker.log()).unwrap_or_default();
        Ok(log.contains("Kafka Server started"))
    }

    /// The process of a broker, while it runs.
    pub fn process(&self, broker: usize) -> Option<&Tied> {
        self.brokers[broker].process.as_ref()
    }

    /// Kills a broker with SIGKILL, and waits until it is gone; whether it ran.
    pub fn kill(&mut self, broker: usize) -> bool {
        self.brokers[broker].process.take().map(Tied::kill).is_some()
    }

    /// Runs a tool of Kafka's, with the address of the brokers, and returns its output. It takes a second or
    /// two: a JVM starts.
    ///
    /// # Errors
    /// It failed; with its output.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Result<String> {
        let mut tool = self.java(TOOL, class);
        tool.args(["--bootstrap-server", &self.bootstrap(PLAIN).join(",")]).args(arguments);
        output(&mut tool)
    }

    fn java(&self, options: &[&str], class: &str) -> Command {
        let mut java = Command::new(&self.java);
        java.args(["-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto"]).args(options);
        let logging = self.folder.join("log4j2.properties");
        java.arg(format!("-Dlog4j2.configurationFile={}", logging.display()));
        java.arg("-cp").arg(format!("{}/*", self.libraries.display())).arg(class);
        java
    }

    fn configure(&self, plan: &Plan<'_>) -> Result<()> {
        let logging = self.folder.join("log4j2.properties");
        fs::write(&logging, LOGGING).context(logging.display())?;
        let count = self.brokers.len();
        let controllers = self.brokers.iter().map(|_| ports::free_at(plan.address));
        let controllers = controllers.collect::<Result<Vec<_>>>()?;
        let voters: Vec<_> =
            controllers.iter().enumerate().map(|(broker, at)| format!("{}@{at}", broker + 1)).collect();
        let (replicas, in_sync) = (count.min(3), count.min(2));
        for (number, broker) in self.brokers.iter().enumerate() {
            let listeners: Vec<_> = (self.listeners.iter().zip(&broker.addresses))
                .map(|(listener, address)| format!("{listener}://{address}"))
                .collect();
            let listeners = listeners.join(",");
            let text = format!(
                "process.roles=broker,controller\nnode.id={}\n\
                 controller.quorum.voters={}\n\
                 listeners={listeners},CONTROLLER://{}\n\
                 advertised.listeners={listeners}\nlog.dirs={}\n\
                 default.replication.factor={replicas}\nmin.insync.replicas={in_sync}\n\
                 offsets.topic.replication.factor={replicas}\n{PROPERTIES}{}",
                number + 1,
                voters.join(","),
                controllers[number],
                broker.data().display(),
                plan.properties,
            );
            fs::write(broker.properties(), text).context(broker.properties().display())?;
        }
        Ok(())
    }

    /// Makes the brokers' data folders: the first by Kafka's tool, the others like it, which saves a
    /// JVM each.
    fn format(&self, arguments: &[String]) -> Result<()> {
        const BOOTSTRAP: &str = "bootstrap.checkpoint";
        const META: &str = "meta.properties";
        let Some((first, others)) = self.brokers.split_first() else { return Ok(()) };
        let mut tool = self.java(TOOL, "kafka.tools.StorageTool");
        tool.args(["format", "--cluster-id", &random_id()?, "--config"]).arg(first.properties());
        output(tool.args(arguments))?;
        let meta = first.data().join(META);
        let meta = fs::read_to_string(&meta).context(meta.display())?;
        for (number, broker) in others.iter().enumerate() {
            let data = broker.data();
            fs::create_dir(&data).context(data.display())?;
            fs::copy(first.data().join(BOOTSTRAP), data.join(BOOTSTRAP)).context(data.display())?;
            let mut own = String::new();
            for line in meta.lines() {
                // Writing to a text cannot fail.
                let _ = match line.split_once('=') {
                    Some(("node.id", _)) => writeln!(own, "node.id={}", number + 2),
                    Some(("directory.id", _)) => writeln!(own, "directory.id={}", random_id()?),
                    _ => writeln!(own, "{line}"),
                };
            }
            fs::write(data.join(META), own).context(data.display())?;
        }
        Ok(())
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
}

/// An id as Kafka makes them: 16 random bytes.
fn random_id() -> Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).context("/dev/urandom")?;
    // An id that began with a dash would be taken for an option.
    bytes[0] &= 0x7f;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().display().to_string();
    let output =
        command.stdin(Stdio::null()).output().context(format_args!("{program} cannot be started"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("{command:?} failed: {text}{errors}")));
    }
    Ok(text)
}

/// Options of a broker's JVM: its memory.
const MEMORY: &[&str] = &["-Xmx384m", "-Xms128m"];

/// Options of a JVM that runs for a second.
const TOOL: &[&str] = &["-Xmx128m", "-XX:TieredStopAtLevel=1"];

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
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT
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
