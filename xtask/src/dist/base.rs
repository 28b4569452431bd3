//! The base of the container image: the few Debian packages that the program needs, of its architecture.
//!
//! apt fetches and verifies them, with lists and a cache of its own under target/, so nothing of
//! the machine's apt is touched and the other architecture needs no setting of the machine's. The
//! same files are the root in which an emulator runs a program of the other architecture.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::{Architecture, build};
use crate::step::{command, output};

/// The release of Debian.
const SUITE: &str = "bookworm";

/// The C library that the program loads, and the certificates that it trusts.
const PACKAGES: [&str; 2] = ["libc6", "ca-certificates"];

/// The configuration of an apt of our own; `{}` is its folder.
const APT: &str = r#"
Dir::State "{}/state"; Dir::Cache "{}/cache"; Dir::Etc::main "/dev/null"; Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{}/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::State::status "{}/status";
APT::Sandbox::User "root"; Acquire::Languages "none";
"#;

/// The packages of the base.
pub(super) struct Base {
    /// Each with what Debian's status file has of it.
    pub(super) packages: Vec<DebianPackage>,
    /// Their files, unpacked.
    pub(super) root: PathBuf,
}

/// A package of Debian.
pub(super) struct DebianPackage {
    pub(super) name: String,
    pub(super) version: String,
    /// Its control file, by which scanners of images recognise it.
    pub(super) control: String,
    /// The archive of its files.
    pub(super) tar: Vec<u8>,
}

impl Base {
    /// Fetches the packages as Debian has them now.
    pub(super) fn fetch(root: &Path, architecture: Architecture) -> Result<Self> {
        let folder = build::tools(root).join(architecture.name()).join("base");
        let configuration = configure(&folder, architecture)?;
        let apt = || {
            let mut apt = Command::new("apt-get");
            apt.env("APT_CONFIG", &configuration).arg("--quiet=2").current_dir(folder.join("packages"));
            apt
        };
        command(apt().arg("update").stdout(Stdio::null()))?;
        let mut packages = Vec::new();
        let unpacked = folder.join("root");
        if unpacked.exists() {
            fs::remove_dir_all(&unpacked)?;
        }
        for name in PACKAGES {
            // apt keeps a package that is there and still the newest.
            command(apt().args(["download", name]).stdout(Stdio::null()))?;
            let file = newest(&folder.join("packages"), name)?;
            packages.push(DebianPackage::read(&file)?);
            command(Command::new("dpkg-deb").arg("--extract").args([&file, &unpacked]))?;
        }
        Ok(Self { packages, root: unpacked })
    }
}

impl DebianPackage {
    fn read(file: &Path) -> Result<Self> {
        let control = output(Command::new("dpkg-deb").arg("--field").arg(file))?;
        let field = |name: &str| {
            let value = control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.map(str::to_owned).with_context(|| format!("{} has no {name}", file.display()))
        };
        let mut unpack = Command::new("dpkg-deb");
        let mut child = unpack.arg("--fsys-tarfile").arg(file).stdout(Stdio::piped()).spawn()?;
        let mut tar = Vec::new();
        child.stdout.take().expect("it is piped").read_to_end(&mut tar)?;
        if !child.wait()?.success() {
            bail!("{} cannot be unpacked", file.display());
        }
        Ok(Self { name: field("Package")?, version: field("Version")?, control, tar })
    }
}

/// Writes the configuration of apt, and returns its file.
fn configure(folder: &Path, architecture: Architecture) -> Result<PathBuf> {
    for part in ["state/lists/partial", "cache/archives/partial", "packages"] {
        fs::create_dir_all(folder.join(part))?;
    }
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let source = |place: &str, suite: &str| {
        let architecture = architecture.short();
        format!("deb [arch={architecture} signed-by={keys}] http://deb.debian.org/{place} {suite} main\n")
    };
    let sources = [
        source("debian", SUITE),
        source("debian", &format!("{SUITE}-updates")),
        source("debian-security", &format!("{SUITE}-security")),
    ];
    fs::write(folder.join("sources.list"), sources.concat())?;
    fs::write(folder.join("status"), "")?;
    let architecture = architecture.short();
    let mut text = APT.replace("{}", &folder.display().to_string());
    text += &format!("APT::Architecture \"{architecture}\"; APT::Architectures {{ \"{architecture}\"; }};\n");
    let file = folder.join("apt.conf");
    fs::write(&file, text)?;
    Ok(file)
}

/// The file of a package; older ones are removed.
fn newest(folder: &Path, name: &str) -> Result<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.retain(|file| file.file_name().to_string_lossy().starts_with(&format!("{name}_")));
    files.sort_by_key(|file| file.metadata().and_then(|data| data.created()).ok());
    let newest = files.pop().with_context(|| format!("apt fetched no {name}"))?;
    for older in files {
        fs::remove_file(older.path())?;
    }
    Ok(newest.path())
}
