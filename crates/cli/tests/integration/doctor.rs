//! `stadium doctor`: real things that are broken are found, each with its remedy, and a healthy
//! server has no problem.
//!
//! Black box: the built binary, and what the machine can break: certificates, ports, limits, modes,
//! a full disk, etcd.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use stadium_testing::certificates::Authority;
use stadium_testing::memcached::Memcached;
use stadium_testing::small_disk::SmallDisk;

use crate::binary::{Server, err, json, out, run_in, stadium};

/// Ports that nobody has, so that only the broken thing is found.
const QUIET: [&str; 6] = ["--mqtt", "127.0.0.1:0", "--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0"];

/// The checks, and the exit code.
fn examined(folder: &Path, arguments: &[&str]) -> (Vec<Value>, Option<i32>) {
    let done = run_in(folder, &[&["doctor", "--json"], arguments].concat());
    let report = json(&done);
    (report["checks"].as_array().unwrap_or_else(|| panic!("{}", err(&done))).clone(), done.status.code())
}

/// The check with this text; it must have a remedy.
fn found<'a>(checks: &'a [Value], verdict: &str, text: &str) -> &'a Value {
    let is_it = |check: &&Value| {
        check["verdict"] == verdict && check["found"].as_str().is_some_and(|found| found.contains(text))
    };
    let found = checks.iter().find(is_it).unwrap_or_else(|| panic!("no {verdict} {text:?} in {checks:#?}"));
    assert!(verdict == "ok" || found["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{found}");
    found
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

#[test]
fn a_healthy_server_has_no_problem() {
    let server = Server::trial();
    let data = server.data().display().to_string();
    let arguments = [&["--trial", "--data", &data][..], &QUIET].concat();
    let (checks, code) = examined(server.data(), &arguments);
    assert_eq!(code, Some(0), "{checks:#?}");
    for text in ["is ready", "syncs of 4096 bytes", "cores", "of memory", "open files", "secret files"] {
        assert!(checks.iter().any(|check| check["found"].to_string().contains(text)), "{text}: {checks:#?}");
    }
    let text = out(&run_in(server.data(), &[&["doctor"][..], &arguments].concat()));
    assert!(text.lines().last().is_some_and(|line| line.starts_with("0 problems")), "{text}");
    let mut narrow = stadium(&[&["doctor"][..], &arguments].concat());
    let narrow = narrow.env("COLUMNS", "70").current_dir(server.data()).output().expect("it can be run");
    let longest = out(&narrow).lines().map(|line| line.chars().count()).max();
    assert!(longest.is_some_and(|longest| longest <= 70), "{}", out(&narrow));
    let left = std::fs::read_dir(server.data()).expect("it is there").flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("doctor")));
}

#[test]
fn an_expired_certificate_and_a_key_that_everybody_reads_are_problems() {
    let (folder, authority) = (folder(), Authority::new().expect("an authority can be made"));
    let expired = authority.expired_node("n1").expect("it can be made");
    let (certificate, key) = (expired.certificate.display().to_string(), expired.key.display().to_string());
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    let tls = ["--mqtts", "127.0.0.1:0", "--certificate", &certificate, "--certificate-key", &key];
    let (checks, code) = examined(folder.path(), &[&QUIET[..], &tls].concat());
    assert_eq!(code, Some(1));
    found(&checks, "problem", "ended on");
    assert_eq!(found(&checks, "problem", "every user can use")["remedy"], format!("chmod 600 {key}"));
}

#[test]
fn a_taken_port_names_the_process_that_has_it() {
    let (folder, taken) = (folder(), TcpListener::bind("127.0.0.1:0").expect("a port is free"));
    let address = taken.local_addr().expect("it is bound").to_string();
    let (checks, code) =
        examined(folder.path(), &["--mqtt", &address, "--http", "127.0.0.1:0", "--rpc", "127.0.0.1:0"]);
    assert_eq!(code, Some(1));
    let check = found(&checks, "problem", "taken by another process").to_string();
    assert!(check.contains(&format!("pid {} ", std::process::id())), "{check}");
}

#[test]
fn low_limits_are_a_warning_with_the_way_to_raise_them() {
    let folder = folder();
    let mut command = Command::new("prlimit");
    command.args(["--nofile=1000:1000", env!("CARGO_BIN_EXE_stadium"), "doctor", "--json"]).args(QUIET);
    command.env("STADIUM_PROFILES_FILE", "/dev/null").current_dir(folder.path());
    let done = command.output().expect("prlimit can be run");
    let report = json(&done);
    let checks = report["checks"].as_array().expect("a list").clone();
    assert!(found(&checks, "warning", "1,000 open files")["remedy"].to_string().contains("LimitNOFILE="));
    assert_eq!(done.status.code(), Some(0), "a warning alone is no failure: {checks:#?}");
}

