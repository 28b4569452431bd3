//! `stadium serve` as a process: readiness, signals, reload, and the commands that talk to it.
//!
//! The details of devices and of the API are tested in their own crates and in testing/.

use crate::binary;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::sync::Arc;

use binary::device::Device;
use binary::{SMALL, Server, err, json, out, run, run_in, stadium, wait_for};
use stadium_testing::mortal;

/// DISCONNECT (MQTT 5.0, 3.14).
const DISCONNECT: u8 = 0xe0;

#[test]
fn server_prints_where_it_is_and_keeps_its_key_to_itself() {
    let server = Server::start(&["--trial"]);
    assert_eq!(server.ready["event"], "ready");
    assert_eq!(server.ready["trial"], true);
    let key = std::fs::metadata(server.data().join("admin.key")).expect("it was made");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let health = server.client(&["health"]);
    assert!(health.status.success(), "{}", err(&health));
    assert!(out(&health).starts_with("ready http://127.0.0.1:"), "{}", out(&health));
}

#[test]
fn an_idle_server_sets_little_disk_aside() {
    // The defaults, in place of the small files of other tests.
    let sizes = ["journal.segment_bytes=67108864", "journal.reserve_bytes=16777216"];
    let server = Server::start(&["--trial", "--set", sizes[0], "--set", sizes[1]]);
    let files = || {
        let folders = ["shards/shard-0000/journal", "shards/shard-0001/journal"];
        let entries = folders.map(|folder| std::fs::read_dir(server.data().join(folder)).expect("a journal"));
        let files = entries.into_iter().flatten().map(|entry| entry.expect("an entry").metadata());
        // A file that is being made may have got its name meanwhile.
        files.filter_map(|file| Some(file.ok()?.blocks() * 512)).collect::<Vec<_>>()
    };
    // Two segments and the reserve of each shard.
    wait_for("the room is set aside", || {
        (files().iter().filter(|bytes| **bytes > 1 << 20).count() == 6).then_some(())
    });
    assert!(files().iter().sum::<u64>() < 64_000_000, "{:?}", files());
}

#[test]
fn health_waits_for_a_server_that_is_about_to_start() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let asks = |wait: &str| {
        let mut health = mortal::command(env!("CARGO_BIN_EXE_stadium"));
        health.args(["health", "--wait", wait, "--data"]).arg(folder.path());
        // Nobody listens there: only the server's own word counts.
        health.env("STADIUM_HTTP__LISTEN", "127.0.0.1:1").stdout(Stdio::piped()).stderr(Stdio::null());
        health.spawn().expect("the binary can be run")
    };
    assert_eq!(asks("0").wait().expect("it ends").code(), Some(1));
    let waiting = asks("60s");
    let mut server = mortal::command(env!("CARGO_BIN_EXE_stadium"));
    server.args([
        "serve",
        "--trial",
        "--mqtt",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
        "--rpc",
        "127.0.0.1:0",
    ]);
    server.args(SMALL).arg("--data").arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = server.spawn().expect("the binary can be run");
    let ready = waiting.wait_with_output().expect("it ends");
    let _ = server.kill();
    let _ = server.wait();
    assert!(ready.status.success() && out(&ready).starts_with("ready http://127.0.0.1:"), "{}", out(&ready));
}

#[test]
fn a_service_manager_is_notified_of_start_reload_and_drain() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket can be bound");
    manager.set_read_timeout(Some(binary::PATIENCE)).expect("a socket takes a timeout");
    let notified = |state: &str| {
        let mut buffer = [0; 512];
        let length = manager.recv(&mut buffer).expect("a state is sent");
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        assert_eq!(text.lines().next(), Some(state), "{text}");
    };

    let mut server = Server::under_manager(&path);
    notified("READY=1");
    server.signal("HUP");
    notified("RELOADING=1");
    notified("READY=1");
    server.signal("TERM");
    notified("STOPPING=1");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_push_reaches_a_device_and_its_acknowledgement_comes_back() {
    let server = Server::start(&["--trial"]);
    let mut device = Device::connect(&server.address("mqtt"), "kiosk-7");
    device.subscribe("inbox/kiosk-7");
    let received = std::thread::spawn(move || (device.message(), device));
    let pushed = server.client(&["push", "device:kiosk-7", "hello", "--watch", "--json"]);
    assert!(pushed.status.success(), "{}", err(&pushed));
    let (message, _device) = received.join().expect("the device lives");
    assert_eq!(message, ("inbox/kiosk-7".to_owned(), "hello".to_owned()));
    let report = json(&pushed);
    assert_eq!(
        (&report["status"], &report["targeted"], &report["acknowledged"]),
        (&"settled".into(), &1.into(), &1.into())
    );
}

