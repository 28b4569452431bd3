//! Real brokers of Kafka, on loopback ports unless another address is given: killed, stopped, started again.
//!
//! They are those of `stadium-local-services`, in a folder that goes with the value. Here are the listeners that
//! ask for certificates and passwords, and what a suite does to brokers. The jars are always those that Maven
//! fetches, so that all suites have one version.

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use stadium_local_services::Machine;
use stadium_local_services::kafka::{Brokers, PLAIN, Plan, Source};
use tempfile::TempDir;

use crate::certificates::Authority;
use crate::deadline::until_true;
use crate::process::{Process, Signal};

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
            Self::Plain => PLAIN,
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
    // Before the folder of its data.
    brokers: Brokers,
    folder: TempDir,
}

/// The jars of 4.1.0, or of `STADIUM_KAFKA_VERSION`.
fn source() -> Result<Source> {
    let home = std::env::var_os("HOME").context("HOME is not set")?;
    Ok(Source::fetched(Path::new(&home), std::env::var("STADIUM_KAFKA_VERSION").ok()))
}

/// Options of the brokers' JVMs. Those of a test live for a minute: to optimise their code takes more
/// of the cores than it gives back. Those of a bench, which is no debug build, are as they ship.
const JVM: &[&str] = if cfg!(debug_assertions) { &["-XX:TieredStopAtLevel=1"] } else { &[] };

impl Kafka {
    /// Starts brokers that are reached without TLS and SASL, and waits until they are ready.
    pub fn start(brokers: usize) -> Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), brokers)
    }

    /// The same at an address of this machine, or of the network namespace that the thread is in.
    pub fn start_at(address: IpAddr, brokers: usize) -> Result<Self> {
        Self::with(&Plan { address, brokers, jvm: JVM, ..Plan::default() })
    }

    /// Fetches what a start needs from the network, unless it is here: a network namespace may have
    /// no way to it.
    pub fn fetch() -> Result<()> {
        source()?.libraries()?;
        Ok(())
    }

    /// Starts one broker with all listeners. Its certificate is the authority's. SASL knows [`USER`]
    /// and [`STRANGER`] by PLAIN and SCRAM; the stranger, and who shows another certificate than
    /// that of CN=stadium, may do nothing.
    pub fn secure(authority: &Authority) -> Result<Self> {
        let mut format = Vec::new();
        for hash in ["256", "512"] {
            for user in [USER, STRANGER] {
                let credentials = format!("SCRAM-SHA-{hash}=[name={user},password=\"{PASSWORD}\"]");
                format.extend(["--add-scram".to_owned(), credentials]);
            }
        }
        Self::with(&Plan {
            listeners: &Listener::SECURE.map(Listener::name),
            properties: &secure_properties(authority)?,
            format: &format,
            jvm: JVM,
            ..Plan::default()
        })
    }

    fn with(plan: &Plan<'_>) -> Result<Self> {
        let source = source()?;
        let java = Machine::this().java().map_err(|missing| anyhow::anyhow!("{missing}"))?;
        let folder = tempfile::Builder::new().prefix("stadium-kafka-").tempdir()?;
        let brokers = Brokers::prepare(&java, source.libraries()?, folder.path(), plan)?;
        let mut kafka = Self { brokers, folder };
        (0..plan.brokers).try_for_each(|broker| kafka.begin(broker))?;
        (0..plan.brokers).try_for_each(|broker| kafka.wait(broker))?;
        Ok(kafka)
    }

    /// Addresses of all brokers, for a client.
    pub fn bootstrap(&self, listener: Listener) -> Vec<String> {
        let addresses = self.brokers.bootstrap(listener.name());
        assert!(!addresses.is_empty(), "a listener of this cluster");
        addresses
    }

    /// The number of brokers.
    pub fn brokers(&self) -> usize {
        self.brokers.count()
    }

    /// Starts a broker that was killed, and waits until it is ready.
    pub fn up(&mut self, broker: usize) -> Result<()> {
        self.begin(broker)?;
        self.wait(broker)
    }

    /// Kills a broker with SIGKILL.
    pub fn kill(&mut self, broker: usize) -> Result<()> {
        ensure!(self.brokers.kill(broker), "the broker does not run");
        Ok(())
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
            match self.brokers.process(broker) {
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
        Ok(self.brokers.tool(class, arguments)?)
    }

    fn process(&self, broker: usize) -> Result<Process> {
        Ok(Process(self.brokers.process(broker).context("the broker does not run")?.id()))
    }

    /// Starts a broker that was killed. A controller alone is never ready: more may have to begin.
    pub fn begin(&mut self, broker: usize) -> Result<()> {
        Ok(self.brokers.begin(broker, self.folder.path())?)
    }

    /// Waits until a broker that was started is ready.
    pub fn wait(&self, broker: usize) -> Result<()> {
        let mut ended = None;
        let started = until_true(STARTS_WITHIN, "a broker to start", || {
            let ready = self.brokers.is_ready(broker);
            Ok(ready.unwrap_or_else(|error| ended.replace(error).is_none()))
        });
        match ended {
            Some(error) => Err(error.into()),
            None => started.with_context(|| self.log(broker)),
        }
    }

    fn log(&self, broker: usize) -> String {
        self.brokers.process(broker).map(|process| process.log()).unwrap_or_default()
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for broker in 0..self.brokers() {
                eprintln!("--- broker {broker}\n{}", self.log(broker));
            }
        }
    }
}

/// Settings of the listeners other than the plain one.
fn secure_properties(authority: &Authority) -> Result<String> {
    let mut text = String::from(SECURE_PROPERTIES);
    let other_name = authority.server_named("elsewhere.test")?;
    for (prefix, identity) in [("", authority.server()?), ("listener.name.tls.", other_name)] {
        let keystore = identity.key.with_extension("keystore");
        let text_of = |file: &Path| fs::read_to_string(file);
        fs::write(&keystore, text_of(&identity.key)? + &text_of(&identity.certificate)?)?;
        writeln!(text, "{prefix}ssl.keystore.type=PEM")?;
        writeln!(text, "{prefix}ssl.keystore.location={}", keystore.display())?;
    }
    writeln!(text, "ssl.truststore.type=PEM\nssl.truststore.location={}", authority.file().display())?;
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
    Ok(text)
}

const SECURE_PROPERTIES: &str = "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAIN:PLAINTEXT,TLS:SSL,SASL:SASL_PLAINTEXT,SASLTLS:SASL_SSL
listener.name.tls.ssl.client.auth=required
listener.name.sasl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasltls.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:stadium;User:CN=stadium
";
