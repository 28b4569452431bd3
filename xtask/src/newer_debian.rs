//! Peers in the versions of a newer Debian than the machine's, without installing them.
//!
//! Their packages, and all that these depend on, are unpacked under target/peers/debian-13. Their
//! programs are made to use the loader and the libraries there (patchelf).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::step::command;

/// The release.
const SUITE: &str = "trixie";
/// The folder under target/peers, which the bench knows too (bench/src/newer_debian.rs).
const FOLDER: &str = "debian-13";
/// The loader and the libraries in the unpacked tree.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const LOADER: &str = "ld-linux-x86-64.so.2";
/// Debian's key, which is in each Debian.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A package, and those of its programs that are started.
pub(crate) struct Peer {
    package: &'static str,
    programs: &'static [&'static str],
}

/// Mosquitto.
pub(crate) const MOSQUITTO: Peer = Peer { package: "mosquitto", programs: &["usr/sbin/mosquitto"] };
/// Redis: the server is a link to this program.
pub(crate) const REDIS: Peer = Peer { package: "redis-server", programs: &["usr/bin/redis-check-rdb"] };
/// PostgreSQL.
pub(crate) const POSTGRESQL: Peer = Peer {
    package: "postgresql-17",
    programs: &[
        "usr/lib/postgresql/17/bin/initdb",
        "usr/lib/postgresql/17/bin/pg_isready",
        "usr/lib/postgresql/17/bin/postgres",
    ],
};

/// Makes sure that these are there.
pub(crate) fn provide(root: &Path, peers: &[Peer]) -> Result<()> {
    let folder = root.join("target/peers").join(FOLDER);
    let missing = || peers.iter().filter(|peer| !done(&folder, peer).exists());
    if missing().next().is_none() {
        return Ok(());
    }
    for part in ["var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg", "etc/apt"] {
        fs::create_dir_all(folder.join(part))?;
    }
    // Nothing counts as installed: all that is needed is fetched.
    let status = folder.join("var/lib/dpkg/status");
    fs::write(&status, "")?;
    let source = format!("deb [signed-by={KEYRING}] http://deb.debian.org/debian {SUITE} main\n");
    fs::write(folder.join("etc/apt/sources.list"), source)?;
    let settings = folder.join("apt.conf");
    let text = format!(
        "Dir \"{}\";\nDir::State::status \"{}\";\nAcquire::Languages \"none\";\n\
         APT::Install-Recommends \"false\";\nAPT::Sandbox::User \"\";\n",
        folder.display(),
        status.display()
    );
    fs::write(&settings, text)?;
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        command(apt.args(["--quiet", "--quiet"]).args(arguments).env("APT_CONFIG", &settings))
    };
    apt(&["update"])?;
    let packages: Vec<&str> = missing().map(|peer| peer.package).collect();
    apt(&[&["install", "--yes", "--download-only"][..], &packages].concat())?;
    let tree = folder.join("root");
    fs::create_dir_all(&tree)?;
    for archive in fs::read_dir(folder.join("var/cache/apt/archives"))? {
        let archive = archive?.path();
        if archive.extension().is_some_and(|extension| extension == "deb") {
            command(Command::new("dpkg-deb").arg("--extract").arg(&archive).arg(&tree))?;
            fs::remove_file(archive)?;
        }
    }
    for peer in missing() {
        for program in peer.programs {
            use_libraries(&tree, &tree.join(program))?;
        }
        fs::write(done(&folder, peer), "")?;
    }
    Ok(())
}

/// The file that says that a peer is unpacked.
fn done(folder: &Path, peer: &Peer) -> PathBuf {
    folder.join(format!("{}.done", peer.package))
}

/// Makes a program start with the loader and the libraries of the tree.
fn use_libraries(tree: &Path, program: &Path) -> Result<()> {
    let libraries = tree.join(LIBRARIES);
    let mut patch = Command::new("patchelf");
    patch.arg("--set-interpreter").arg(libraries.join(LOADER)).arg("--force-rpath");
    command(patch.arg("--set-rpath").arg(&libraries).arg(program))?;
    let mut look = Command::new(program);
    let started = look.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    // Mosquitto has no such option, but it starts.
    let started = started.with_context(|| program.display().to_string())?;
    ensure!(started.code().is_some_and(|code| code != 127), "{} does not start", program.display());
    Ok(())
}
