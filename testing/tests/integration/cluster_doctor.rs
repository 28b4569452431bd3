//! `stadium doctor` on a node of a cluster whose broker or etcd was killed, or refuses: each fault
//! is found, and its remedy says what mends it.
//!
//! Brokers and etcd are real ones, with their access control.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::certificates::Authority;
use stadium_testing::deadline::until;
use stadium_testing::kafka::{Kafka, Listener, PASSWORD, STRANGER, USER};
use stadium_testing::killable::Killable;
use stadium_testing::server::binary;
use stadium_testing::{etcd, ports};
use tempfile::TempDir;

use crate::cluster::{PATIENCE, until_ready};

const CLUSTER: &str = "examined";

/// The longest that an examination may take, also where nothing answers.
const EXAMINES_WITHIN: Duration = Duration::from_secs(60);

/// The settings of a node, and what they name.
struct Site {
    authority: Authority,
    folder: TempDir,
    /// Lines below `[cluster.etcd]` and below `[cluster.kafka]`.
    etcd: String,
    kafka: String,
}

impl Site {
    fn new(etcd: &etcd::Cluster, brokers: &[String]) -> Result<Self> {
        let (etcd, kafka) =
            (format!("endpoints = {:?}\n", etcd.endpoints()), format!("brokers = {brokers:?}\n"));
        Ok(Self { authority: Authority::new()?, folder: tempfile::tempdir()?, etcd, kafka })
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A file with a password.
    fn password(&self, name: &str, password: &str) -> Result<PathBuf> {
        let file = self.folder.path().join(name);
        std::fs::write(&file, password)?;
        Ok(file)
    }

    /// A whole `stadium.toml`.
    fn settings(&self) -> Result<String> {
        let identity = self.authority.node("a")?;
        let quoted = |path: &Path| format!("{:?}", path.display().to_string());
        Ok(format!(
            "[cluster]\nname = {CLUSTER:?}\nnode = \"a\"\nstandbys = 0\n[cluster.etcd]\n{}[cluster.kafka]\n{}\
             [cluster.links]\nlisten = \"{}\"\ncertificate = {}\nkey = {}\nca = {}\n\
             [journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n",
            self.etcd,
            self.kafka,
            ports::free()?,
            quoted(&identity.certificate),
            quoted(&identity.key),
            quoted(&self.authority.file()),
        ))
    }

    /// The findings of the doctor with the settings in the folder.
    fn examine(&self) -> Result<Vec<Value>> {
        let began = Instant::now();
        let mut doctor = Command::new(binary()?);
        doctor
            .args(["doctor", "--json", "--no-disk", "--config"])
            .arg(self.folder.path().join("stadium.toml"));
        doctor.arg("--data").arg(self.data()).args(["--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        let output = doctor.args(["--rpc", "127.0.0.1:0"]).output()?;
        ensure!(began.elapsed() < EXAMINES_WITHIN, "it took {:?}", began.elapsed());
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        Ok(report["checks"].as_array().context("no checks")?.clone())
    }

    /// The same by other settings.
    fn examine_by(&self, settings: &str) -> Result<Vec<Value>> {
        std::fs::write(self.folder.path().join("stadium.toml"), settings)?;
        self.examine()
    }
}

/// Requires a problem with these words, whose remedy has those.
fn is_found(checks: &[Value], words: &[&str], remedy: &str) -> Result<()> {
    let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
    let is_it = |check: &&Value| {
        let found = text(check, "found");
        check["verdict"] == "problem" && words.iter().all(|word| found.contains(word))
    };
    let check = checks.iter().find(is_it).with_context(|| format!("no problem {words:?} in {checks:#?}"))?;
    ensure!(text(check, "remedy").contains(remedy), "no remedy {remedy:?} in {check:#?}");
    Ok(())
}

/// The problems of etcd, Kafka and the cluster.
fn problems(checks: &[Value]) -> Vec<&Value> {
    let is_one = |check: &&Value| {
        check["verdict"] == "problem"
            && ["etcd", "kafka", "cluster"].iter().any(|area| check["area"] == *area)
    };
    checks.iter().filter(is_one).collect()
}

/// The address of a URL, as a finding names it.
fn address(url: &str) -> &str {
    url.trim_start_matches("http://")
}

#[test]
fn brokers_and_members_that_were_killed_are_named() -> Result<()> {
    let (mut kafka, mut etcd) = (Kafka::start(3)?, etcd::Cluster::start(3));
    let site = Site::new(&etcd, &kafka.bootstrap(Listener::Plain))?;
    let cluster = json!({
        "id": "00c0ffee00c0ffee",
        "shards": 2,
        "formats": {"log": 1, "checkpoint": 1},
        "feature_level": 1,
    });
    etcd.put(&format!("/stadium/{CLUSTER}/cluster"), &cluster.to_string());
    let mut node = Killable::new(site.folder.path(), &site.data(), &site.settings()?)?;
    node.spawn()?;
    until_ready(&node)?;
    let checks = site.examine()?;
    ensure!(problems(&checks).is_empty(), "{:#?}", problems(&checks));

    kafka.kill(2)?;
    etcd.kill(1);
    let (brokers, members) = (kafka.bootstrap(Listener::Plain), etcd.endpoints());
    // The killed member may have been the leader.
    let checks = until(PATIENCE, "the other members to have a leader", || {
        let checks = site.examine()?;
        let is_led = problems(&checks).iter().all(|check| !check.to_string().contains("leader changed"));
        Ok(is_led.then_some(checks))
    })?;
    is_found(&checks, &["kafka: broker", &brokers[2], "does not answer"], "start this broker")?;
    is_found(&checks, &[&brokers[2], "of cluster.kafka.brokers cannot be reached"], "start it")?;
    is_found(&checks, &["etcd:", address(&members[1]), "does not answer"], "start this member")?;
    is_found(&checks, &[address(&members[1]), "of cluster.etcd.endpoints cannot be reached"], "start it")?;
    // The others are well.
    let well = |text: &str| problems(&checks).iter().all(|check| !check.to_string().contains(text));
    ensure!(well(&brokers[0]) && well(address(&members[0])), "{:#?}", problems(&checks));

    (0..2).try_for_each(|broker| kafka.kill(broker))?;
    etcd.kill(0);
    etcd.kill(2);
    let checks = site.examine()?;
    is_found(&checks, &["kafka:", "KFK-002"], "start the brokers")?;
    for member in &members {
        is_found(&checks, &["etcd:", address(member), "does not answer"], "start this member")?;
    }
    Ok(())
}

#[test]
fn refused_rights_and_passwords_are_named_with_what_grants_them() -> Result<()> {
    let authority = Authority::new()?;
    let (kafka, etcd) = (Kafka::secure(&authority)?, etcd::Cluster::start(1));
    etcd.enable_authentication("stadium", PASSWORD, "/stadium/another");
    let mut site = Site::new(&etcd, &kafka.bootstrap(Listener::Sasl))?;
    let (right, wrong) = (site.password("right", PASSWORD)?, site.password("wrong", "opening night at 9")?);
    let (endpoints, brokers) = (site.etcd.clone(), site.kafka.clone());
    let mut examine = |etcd_password: Option<&Path>, user: &str, kafka_password: &Path| {
        let login = |user: &str, file: &Path| format!("user = {user:?}\npassword_file = {file:?}\n");
        let of_etcd = etcd_password.map(|file| login("stadium", file)).unwrap_or_default();
        site.etcd = format!("{endpoints}{of_etcd}");
        site.kafka =
            format!("{brokers}sasl = \"scram-sha-256\"\nreplication = 1\n{}", login(user, kafka_password));
        site.examine_by(&site.settings()?)
    };

    let checks = examine(Some(&right), STRANGER, &right)?;
    is_found(&checks, &["kafka:", "KFK-005"], "docs/kafka.md#rights")?;
    is_found(&checks, &["etcd:", "permission denied"], "etcdctl role grant-permission")?;
    let checks = examine(Some(&wrong), USER, &wrong)?;
    is_found(&checks, &["kafka:", "KFK-004"], "cluster.kafka.password_file")?;
    is_found(&checks, &["etcd:", "authentication failed"], "cluster.etcd.password_file")?;
    let checks = examine(None, USER, &right)?;
    is_found(&checks, &["etcd:", "user name is empty"], "cluster.etcd.user")?;
    ensure!(!problems(&checks).iter().any(|check| check.to_string().contains("KFK-00")), "{checks:#?}");
    Ok(())
}
