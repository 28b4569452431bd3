//! The container image as an OCI layout in a tar: no engine is needed to write it, and every engine
//! loads it.
//!
//! Two layers: Debian's C library and certificates, and the program. User, ports, volume and
//! command are those of deploy/Dockerfile, which a test compares. OCI image specification 1.1:
//! image-layout.md, manifest.md, config.md.

use std::fs;
use std::io::Read as _;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use serde_json::{Value, json};
use tar::EntryType;

use super::Release;
use super::archive::{Archive, gzip};
use super::base::Base;
use super::sign::hex;
use super::stage::Stage;

/// The user and group that the server runs as.
const USER: u64 = 10_001;

/// The program's path, which the Dockerfile has too.
const PROGRAM: &str = "/usr/local/bin/stadium";

/// The folder of the data.
const DATA: &str = "/var/lib/stadium";

/// Files of Debian's packages that a server never reads: documentation, character sets, the
/// linker's configuration.
const LEFT_OUT: [&str; 6] =
    ["usr/share/doc/", "usr/share/lintian/", "usr/share/man/", "usr/sbin/", "etc/", "gconv"];

/// Where Debian has the certificates that it trusts.
const CERTIFICATES: &str = "usr/share/ca-certificates/mozilla/";

/// Writes `NAME-oci.tar`.
pub(super) fn write(release: &Release, stage: &Stage, base: &Base) -> Result<()> {
    let layers = [system(release, base)?.tar()?, program(release, stage)?.tar()?];
    let epoch = i64::try_from(release.epoch).context("the time is too late")?;
    let created = Timestamp::from_second(epoch)?.to_string();
    let mut layout = Layout { archive: Archive::new(release.epoch) };
    let mut diff_ids = Vec::new();
    let mut descriptors = Vec::new();
    for layer in &layers {
        diff_ids.push(format!("sha256:{}", hex(layer)));
        descriptors.push(layout.blob("application/vnd.oci.image.layer.v1.tar+gzip", &gzip(layer)?));
    }
    let labels = labels(release, &created);
    let base = base.packages.iter().map(|package| format!("{} {}", package.name, package.version));
    let made_of = [base.collect::<Vec<_>>().join(", "), format!("stadium {}", release.version)];
    let history =
        made_of.map(|layer| json!({"created": created, "created_by": "cargo xtask dist", "comment": layer}));
    let config = json!({
        "created": created,
        "architecture": stage.architecture.short(),
        "os": "linux",
        "config": settings(&labels),
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": history,
    });
    let config = layout.json("application/vnd.oci.image.config.v1+json", &config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": descriptors,
        "annotations": labels,
    });
    let mut manifest = layout.json("application/vnd.oci.image.manifest.v1+json", &manifest)?;
    manifest["platform"] = json!({"architecture": stage.architecture.short(), "os": "linux"});
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": release.version,
        "io.containerd.image.name": format!("docker.io/library/stadium:{}", release.version),
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    layout.archive.file("index.json", 0o644, serde_json::to_vec(&index)?);
    layout.archive.file("oci-layout", 0o644, r#"{"imageLayoutVersion":"1.0.0"}"#);
    fs::write(release.file(format!("{}-oci.tar", stage.name)), layout.archive.tar()?)?;
    Ok(())
}

/// The configuration of a container, in the names of the OCI specification and of Docker.
fn settings(labels: &Value) -> Value {
    let health = ["CMD", PROGRAM, "health", "--url", "http://127.0.0.1:8080"];
    json!({
        "User": format!("{USER}:{USER}"),
        "ExposedPorts": {"1883/tcp": {}, "8883/tcp": {}, "7800/tcp": {}, "8080/tcp": {}},
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Entrypoint": [PROGRAM],
        "Cmd": ["serve", "--data", DATA, "--mqtt", "0.0.0.0:1883", "--http", "0.0.0.0:8080"],
        "Volumes": {DATA: {}},
        "WorkingDir": DATA,
        "StopSignal": "SIGTERM",
        "Labels": labels,
        // Docker's; the OCI specification has no health check and lets others add fields. Nanoseconds.
        "Healthcheck": {
            "Test": health,
            "Interval": 10_000_000_000_u64,
            "Timeout": 3_000_000_000_u64,
            "StartPeriod": 5_000_000_000_u64,
        },
    })
}

fn labels(release: &Release, created: &str) -> Value {
    json!({
        "org.opencontainers.image.title": "stadium",
        "org.opencontainers.image.description": "Self-hosted engagement backend in one binary",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.revision": release.commit,
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.base.name": "docker.io/library/debian:bookworm",
    })
}