#[test]
fn a_full_disk_is_a_problem() {
    let folder = folder();
    let _disk = SmallDisk::mount(folder.path()).expect("a small disk can be mounted");
    let filled = std::fs::write(folder.path().join("filler"), vec![0; 80 << 20]);
    assert!(filled.is_err(), "64 MiB took 80");
    let data = folder.path().join("data").display().to_string();
    let (checks, code) = examined(folder.path(), &[&["--data", &data][..], &QUIET].concat());
    assert_eq!(code, Some(1));
    found(&checks, "problem", "MiB of");
    found(&checks, "problem", "cannot be written and synced");
    found(&checks, "warning", "tmpfs");
}

#[test]
fn a_dead_etcd_and_a_dead_server_are_found() {
    let folder = folder();
    let unused = TcpListener::bind("127.0.0.1:0").expect("a port is free").local_addr().expect("it is bound");
    std::fs::write(
        folder.path().join("stadium.toml"),
        format!("[discovery]\nbackend = \"etcd\"\nendpoints = [\"http://{unused}\"]\n"),
    )
    .expect("it is writable");
    let mut server = Server::trial();
    server.signal("KILL");
    server.ended();
    let data = server.data().display().to_string();
    let (checks, code) = examined(folder.path(), &[&["--data", &data][..], &QUIET].concat());
    assert_eq!(code, Some(1));
    found(&checks, "problem", &format!("{unused} of discovery.endpoints cannot be reached"));
    found(&checks, "warning", "ended without a farewell");
}

#[test]
fn memcached_servers_are_asked_over_tls_and_each_trouble_has_its_remedy() {
    let (folder, authority) = (folder(), Authority::new().expect("an authority can be made"));
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("secret"), "a secret of this house, 32 bytes and more\n").expect("it is writable");
    std::fs::write(file("users"), "stadium:of-the-cache\n").expect("it is writable");
    std::fs::write(file("password"), "of-the-cache\n").expect("it is writable");
    let identity = authority.server().expect("it can be made");
    let own = authority.device("stadium").expect("it can be made");
    let users = file("users").display().to_string();
    let secured = Memcached::with_tls(&authority, &identity, &["-Y", &users]).expect("memcached starts");
    let plain = Memcached::start(&[]).expect("memcached starts");
    let unused = TcpListener::bind("127.0.0.1:0").expect("a port is free").local_addr().expect("it is bound");
    let examined_with = |servers: &[String], more: &str| {
        let settings =
            format!("[cache]\nservers = {servers:?}\nsecret_file = {:?}\n{more}\n", file("secret"));
        std::fs::write(file("stadium.toml"), settings).expect("it is writable");
        let data = file("data").display().to_string();
        examined(folder.path(), &[&["--data", &data, "--no-disk"][..], &QUIET].concat()).0
    };
    let tls = format!(
        "tls = true\nca = {:?}\ncertificate = {:?}\nkey = {:?}\n",
        authority.file(),
        own.certificate,
        own.key
    );
    let login = format!("user = \"stadium\"\npassword_file = {:?}\n", file("password"));

    let secured_only = [secured.address.to_string()];
    let checks = examined_with(&secured_only, &format!("{tls}{login}"));
    found(&checks, "ok", &format!("{} of cache.servers is memcached 1.", secured.address));
    let checks = examined_with(&secured_only, &tls);
    let refused = found(&checks, "problem", "the server lets nobody in");
    assert!(refused["remedy"].as_str().is_some_and(|remedy| remedy.contains("password_file")), "{refused}");
    let other = Authority::new().expect("an authority can be made");
    let checks = examined_with(&secured_only, &format!("tls = true\nca = {:?}\n", other.file()));
    let distrusted = found(&checks, "problem", "no TLS session with the server");
    assert!(distrusted["remedy"].as_str().is_some_and(|remedy| remedy.contains("cache.ca")), "{distrusted}");
    let checks = examined_with(&secured_only, "");
    let silent = found(&checks, "problem", "cannot be used: no connection to the server");
    assert!(silent["remedy"].as_str().is_some_and(|remedy| remedy.contains("cache.tls = true")), "{silent}");

    let both = [plain.address.to_string(), unused.to_string()];
    let checks = examined_with(&both, "weights = [1, 3]");
    found(&checks, "ok", &format!("{} of cache.servers is memcached 1.", plain.address));
    found(&checks, "problem", &format!("{unused} of cache.servers cannot be used"));
}
