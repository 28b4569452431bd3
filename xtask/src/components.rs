//! Real components that the suites need: found on the PATH, or installed, or named in an error.
//!
//! Nothing is skipped because a component is missing. As root on a Debian machine the missing
//! packages are installed; otherwise the error is the command to run. Python and Node packages live
//! under target/ and testing/, never in the user's own environment.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::step::command;

/// A component and the Debian package that brings it.
struct Component {
    /// The program looked for, with arguments that make it exit 0 when it works.
    probe: &'static [&'static str],
    package: &'static str,
}

/// What the suites start or drive.
const COMPONENTS: &[Component] = &[
    Component { probe: &["cc", "--version"], package: "build-essential" },
    // librdkafka is built from its source, and takes OpenSSL from the system.
    Component { probe: &["pkg-config", "--version"], package: "pkg-config" },
    Component { probe: &["test", "-e", "/usr/include/openssl/ssl.h"], package: "libssl-dev" },
    Component { probe: &["mosquitto", "-h"], package: "mosquitto" },
    Component { probe: &["mosquitto_sub", "--help"], package: "mosquitto-clients" },
    Component { probe: &["mosquitto_pub", "--help"], package: "mosquitto-clients" },
    Component { probe: &["promtool", "--version"], package: "prometheus" },
    Component { probe: &["chromium", "--version"], package: "chromium" },
    Component { probe: &["ip", "-V"], package: "iproute2" },
    Component { probe: &["nft", "--version"], package: "nftables" },
    Component { probe: &["openssl", "version"], package: "openssl" },
    Component { probe: &["python3", "--version"], package: "python3" },
    Component { probe: &["python3", "-c", "import ensurepip, venv"], package: "python3-venv" },
    Component { probe: &["node", "--version"], package: "nodejs" },
    Component { probe: &["npm", "--version"], package: "npm" },
    Component { probe: &["javac", "--version"], package: "openjdk-17-jdk-headless" },
    Component { probe: &["mvn", "--version"], package: "maven" },
    Component { probe: &["cmake", "--version"], package: "cmake" },
    Component { probe: &["protoc", "--version"], package: "protobuf-compiler" },
    Component {
        probe: &["test", "-e", "/usr/include/google/protobuf/message.h"],
        package: "libprotobuf-dev",
    },
    Component { probe: &["go", "version"], package: "golang-go" },
    Component { probe: &["etcd", "--version"], package: "etcd-server" },
    Component { probe: &["memcached", "-V"], package: "memcached" },
    Component { probe: &["memccat", "--version"], package: "libmemcached-tools" },
    Component { probe: &["nutcracker", "-V"], package: "nutcracker" },
    Component { probe: &["test", "-e", "/usr/share/java/zookeeper.jar"], package: "zookeeper" },
    Component { probe: &["ssh", "-V"], package: "openssh-client" },
    Component { probe: &["test", "-e", "/usr/sbin/sshd"], package: "openssh-server" },
];

/// Peers that only `bench edge` starts.
const PEERS: &[Component] = &[
    Component { probe: &["patchelf", "--version"], package: "patchelf" },
    Component { probe: &["go", "version"], package: "golang-go" },
    Component { probe: &["javac", "--version"], package: "openjdk-17-jdk-headless" },
    Component { probe: &["mvn", "--version"], package: "maven" },
    Component { probe: &["taskset", "--version"], package: "util-linux" },
];

/// What builds and runs the peers of the RPC and stream benches.
const RPC_PEERS: &[Component] = &[
    Component { probe: &["cc", "--version"], package: "build-essential" },
    Component { probe: &["javac", "--version"], package: "openjdk-17-jdk-headless" },
    Component { probe: &["mvn", "--version"], package: "maven" },
    Component { probe: &["taskset", "--version"], package: "util-linux" },
];

/// Components that build and run the programs of `bench sdk`.
const SDK_PEERS: &[Component] = &[
    Component { probe: &["cc", "--version"], package: "build-essential" },
    Component { probe: &["python3", "-c", "import ensurepip, venv"], package: "python3-venv" },
    Component { probe: &["javac", "--version"], package: "openjdk-17-jdk-headless" },
    Component { probe: &["mvn", "--version"], package: "maven" },
    Component { probe: &["cmake", "--version"], package: "cmake" },
    Component { probe: &["protoc", "--version"], package: "protobuf-compiler" },
    Component {
        probe: &["test", "-e", "/usr/include/google/protobuf/message.h"],
        package: "libprotobuf-dev",
    },
    Component { probe: &["taskset", "--version"], package: "util-linux" },
];

