//! The parts of the demo's cluster: etcd, Kafka, the certificates, the nodes.
//!
//! etcd and Kafka have one member and one broker. So the demo shows what happens when a node is lost, and
//! nothing about the loss of a broker.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use stadium_cluster_admin::{Admin, NewCluster, ShardReport};
use stadium_local_services::etcd::Etcd;
use stadium_local_services::kafka::{Brokers, PLAIN, Plan};
use stadium_local_services::{Machine, Services, ports};
use stadium_node::Stores;
use stadium_node::settings::from_toml;
use tempfile::TempDir;

use super::node::{Node, Process};
use crate::failure::{Context, Failure};
use crate::interrupted::Interrupted;
use crate::terminal::{ProgressBar, Terminal};

/// Shards for each node.
const SHARDS_PER_NODE: u32 = 8;

/// How long a step may take: a slow machine takes seconds, a broken one must not take for ever.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A cluster that runs. Its fields end in this order.
pub(super) struct Parts {
    /// The nodes, in the order of their names.
    pub(super) nodes: Vec<Node>,
    /// Shards of the cluster.
    pub(super) shard_count: u32,
    admin: Admin,
    _kafka: Brokers,
    _etcd: Etcd,
    _folder: TempDir,
}

/// The programs of this machine, or those to install.
pub(super) fn services() -> Result<Services, Failure> {
    Machine::this().services().map_err(|missing| {
        let mut text =
            String::from("the demo of a cluster starts etcd and Kafka, and this machine lacks some of it");
        for one in missing {
            text.push_str(&format!("\n  {one}"));
        }
        Failure::Usage(text)
    })
}

impl Parts {
    /// Starts everything and waits until each node is ready and owns its share of the shards.
    pub(super) fn start(
        services: &Services,
        count: u8,
        loops: u16,
        terminal: &Terminal,
        interrupted: &Interrupted,
    ) -> Result<Self, Failure> {
        let bar = terminal.progress(u64::from(count) + 4, "starting");
        let started = start(services, count, loops, &bar, interrupted);
        bar.finish_and_clear();
        started
    }

    /// The shards and their owners, as etcd has them.
    pub(super) fn shards(&mut self) -> Result<Vec<ShardReport>, Failure> {
        shards_of(&mut self.admin)
    }

    /// The nodes that were not killed.
    pub(super) fn living(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.lives())
    }

    /// Fails if a node ended by itself.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.nodes.iter().try_for_each(Node::check)
    }
}

/// Waits until `look` finds something, it is time to go, or [`PATIENCE`] is over. `what` completes the sentence
/// that begins "after 120 s".
pub(super) fn until<T>(
    interrupted: &Interrupted,
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let began = Instant::now();
    while !interrupted.is_set() {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if began.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            return Err(Failure::new(format!("after {seconds} s {what}: is the machine too busy?")));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Err(Failure::new("a signal ended the demo"))
}

fn start(
    services: &Services,
    count: u8,
    loops: u16,
    bar: &ProgressBar,
    interrupted: &Interrupted,
) -> Result<Parts, Failure> {
    let folder = tempfile::Builder::new().prefix("stadium-demo-").tempdir();
    let folder = folder.context("the demo's temporary directory cannot be made")?;
    let place = folder.path();

    // Short texts: behind the bar a terminal of 80 columns has 16 left.
    let step = |text: &'static str| {
        bar.inc(1);
        bar.set_message(text);
    };
    bar.set_message("etcd");
    let etcd = Etcd::start(&services.etcd, place, place).context("etcd")?;
    step(if services.kafka.is_here() { "Kafka" } else { "fetching Kafka" });
    let libraries = services.kafka.libraries().context("Kafka")?;
    let kafka = Brokers::prepare(&services.java, libraries, &place.join("kafka"), &Plan::default());
    let mut kafka = kafka.context("Kafka")?;
    kafka.begin(0, place).context("Kafka")?;
    let has_started = || Ok((etcd.is_ready()? && kafka.is_ready(0)?).then_some(()));
    until(interrupted, "etcd and Kafka have not started", || {
        has_started().map_err(|error: stadium_local_services::Error| Failure::new(error.to_string()))
    })?;

    step("the cluster");
    let names: Vec<String> = (1..=count).map(|number| format!("node-{number}")).collect();
    let mut settings = Vec::new();
    let authority = Authority::new(place)?;
    for name in &names {
        let folder = place.join(name);
        fs::create_dir(&folder).context(folder.display())?;
        authority.sign(name, &folder)?;
        settings.push(settings_of(name, &folder, &authority, loops, &etcd, &kafka)?);
    }
    let mut admin = admin(&settings[0])?;
    let shard_count = SHARDS_PER_NODE * u32::from(count);
    let made = admin.init(NewCluster { shards: shard_count, id: None });
    made.map_err(|error| Failure::new(format!("the cluster cannot be made: {error}")))?;

    step("the nodes");
    let start_one =
        |(name, settings): (&String, &String)| Process::start(name, settings, &place.join(name), place);
    let processes = names.iter().zip(&settings).map(start_one).collect::<Result<Vec<_>, _>>()?;
    let mut ready = Vec::new();
    for process in &processes {
        // One node makes the key, for all; a file that is there may be one that lost the race.
        let found = until(interrupted, "a node is not ready", || {
            let keys = processes.iter().filter_map(Process::admin_key);
            keys.map(|key| process.look(&key)).find(|found| !matches!(found, Ok(None))).unwrap_or(Ok(None))
        });
        let found = found.map_err(|failure| Failure::new(format!("{failure}\n{}", process.log())))?;
        ready.push(found);
        step("the nodes");
    }
    let nodes: Vec<Node> =
        processes.into_iter().zip(ready).map(|(process, found)| process.ready(found)).collect();
    bar.set_message("their shards");
    until(interrupted, "the nodes do not share the shards evenly", || {
        nodes.iter().try_for_each(Node::check)?;
        let all = shards_of(&mut admin)?;
        let share = |node: &Node| all.iter().filter(|shard| node.owns(shard)).count();
        let is_even = nodes.iter().all(|node| share(node) + 1 >= SHARDS_PER_NODE as usize);
        let is_safe = all.iter().all(|shard| shard.problems.is_empty() && !shard.is_moving);
        Ok((is_even && is_safe).then_some(()))
    })?;
    Ok(Parts { nodes, shard_count, admin, _kafka: kafka, _etcd: etcd, _folder: folder })
}