#[test]
fn devices_are_listed_shown_and_kicked() {
    let server = Server::start(&["--trial"]);
    let mut first = Device::connect(&server.address("mqtt"), "a-1");
    first.subscribe("channels/news");
    let _second = Device::connect(&server.address("mqtt"), "b-1");
    let listed = json(&server.client(&["device", "list", "--json"]));
    let ids: Vec<_> =
        listed["devices"].as_array().expect("it is a list").iter().map(|device| &device["id"]).collect();
    assert_eq!(ids, ["a-1", "b-1"]);
    let prefixed = json(&server.client(&["device", "list", "--prefix", "b", "--json"]));
    assert_eq!(prefixed["devices"].as_array().map(Vec::len), Some(1));
    let shown = json(&server.client(&["device", "show", "a-1", "--json"]));
    assert_eq!(shown["subscriptions"][0]["filter"], "channels/news");
    assert!(server.client(&["device", "kick", "a-1"]).status.success());
    let ending = first.receive().expect("an MQTT 5 device gets the reason");
    assert_eq!((ending.first, ending.body[0]), (DISCONNECT, 0x98), "administrative action");
    assert_eq!(first.receive(), None);
    let gone = server.client(&["device", "kick", "nobody"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(err(&gone).contains("nobody"), "{}", err(&gone));
}

#[test]
fn a_list_of_devices_holds_those_registered_and_those_with_a_session() {
    let server = Server::start(&["--trial"]);
    server.does(&["device", "set", "b-registered", "--platform", "ios", "--tag", "vip"]);
    let _only_session = Device::connect(&server.address("mqtt"), "a-session");
    let mut both = Device::connect(&server.address("mqtt"), "c-both");
    both.subscribe("inbox/c-both");
    wait_for("the registration of c-both", || {
        let listed = server.answers(&["device", "list", "--registered"]);
        (listed["devices"].as_array().map(Vec::len) == Some(2)).then_some(())
    });
    let listed = server.prints(&["device", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    for (line, begins, holds) in [
        (0, "device", "registered"),
        (1, "a-session ", "connected tcp MQTT 5.0 from 127.0.0.1:"),
        (2, "b-registered ", "never seen"),
        (3, "c-both ", "connected tcp MQTT 5.0 from 127.0.0.1:"),
    ] {
        assert!(lines[line].starts_with(begins) && lines[line].contains(holds), "{listed}");
    }
    // For programs each has the fields of a session, and what is registered beside them.
    let listed = server.answers(&["device", "list"]);
    let of = |index: usize| &listed["devices"][index];
    assert_eq!(
        (&of(0)["id"], &of(0)["connected"], &of(0)["registered"]),
        (&"a-session".into(), &true.into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (&of(1)["id"], &of(1)["connected"], &of(1)["queued"]),
        (&"b-registered".into(), &false.into(), &0.into())
    );
    assert_eq!(
        (&of(1)["registered"]["platform"], &of(2)["registered"]["device"]),
        (&"ios".into(), &"c-both".into())
    );
    assert_eq!(listed["next"], serde_json::Value::Null);
    let first = server.answers(&["device", "list", "--limit", "2"]);
    assert_eq!(
        (first["devices"].as_array().map(Vec::len), &first["next"]),
        (Some(2), &"b-registered".into())
    );
    for (flag, ids) in [("--sessions", ["a-session", "c-both"]), ("--connected", ["a-session", "c-both"])] {
        let found = server.answers(&["device", "list", flag]);
        let found: Vec<_> =
            found["devices"].as_array().expect("a list").iter().map(|each| each["id"].clone()).collect();
        assert_eq!(found, ids, "{flag}");
    }
}

#[test]
fn a_server_is_named_by_host_and_port_and_advice_speaks_of_flags() {
    let server = Server::start(&["--trial"]);
    let (address, key) = (server.address("http"), std::fs::read_to_string(server.data().join("admin.key")));
    let key = key.expect("its owner reads it");
    for url in [address.clone(), format!("http://{address}/")] {
        let listed = run(&["key", "list", "--url", &url, "--key", &key, "--json"]);
        assert!(listed.status.success(), "{url}: {}", err(&listed));
    }
    let file = server.data().join("admin.key");
    let file = file.to_str().expect("a path in UTF-8");
    let listed = run(&["key", "list", "--url", &address, "--key-file", file, "--key", "wrong", "--json"]);
    assert!(listed.status.success(), "the file goes before: {}", err(&listed));
    let missing = run(&["key", "list", "--url", &address, "--key-file", "no-such-file"]);
    assert!(err(&missing).contains("the key file no-such-file cannot be read"), "{}", err(&missing));
    let refused = run(&["key", "list", "--url", "ftp://stadium.example", "--key", &key]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("http or https"), "{}", err(&refused));
    // Without a key, and with a name for the request that is none.
    let refused = run(&["key", "list", "--url", &address]);
    assert!(err(&refused).contains("--key-file or STADIUM_KEY"), "{}", err(&refused));
    let strange = run(&["push", "everybody", "x", "--url", &address, "--key", &key, "--id", "a b"]);
    assert!(err(&strange).contains("--id has 1 to 128 visible ASCII characters"), "{}", err(&strange));
    for printed in [err(&refused), err(&strange)] {
        assert!(!printed.contains("header") && !printed.contains("Idempotency-Key"), "{printed}");
    }
}

#[test]
fn a_push_of_either_kind_is_shown_by_its_id() {
    let server = Server::start(&["--trial"]);
    let live = server.answers(&["push", "everybody", "x"])["id"].as_str().expect("an id").to_owned();
    let shown = server.prints(&["push", "show", &live]);
    assert!(shown.starts_with(&format!("live push {live} settled, accepted ")), "{shown}");
    assert!(shown.contains("  0 targeted, 0 delivered\n"), "{shown}");
    assert_eq!(server.answers(&["push", "show", &live])["live"], true);
    assert_eq!(server.answers(&["push", "watch", &live])["counts"]["targeted"], 0);
    let trace = server.prints(&["push", "trace", &live, "a"]);
    assert!(trace.starts_with("a did not get it: no connection took the live push at "), "{trace}");
    for command in [&["push", "cancel", &live][..], &["push", "deliveries", &live]] {
        server.fails(1, command, "PSH-030");
    }
    let made = server.answers(&["push", "send", "all", "--title", "x"]);
    let durable = made["id"].as_str().expect("an id").to_owned();
    assert!(server.prints(&["push", "show", &durable]).starts_with(&durable));
    let again = server.answers(&["push", "send", "channel:news", "--live", "--message", "x"]);
    let channel = again["id"].as_str().expect("an id").to_owned();
    let listed = server.answers(&["push", "list"]);
    let ids = listed["pushes"].as_array().expect("a list").iter().map(|push| &push["id"]);
    assert_eq!(ids.collect::<Vec<_>>(), [&channel, &durable, &live]);
    assert!(server.prints(&["push", "list"]).contains("settled, live"));
    // The alias finds a durable push.
    let key = std::fs::read_to_string(server.data().join("admin.key")).expect("its owner reads it");
    let url = format!("http://{}/api/pushes/{durable}", server.address("http"));
    let answer = ureq::get(&url)
        .config()
        .http_status_as_error(false)
        .build()
        .header("Authorization", format!("Bearer {}", key.trim()))
        .call();
    let text = answer.expect("it answers").body_mut().read_to_string().expect("text");
    assert!(text.contains("/api/apps/APP/pushes/"), "{text}");
}

#[test]
fn keys_are_made_used_and_revoked() {
    let server = Server::start(&["--trial"]);
    let made = json(&server.client(&["key", "create", "reader", "--role", "viewer", "--json"]));
    let (id, secret) =
        (made["key"]["id"].as_str().expect("an id"), made["secret"].as_str().expect("a secret"));
    let refused = server.client(&["push", "everybody", "x", "--key", secret]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("HTTP-003"), "{}", err(&refused));
    let listed = json(&server.client(&["key", "list", "--json"]));
    assert!(listed["keys"].as_array().expect("it is a list").iter().any(|key| key["id"] == id));
    assert!(server.client(&["key", "revoke", id]).status.success());
    let refused = server.client(&["key", "list", "--key", secret]);
    assert!(err(&refused).contains("HTTP-002"), "{}", err(&refused));
}

#[test]
fn sigterm_moves_devices_away_and_exits_with_0() {
    let mut server = Server::start(&["--trial"]);
    let mut device = Device::connect(&server.address("mqtt"), "d");
    server.signal("TERM");
    let ending = device.receive().expect("an MQTT 5 device gets the reason");
    assert_eq!(ending.first, DISCONNECT);
    assert!(matches!(ending.body.first(), Some(0x8b | 0x9c | 0x9d)), "it is asked to move: {ending:?}");
    assert_eq!(server.ended().code(), Some(0));
    assert!(!server.data().join("running.json").exists());
}

#[test]
fn a_second_signal_leaves_at_once() {
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        let mut server = Server::start(&["--trial", "--set", "server.drain_devices_per_second=1"]);
        let _fleet: Vec<_> =
            (0..40).map(|n| Device::connect(&server.address("mqtt"), &format!("d{n}"))).collect();
        server.signal(name);
        wait_for("the drain", || (!server.client(&["health"]).status.success()).then_some(()));
        server.signal(name);
        assert_eq!(server.ended().code(), Some(code), "{name}");
    }
}

#[test]
fn grace_period_ends_a_drain_that_takes_too_long() {
    let slow = ["--trial", "--set", "server.drain_devices_per_second=1", "--set", "server.grace_period_s=2"];
    let mut server = Server::start(&slow);
    let _fleet: Vec<_> =
        (0..40).map(|n| Device::connect(&server.address("mqtt"), &format!("d{n}"))).collect();
    let began = std::time::Instant::now();
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn sighup_reads_certificates_again() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    let renew = || {
        let made =
            rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("it can be signed");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("the directory is writable");
        std::fs::write(&certificate, made.cert.pem()).expect("the directory is writable");
        made.cert.der().to_vec()
    };
    let first = renew();
    let (certificate_shown, key_shown) = (certificate.display().to_string(), key.display().to_string());
    let server = Server::start(&[
        "--trial",
        "--mqtts",
        "127.0.0.1:0",
        "--certificate",
        &certificate_shown,
        "--certificate-key",
        &key_shown,
    ]);
    let address = server.address("mqtts");
    assert_eq!(shown_certificate(&address), first);
    let second = renew();
    server.signal("HUP");
    wait_for("the new certificate", || (shown_certificate(&address) == second).then_some(()));
    // A broken file leaves the server with what it has.
    std::fs::write(&certificate, "not a certificate").expect("the directory is writable");
    server.signal("HUP");
    let mut device = Device::connect(&server.address("mqtt"), "still-there");
    device.subscribe("inbox/still-there");
    assert_eq!(shown_certificate(&address), second);
}

#[test]
fn mqtt_over_web_socket_is_served_on_the_http_port() {
    let server = Server::start(&["--trial"]);
    speaks_mqtt_over_web_socket(&server, "http");
}

#[test]
fn mqtt_over_web_socket_is_served_on_a_port_of_its_own() {
    let server = Server::start(&["--trial", "--ws", "127.0.0.1:0"]);
    speaks_mqtt_over_web_socket(&server, "ws");
}

fn speaks_mqtt_over_web_socket(server: &Server, listener: &str) {
    let mut stream = upgraded(&server.address(listener), "/mqtt", "Sec-WebSocket-Protocol: mqtt\r\n");
    // CONNECT of the device `w`, MQTT 5.0, in one masked binary frame (RFC 6455, 5.2) with a mask
    // of zeros.
    let connect = [0x10, 0x0e, 0, 4, b'M', b'Q', b'T', b'T', 5, 2, 0, 60, 0, 0, 1, b'w'];
    stream.write_all(&[&[0x82, 0x80 | 16, 0, 0, 0, 0], &connect[..]].concat()).expect("the server reads");
    let mut frame = [0; 4];
    stream.read_exact(&mut frame).expect("the server answers");
    assert_eq!((frame[0], frame[2]), (0x82, 0x20), "a binary frame with a CONNACK");
    let shown = json(&server.client(&["device", "show", "w", "--json"]));
    assert_eq!(shown["connection"]["transport"], "ws");
}

#[test]
fn trial_mode_echoes_web_socket_messages() {
    let server = Server::start(&["--trial"]);
    let mut stream = upgraded(&server.address("http"), "/echo", "");
    stream.write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']).expect("the server reads");
    let mut echoed = [0; 4];
    stream.read_exact(&mut echoed).expect("the server answers");
    assert_eq!(echoed, [0x81, 2, b'h', b'i']);
}

/// A WebSocket on the HTTP port, as far as the answer to its upgrade (RFC 6455, 4.1).
fn upgraded(address: &str, path: &str, more: &str) -> std::net::TcpStream {
    let mut stream = std::net::TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(binary::PATIENCE)).expect("the socket is open");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the server answers");
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    stream
}

#[test]
fn a_swarm_connects_to_it_and_prints_its_figures() {
    let server = Server::start(&["--trial"]);
    let target = server.address("mqtt");
    let swarm = run_in(
        server.data(),
        &[
            "load",
            "swarm",
            "--target",
            &target,
            "--devices",
            "100",
            "--rate",
            "1000",
            "--hold",
            "100ms",
            "--json",
        ],
    );
    assert!(swarm.status.success(), "{}", err(&swarm));
    assert_eq!(json(&swarm)["at_end"]["up"], 100);
}

#[test]
fn the_first_process_of_a_container_drains_on_sigterm() {
    // A process id namespace of its own makes the server process 1 there, whose signals have no
    // default action.
    let data = tempfile::tempdir().expect("a temporary directory can be made");
    let mut child = std::process::Command::new("unshare")
        .args(["--map-root-user", "--pid", "--fork", "--kill-child"])
        .arg(env!("CARGO_BIN_EXE_stadium"))
        .args([
            "serve",
            "--trial",
            "--json",
            "--mqtt",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
            "--rpc",
            "off",
            "--loops",
            "1",
            "--data",
        ])
        .arg(data.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("unshare (Debian package util-linux) can be run");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it reports that it is ready");
    let ready: serde_json::Value =
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    assert_eq!(ready["pid"], 1);
    let server =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("it has a child");
    let sent = std::process::Command::new("kill").args(["-s", "TERM", server.trim()]).status();
    assert!(sent.expect("kill can be run").success());
    let ended = wait_for("the server's end", || child.try_wait().expect("it is our child"));
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn the_api_is_served_over_https() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("it can be signed");
    let (certificate, key) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("the directory is writable");
    std::fs::write(&certificate, made.cert.pem()).expect("the directory is writable");
    let set = |name: &str, path: &std::path::Path| format!("http.{name}={}", path.display());
    let server =
        Server::start(&["--trial", "--set", &set("certificate", &certificate), "--set", &set("key", &key)]);
    let trusted = server.client(&["health", "--ca", &certificate.display().to_string()]);
    assert!(
        trusted.status.success() && out(&trusted).contains("https://"),
        "{} {}",
        out(&trusted),
        err(&trusted)
    );
    let distrusted = server.client(&["health"]);
    assert_eq!(distrusted.status.code(), Some(1), "nobody vouches for its certificate");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let server = Server::start(&["--trial"]);
    let data = server.data().display().to_string();
    let failed = run_in(
        server.data(),
        &["serve", "--trial", "--mqtt", "off", "--http", "127.0.0.1:0", "--data", &data],
    );
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("in use by another stadium"), "{}", err(&failed));

    let elsewhere = tempfile::tempdir().expect("a temporary directory can be made");
    let taken = server.address("http");
    let failed =
        run_in(elsewhere.path(), &["serve", "--trial", "--mqtt", "off", "--rpc", "off", "--http", &taken]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains(&taken), "{}", err(&failed));
}

#[test]
fn a_password_that_is_set_lets_a_device_in() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let file = directory.path().join("passwords");
    let shown = file.display().to_string();
    set_password(&file, "ann", "secret-7");
    let server = Server::start(&["--set", &format!("auth.password.file={shown}")]);
    let connect = |user: &str, password: &str| {
        Device::try_connect(&server.address("mqtt"), user, Some((user, password))).1
    };
    assert_eq!(connect("ann", "secret-7"), 0);
    assert_ne!(connect("ann", "wrong"), 0);
    assert_ne!(connect("bob", "secret-8"), 0);
    set_password(&file, "bob", "secret-8");
    server.signal("HUP");
    wait_for("the new password", || (connect("bob", "secret-8") == 0).then_some(()));
}

fn set_password(file: &std::path::Path, user: &str, password: &str) {
    let mut child = stadium(&["device", "passwd", user, "--file", &file.display().to_string()])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the binary can be run");
    child.stdin.take().expect("it is piped").write_all(password.as_bytes()).expect("it reads");
    assert!(child.wait().expect("it ends").success());
}

/// The certificate that a TLS listener shows.
fn shown_certificate(address: &str) -> Vec<u8> {
    use rustls::pki_types::ServerName;

    let mut stream = std::net::TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(binary::PATIENCE)).expect("the socket is open");
    let config =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring speaks them")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("it is a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).expect("the configuration is right");
    while tls.is_handshaking() {
        tls.complete_io(&mut stream).expect("the handshake goes on");
    }
    tls.peer_certificates().expect("a server shows one")[0].to_vec()
}

/// Believes anybody: the test compares the certificate itself.
#[derive(Debug)]
struct Anybody;

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