/// Components that build and run the programs of `bench memcache`.
const MEMCACHE_PEERS: &[Component] = &[
    Component { probe: &["cc", "--version"], package: "build-essential" },
    Component { probe: &["javac", "--version"], package: "openjdk-17-jdk-headless" },
    Component { probe: &["mvn", "--version"], package: "maven" },
    Component { probe: &["memcached", "-V"], package: "memcached" },
    Component { probe: &["perf", "--version"], package: "linux-perf" },
    Component { probe: &["taskset", "--version"], package: "util-linux" },
];

/// What `bench load` loads, and the load generators that are packages.
const LOAD_PEERS: &[Component] = &[
    Component { probe: &["nginx", "-v"], package: "nginx-light" },
    Component { probe: &["wrk", "-v"], package: "wrk" },
    Component { probe: &["ab", "-V"], package: "apache2-utils" },
    Component { probe: &["tsung", "-v"], package: "tsung" },
    Component { probe: &["go", "version"], package: "golang-go" },
    Component { probe: &["taskset", "--version"], package: "util-linux" },
];

/// Peers that `bench queue` starts, each with a data directory of its own.
const QUEUE_PEERS: &[Component] = &[
    Component { probe: &["mariadbd", "--version"], package: "mariadb-server" },
    Component { probe: &["patchelf", "--version"], package: "patchelf" },
    Component { probe: &["beanstalkd", "-v"], package: "beanstalkd" },
    Component { probe: &["test", "-e", "/usr/lib/rabbitmq/bin/rabbitmq-server"], package: "rabbitmq-server" },
    Component { probe: &["setpriv", "--version"], package: "util-linux" },
];

/// Builds the client of Kafka, and runs its brokers, etcd, and nodes in networks of their own.
const CLUSTER_PARTS: &[Component] = &[
    Component { probe: &["cc", "--version"], package: "build-essential" },
    Component { probe: &["pkg-config", "--version"], package: "pkg-config" },
    Component { probe: &["test", "-e", "/usr/include/openssl/ssl.h"], package: "libssl-dev" },
    Component { probe: &["javac", "--version"], package: "openjdk-17-jdk-headless" },
    Component { probe: &["mvn", "--version"], package: "maven" },
    Component { probe: &["etcd", "--version"], package: "etcd-server" },
    Component { probe: &["ip", "-V"], package: "iproute2" },
    Component { probe: &["nft", "--version"], package: "nftables" },
    Component { probe: &["taskset", "--version"], package: "util-linux" },
];

/// The emulator in which `dist` runs programs of the other architecture.
const EMULATORS: &[Component] =
    &[Component { probe: &["qemu-aarch64-static", "--version"], package: "qemu-user-static" }];

/// Programs for the suite of packages: clean roots, readers of the packages, and an emulator.
const PACKAGE_PARTS: &[Component] = &[
    Component { probe: &["debootstrap", "--version"], package: "debootstrap" },
    Component { probe: &["systemd-nspawn", "--version"], package: "systemd-container" },
    Component { probe: &["qemu-aarch64-static", "--version"], package: "qemu-user-static" },
    Component { probe: &["minisign", "-v"], package: "minisign" },
    Component { probe: &["skopeo", "--version"], package: "skopeo" },
    Component { probe: &["runc", "--version"], package: "runc" },
    Component { probe: &["podman", "--version"], package: "podman" },
    // Its networks: bridges, and ports that a container publishes.
    Component { probe: &["test", "-e", "/usr/lib/cni/bridge"], package: "containernetworking-plugins" },
    Component { probe: &["iptables", "--version"], package: "iptables" },
    Component { probe: &["ip", "-V"], package: "iproute2" },
    Component { probe: &["setpriv", "--version"], package: "util-linux" },
    Component { probe: &["mosquitto_sub", "--help"], package: "mosquitto-clients" },
    Component { probe: &["curl", "--version"], package: "curl" },
    Component { probe: &["openssl", "version"], package: "openssl" },
    Component { probe: &["readelf", "--version"], package: "binutils" },
];

/// Peers that `bench wallet` starts.
const WALLET_PEERS: &[Component] = &[
    Component { probe: &["patchelf", "--version"], package: "patchelf" },
    Component { probe: &["setpriv", "--version"], package: "util-linux" },
];

/// Makes sure that what builds and runs Kafka is here.
pub(crate) fn for_cluster_bench() -> Result<()> {
    install(CLUSTER_PARTS)
}

/// Makes sure that what the suite of packages starts is here.
pub(crate) fn for_packages() -> Result<()> {
    install(PACKAGE_PARTS)
}

/// Makes sure that programs of the other architecture can be run.
pub(crate) fn for_emulation() -> Result<()> {
    install(EMULATORS)
}

/// Makes sure that everything the suites need is here.
pub(crate) fn for_suites() -> Result<()> {
    install(COMPONENTS)
}

/// Makes sure that the peers' packages are here.
pub(crate) fn for_bench() -> Result<()> {
    install(PEERS)
}