/// The layer below: the C library, the certificates, and the files that name the user.
fn system(release: &Release, base: &Base) -> Result<Archive> {
    let mut layer = Archive::new(release.epoch);
    let mut certificates = Vec::new();
    for package in &base.packages {
        let mut files = tar::Archive::new(package.tar.as_slice());
        for entry in files.entries().with_context(|| format!("{} cannot be read", package.name))? {
            let mut entry = entry?;
            let path =
                entry.path()?.to_string_lossy().trim_start_matches("./").trim_end_matches('/').to_owned();
            let copyright = format!("usr/share/doc/{}/copyright", package.name);
            if path != copyright
                && LEFT_OUT.iter().any(|part| path.starts_with(part) || path.contains("/gconv"))
            {
                continue;
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            match entry.header().entry_type() {
                EntryType::Regular if path.starts_with(CERTIFICATES) => certificates.push((path, bytes)),
                EntryType::Regular => layer.file(&path, entry.header().mode()? & 0o7777, bytes),
                EntryType::Symlink => {
                    let target = entry.link_name()?.context("a link has a target")?;
                    layer.link(&path, &target.to_string_lossy());
                }
                // Folders come with what lies in them.
                _ => {}
            }
        }
        // Scanners of images find Debian's packages here where there is no dpkg.
        layer.file(&format!("var/lib/dpkg/status.d/{}", package.name), 0o644, package.control.as_str());
    }
    // As update-ca-certificates joins them.
    certificates.sort();
    let bundle: Vec<u8> = certificates.into_iter().flat_map(|(_, bytes)| bytes).collect();
    anyhow::ensure!(!bundle.is_empty(), "ca-certificates of Debian has no certificates in {CERTIFICATES}");
    layer.file("etc/ssl/certs/ca-certificates.crt", 0o644, bundle);
    layer.file(
        "etc/passwd",
        0o644,
        format!(
            "root:x:0:0:root:/root:/usr/sbin/nologin\nstadium:x:{USER}:{USER}::{DATA}:/usr/sbin/nologin\n"
        ),
    );
    layer.file("etc/group", 0o644, format!("root:x:0:\nstadium:x:{USER}:\n"));
    layer.file("etc/nsswitch.conf", 0o644, "hosts: files dns\n");
    layer.file("etc/os-release", 0o644, "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\n");
    layer.folder("tmp", 0o1777, 0);
    Ok(layer)
}

/// The layer above: the program, its notices, and the folder of its data.
fn program(release: &Release, stage: &Stage) -> Result<Archive> {
    let mut layer = Archive::new(release.epoch);
    let read = |name: &str| fs::read(stage.folder.join(name)).with_context(|| format!("{name} was not made"));
    layer.file(PROGRAM.trim_start_matches('/'), 0o755, read("stadium")?);
    for name in ["LICENSE", "THIRD-PARTY.md"] {
        layer.file(&format!("usr/share/doc/stadium/{name}"), 0o644, read(name)?);
    }
    layer.folder(DATA.trim_start_matches('/'), 0o700, USER);
    Ok(layer)
}

/// An OCI layout that is being collected.
struct Layout {
    archive: Archive,
}

impl Layout {
    /// Adds a blob, and returns its descriptor.
    fn blob(&mut self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = hex(bytes);
        self.archive.file(&format!("blobs/sha256/{digest}"), 0o644, bytes);
        json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len()})
    }

    fn json(&mut self, media_type: &str, value: &Value) -> Result<Value> {
        let bytes = serde_json::to_vec(value)?;
        Ok(self.blob(media_type, &bytes))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Archive, Layout, settings};

    /// Dockerfile's instructions of the last stage with this name; long lines are joined.
    fn instructions(name: &str) -> Vec<String> {
        let text = include_str!("../../../deploy/Dockerfile").replace("\\\n", "");
        let (_, last) = text.rsplit_once("\nFROM ").expect("it has stages");
        let lines = last.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        lines.map(|line| line.trim().to_owned()).collect()
    }

    fn list(text: &str) -> Value {
        serde_json::from_str(text).expect("the exec form is JSON")
    }

    #[test]
    fn image_and_dockerfile_agree() {
        let settings = settings(&json!({}));
        let only = |name: &str| {
            let all = instructions(name);
            assert_eq!(all.len(), 1, "{name}: {all:?}");
            all[0].clone()
        };
        assert_eq!(settings["User"], only("USER"));
        assert_eq!(settings["StopSignal"], only("STOPSIGNAL"));
        assert_eq!(settings["WorkingDir"], only("WORKDIR"));
        assert_eq!(settings["Entrypoint"], list(&only("ENTRYPOINT")));
        assert_eq!(settings["Cmd"], list(&only("CMD")));
        assert_eq!(settings["Volumes"], json!({only("VOLUME"): {}}));
        let ports: serde_json::Map<_, _> =
            only("EXPOSE").split(' ').map(|port| (format!("{port}/tcp"), json!({}))).collect();
        assert_eq!(settings["ExposedPorts"], Value::Object(ports));
        let health = only("HEALTHCHECK");
        let (times, test) = health.split_once("CMD ").expect("it has a command");
        assert_eq!(
            settings["Healthcheck"]["Test"].as_array().map(|test| &test[1..]),
            list(test).as_array().map(|all| &all[..])
        );
        let nanoseconds = |name: &str| {
            let time = times.split(' ').find_map(|option| option.strip_prefix(&format!("--{name}=")));
            let seconds = time.and_then(|time| time.strip_suffix('s')).expect("it is in seconds");
            seconds.parse::<u64>().expect("it is a number") * 1_000_000_000
        };
        assert_eq!(settings["Healthcheck"]["Interval"], nanoseconds("interval"));
        assert_eq!(settings["Healthcheck"]["Timeout"], nanoseconds("timeout"));
        assert_eq!(settings["Healthcheck"]["StartPeriod"], nanoseconds("start-period"));
    }

    #[test]
    fn a_blob_is_found_under_its_digest() {
        let mut layout = Layout { archive: Archive::new(0) };
        let descriptor = layout.blob("text/plain", b"abc");
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(descriptor["digest"], format!("sha256:{digest}"));
        assert_eq!(descriptor["size"], 3);
        let tar = layout.archive.tar().expect("it fits");
        let mut files = tar::Archive::new(tar.as_slice());
        let mut paths = files.entries().expect("it is an archive").map(|entry| entry.expect("it is whole"));
        let path = format!("blobs/sha256/{digest}");
        assert!(paths.any(|entry| entry.path().expect("it has a path").as_os_str() == path.as_str()));
    }
}