fn shards_of(admin: &mut Admin) -> Result<Vec<ShardReport>, Failure> {
    Ok(admin.shards(None, false).map_err(|error| Failure::new(error.to_string()))?.shards)
}

/// Reaches etcd and Kafka as `stadium cluster` does, by the settings of a node.
fn admin(settings: &str) -> Result<Admin, Failure> {
    let loaded = from_toml(settings, Path::new("the demo's settings"));
    let settings = loaded.map_err(|problems| Failure::Usage(problems.to_string()))?.settings;
    let stores = Stores::read(&settings).map_err(Failure::new)?;
    let stores = stores.ok_or_else(|| Failure::new("the demo's settings name no cluster; this is a bug"))?;
    crate::command::cluster::admin_of(stores)
}

/// A whole `stadium.toml` of a node.
fn settings_of(
    name: &str,
    folder: &Path,
    authority: &Authority,
    loops: u16,
    etcd: &Etcd,
    kafka: &Brokers,
) -> Result<String, Failure> {
    let quoted = |path: PathBuf| format!("{:?}", path.display().to_string());
    Ok(format!(
        "[server]\ntrial = true\ndata = {}\nloops = {}\n\
         [mqtt]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\n[rpc]\nlisten = \"127.0.0.1:0\"\n\
         [cluster]\nname = \"demo\"\nnode = {name:?}\n\
         [cluster.etcd]\nendpoints = [{:?}]\n\
         [cluster.kafka]\nbrokers = {:?}\nreplication = 1\n\
         [cluster.links]\nlisten = \"{}\"\ncertificate = {}\nkey = {}\nca = {}\n\
         [journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n",
        quoted(folder.join("data")),
        loops.max(1),
        etcd.endpoint(),
        kafka.bootstrap(PLAIN),
        ports::free().context("a port for the links")?,
        quoted(folder.join(CERTIFICATE)),
        quoted(folder.join(KEY)),
        quoted(authority.file.clone()),
    ))
}

/// The files of a node's certificate and of its key, in its folder.
const CERTIFICATE: &str = "node.pem";
const KEY: &str = "node.key";

/// Signs for the demo's nodes alone.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate.
    file: PathBuf,
}

impl Authority {
    fn new(folder: &Path) -> Result<Self, Failure> {
        let made = || {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            params.distinguished_name.push(DnType::CommonName, "Stadium demo");
            let key = KeyPair::generate()?;
            let certificate = params.self_signed(&key)?;
            Ok((Issuer::new(params, key), certificate.pem()))
        };
        let (issuer, pem) = made()
            .map_err(|error: rcgen::Error| Failure::new(format!("the demo's certificates: {error}")))?;
        let file = folder.join("ca.pem");
        fs::write(&file, pem).context(file.display())?;
        Ok(Self { issuer, file })
    }

    /// Writes the certificate of a node, for both sides of TLS: its only DNS name is the node's.
    fn sign(&self, name: &str, folder: &Path) -> Result<(), Failure> {
        let made = || {
            let mut params = CertificateParams::new(vec![name.to_owned()])?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate()?;
            Ok((params.signed_by(&key, &self.issuer)?.pem(), key.serialize_pem()))
        };
        let (certificate, key) = made()
            .map_err(|error: rcgen::Error| Failure::new(format!("the certificate of {name}: {error}")))?;
        for (file, text) in [(CERTIFICATE, certificate), (KEY, key)] {
            let file = folder.join(file);
            fs::write(&file, text).context(file.display())?;
        }
        Ok(())
    }
}