/// Makes sure that what the RPC and stream benches build with is here.
pub(crate) fn for_rpc_bench() -> Result<()> {
    install(RPC_PEERS)
}

/// Makes sure that what the bench of the SDKs builds with is here.
pub(crate) fn for_sdk_bench() -> Result<()> {
    install(SDK_PEERS)
}

/// Makes sure that everything the bench of the memcached client needs is here.
pub(crate) fn for_memcache_bench() -> Result<()> {
    install(MEMCACHE_PEERS)
}

/// Makes sure that the queue bench's peers are here.
pub(crate) fn for_queue_bench() -> Result<()> {
    install(QUEUE_PEERS)
}

/// Makes sure that what the load bench loads, and loads it with, is here.
pub(crate) fn for_load_bench() -> Result<()> {
    install(LOAD_PEERS)
}

/// Makes sure that the wallet bench's peers are here.
pub(crate) fn for_wallet_bench() -> Result<()> {
    install(WALLET_PEERS)
}

fn install(components: &[Component]) -> Result<()> {
    let mut missing: Vec<&str> =
        components.iter().filter(|component| !works(component)).map(|component| component.package).collect();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let by_hand = format!("apt-get install --no-install-recommends {}", missing.join(" "));
    if !is_root()? || !works_at_all("apt-get") {
        bail!("missing Debian packages; as root run `{by_hand}`");
    }
    eprintln!("    installing {}", missing.join(" "));
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet=2").args(arguments);
        command(apt.stdout(Stdio::null()))
    };
    apt(&["update"])?;
    let _daemons = NoDaemons::new()?;
    let install = ["install", "--yes", "--no-install-recommends"];
    apt(&[&install[..], &missing[..]].concat())?;
    match components.iter().find(|component| !works(component)) {
        Some(still) => bail!("`{}` still fails after installing {}", still.probe.join(" "), still.package),
        None => Ok(()),
    }
}

/// While it lives, no package that is installed starts its daemon: the suites start what they need,
/// on ports of their own. Debian asks /usr/sbin/policy-rc.d; one that is there already is
/// somebody's decision and stays.
struct NoDaemons {
    made: bool,
}

const POLICY: &str = "/usr/sbin/policy-rc.d";

impl NoDaemons {
    fn new() -> Result<Self> {
        if Path::new(POLICY).exists() {
            return Ok(Self { made: false });
        }
        fs::write(POLICY, "#!/bin/sh\nexit 101\n").with_context(|| format!("cannot write {POLICY}"))?;
        let made = Self { made: true };
        fs::set_permissions(POLICY, fs::Permissions::from_mode(0o755))
            .with_context(|| format!("cannot make {POLICY} executable"))?;
        Ok(made)
    }
}

impl Drop for NoDaemons {
    fn drop(&mut self) {
        if self.made
            && let Err(error) = fs::remove_file(POLICY)
        {
            eprintln!("    cannot remove {POLICY}, which keeps daemons from starting: {error}");
        }
    }
}

/// Whether the probe can be started. `mosquitto -h` and its clients' `--help` exit 1 or 3 although
/// all is well, so only Python's probe and the look for a file, which answer by their exit code,
/// are asked for it.
fn works(component: &Component) -> bool {
    let mut probe = Command::new(component.probe[0]);
    probe.args(&component.probe[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match probe.status() {
        Ok(status) => !matches!(component.probe[0], "python3" | "test") || status.success(),
        Err(_) => false,
    }
}

fn works_at_all(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn is_root() -> Result<bool> {
    let id = Command::new("id").arg("-u").output().context("cannot start `id -u`")?;
    Ok(id.stdout.trim_ascii() == b"0")
}

/// A Python of our own under target/, with the packages of `requirements` (a pip requirements file).
///
/// Returns the interpreter. An environment that already holds them is reused: pip then only looks.
pub(crate) fn python(root: &Path, requirements: &Path) -> Result<PathBuf> {
    python_in(&root.join("target/python"), requirements)
}

/// The same in another folder.
pub(crate) fn python_in(folder: &Path, requirements: &Path) -> Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.exists() {
        command(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    command(pip.arg(requirements))?;
    Ok(python)
}

/// Where [`collector`] puts its program.
pub(crate) fn collector_of(root: &Path) -> PathBuf {
    root.join("target/otel/collector")
}

/// Builds the collector of OpenTelemetry of testing/otel; Go looks whether there is anything to do.
pub(crate) fn collector(root: &Path) -> Result<()> {
    let mut go = Command::new("go");
    go.current_dir(root.join("testing/otel")).args(["build", "-trimpath", "-ldflags=-s -w", "-o"]);
    command(go.arg(collector_of(root)).arg("."))
}

/// The packages of `folder`/package-lock.json, exactly.
pub(crate) fn node_packages(folder: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    command(npm.current_dir(folder).args(["ci", "--silent", "--no-audit", "--no-fund"]))
}
