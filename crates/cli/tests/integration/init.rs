//! `stadium init`: a server that is started with its files lets a device in over TLS, and delivers
//! a push to it.
//!
//! Black box: the built binary, and mosquitto_sub as the device.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use stadium_testing::clients::Subscriber;
use stadium_testing::mortal;

use crate::binary::{SMALL, err, json, out, run_in};

/// A folder that init has written.
struct House {
    folder: tempfile::TempDir,
    answer: Value,
}

impl House {
    fn made(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let ports = ["--mqtts", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json"];
        let done = run_in(folder.path(), &[&["init"], arguments, &ports].concat());
        assert!(done.status.success(), "{}", err(&done));
        Self { answer: json(&done), folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a command in the folder, which must work.
    fn does(&self, arguments: &[&str]) -> String {
        let done = run_in(self.path(), arguments);
        assert!(done.status.success(), "{arguments:?}: {}", err(&done));
        out(&done)
    }

    /// Starts the server with these files and nothing else that matters to devices.
    fn serve(&self) -> Running {
        let mut command = mortal::command(env!("CARGO_BIN_EXE_stadium"));
        command.args(["serve", "--json", "--rpc", "127.0.0.1:0", "--loops", "1"]).args(SMALL);
        command.current_dir(self.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        Running::of(&mut command)
    }
}

struct Running {
    child: Child,
    ready: Value,
}

impl Running {
    fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().expect("the binary can be run");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it is ready");
        let ready = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, ready }
    }

    fn port(&self, name: &str) -> String {
        let listeners = self.ready["listeners"].as_array().expect("it is a list");
        let found = listeners.iter().find(|listener| listener["name"] == name).expect("it listens");
        found["address"].as_str().expect("it is text").rsplit(':').next().expect("a port").to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Connects over TLS, trusting `ca.pem`, with what the device has, and waits for a push.
fn device_gets_a_push(house: &House, server: &Running, proof: &[&str], (app, client_id): (&str, &str)) {
    let (ca, port, inbox) = (house.file("tls/ca.pem"), server.port("mqtts"), format!("inbox/{client_id}"));
    let common = [
        "--cafile",
        &ca,
        "-h",
        "localhost",
        "-p",
        &port,
        "-V",
        "5",
        "-q",
        "1",
        "-i",
        client_id,
        "-t",
        &inbox,
    ];
    let mut device = Subscriber::start(&[&common, proof].concat()).expect("the device is let in");
    let device_id = client_id.rsplit('/').next().expect("an id");
    house.does(&["push", "send", &format!("device:{device_id}"), "--title", "Hello", "--app", app]);
    let message = device.message().expect("the push comes");
    assert!(message.contains("Hello"), "{message}");

    // Nobody else is let in.
    let stranger =
        ["--cafile", &ca, "-h", "localhost", "-p", &port, "-V", "5", "-i", "stranger", "-t", "channels/a"];
    assert!(Subscriber::start(&stranger).is_err(), "a device without any proof was let in");
}

#[test]
fn a_device_with_a_credential_gets_a_push_over_tls() {
    let house = House::made(&["--yes"]);
    let config = house.text("stadium.toml");
    assert!((10..=25).contains(&config.lines().count()), "{config}");
    let next: Vec<&str> =
        house.answer["next"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let credential = "stadium device credential phone-1 --register > phone-1.secret";
    assert_eq!(next[..3], ["stadium serve", "stadium apply apply.toml", credential]);
    assert!(next[3].starts_with("mosquitto_sub --cafile tls/ca.pem -h localhost -p "), "{next:?}");
    assert!(next[3].ends_with(" -i phone-1 -u phone-1 -P \"$(cat phone-1.secret)\" -q 1 -t inbox/phone-1"));
    assert_eq!(next[4..], ["stadium push send device:phone-1 --title Hello"]);
    let server = house.serve();
    house.does(&["apply", "apply.toml", "--yes"]);
    let key = house.text("keys/backend.key");
    let secret = house.does(&["device", "credential", "phone-1", "--register"]);
    device_gets_a_push(&house, &server, &["-u", "any", "-P", secret.trim()], ("default", "phone-1"));
    // The backend's key is one of a sender.
    let backend = ["--key", key.trim()];
    house.does(&[&["push", "send", "device:phone-1", "--title", "Again"][..], &backend].concat());
    let refused = run_in(house.path(), &[&["queue", "declare", "q"][..], &backend].concat());
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn a_device_with_a_password_gets_a_push_over_tls() {
    let house = House::made(&["--devices", "passwords", "--app", "shop", "--device", "till-1"]);
    let server = house.serve();
    house.does(&["apply", "apply.toml", "--yes"]);
    let password = house.text("devices/shop-till-1.password");
    let device = house.answer["next"][2].as_str().expect("it is text");
    assert!(device.starts_with("mosquitto_sub --cafile tls/ca.pem -h localhost -p "), "{device}");
    assert!(device.contains("-P \"$(cat devices/shop-till-1.password)\""), "{device}");
    let proof = ["-u", "shop/till-1", "-P", password.trim()];
    device_gets_a_push(&house, &server, &proof, ("shop", "shop/till-1"));
}

#[test]
fn a_device_with_a_token_gets_a_push_over_tls() {
    let house = House::made(&["--devices", "tokens"]);
    let server = house.serve();
    let token = house.text("devices/phone-1.token");
    device_gets_a_push(&house, &server, &["-u", "any", "-P", token.trim()], ("default", "phone-1"));
}

#[test]
fn a_device_with_a_certificate_gets_a_push_over_tls() {
    let house = House::made(&["--devices", "certificates"]);
    let server = house.serve();
    let (certificate, key) = (house.file("devices/phone-1.pem"), house.file("devices/phone-1.key"));
    device_gets_a_push(&house, &server, &["--cert", &certificate, "--key", &key], ("default", "phone-1"));
}

#[test]
fn secrets_are_their_owners_alone_and_not_in_the_configuration() {
    for devices in ["credentials", "passwords", "tokens", "certificates"] {
        let house = House::made(&["--devices", devices]);
        let written = house.answer["files"].as_array().expect("a list").clone();
        for file in written.iter().filter_map(Value::as_str).map(PathBuf::from) {
            let mode = std::fs::metadata(&file).expect("it was written").permissions().mode() & 0o777;
            let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_owned();
            let is_public = matches!(&*ending, "pem" | "toml");
            assert_eq!(mode, if is_public { 0o644 } else { 0o600 }, "{}", file.display());
            let text = std::fs::read_to_string(&file).expect("it is text");
            assert!(!is_public || !text.contains("PRIVATE"), "{}", file.display());
        }
        let checked = house.does(&["config", "check"]);
        assert!(checked.starts_with("ok:"), "{checked}");
    }
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let refused = |name: &str| {
        let done =
            run_in(folder.path(), &["init", "--yes", "--mqtts", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        assert_eq!(done.status.code(), Some(1), "{name}: {}", out(&done));
        assert!(
            err(&done).contains(name) && err(&done).contains("overwrites nothing"),
            "{name}: {}",
            err(&done)
        );
    };
    for name in ["stadium.toml", "apply.toml", "tls/server.key"] {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("it can be made");
        std::fs::write(&file, "mine").expect("it is writable");
        refused(name);
        assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "mine");
        std::fs::remove_file(&file).expect("it is ours");
    }
    // Not even a part was written.
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("it is there").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    std::fs::create_dir_all(folder.path().join("stadium-data/shard-0")).expect("it can be made");
    let done = run_in(folder.path(), &["init", "--yes"]);
    assert!(err(&done).contains("is not empty"), "{}", err(&done));
}

#[test]
fn a_configuration_that_sets_nothing_is_replaced() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let config = folder.path().join("stadium.toml");
    let init =
        || run_in(folder.path(), &["init", "--yes", "--mqtts", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
    let sample = run_in(folder.path(), &["config", "sample"]);
    std::fs::write(&config, out(&sample)).expect("it is writable");
    let done = init();
    assert!(done.status.success(), "{}", err(&done));
    let text = std::fs::read_to_string(&config).expect("it is there");
    assert!(text.contains("[mqtts]\nlisten = "), "{text}");
    // Now it sets something.
    assert!(err(&init()).contains("overwrites nothing"));
    assert_eq!(std::fs::read_to_string(&config).expect("it is there"), text);
}

#[test]
fn in_a_folder_with_the_setgid_bit_its_group_reads_the_secrets() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let place = folder.path().join("etc");
    std::fs::create_dir(&place).expect("it can be made");
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o2755)).expect("it is ours");
    let done = run_in(folder.path(), &["init", "etc", "--yes", "--devices", "passwords"]);
    assert!(done.status.success(), "{}", err(&done));
    for (name, mode) in
        [("tls", 0o2750), ("tls/server.key", 0o640), ("passwords", 0o640), ("tls/ca.pem", 0o644)]
    {
        let found = std::fs::metadata(place.join(name)).expect("it was written").permissions().mode();
        assert_eq!(found & 0o7777, mode, "{name}");
    }
}

#[test]
fn contradictions_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    for (flags, why) in [
        (&["--tls", "files"][..], "needs --certificate"),
        (&["--tls", "off", "--devices", "certificates"], "over TLS only"),
        (&["--tls", "off", "--http", "0.0.0.0:8080"], "as plain text"),
        (&["--tls", "off", "--certificate", "/dev/null", "--certificate-key", "/dev/null"], "not --tls off"),
        (&["--certificate", "/dev/null"], "--certificate-key"),
        (&["--app", "Shop"], "small letters"),
        (&["--device", "a/b"], "letters, digits"),
        (&["--devices", "wishes"], "credentials"),
    ] {
        let done = run_in(folder.path(), &[&["init"], flags].concat());
        assert_eq!(done.status.code(), Some(2), "{flags:?}: {}", err(&done));
        assert!(err(&done).contains(why), "{flags:?}: {}", err(&done));
    }
    let missing = run_in(folder.path(), &["init", "--certificate", "a.pem", "--certificate-key", "a.key"]);
    assert!(err(&missing).contains("a.pem"), "{}", err(&missing));
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
}

#[test]
fn without_tls_mqtt_stays_on_this_machine() {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    let done =
        run_in(folder.path(), &["init", "new/place", "--tls", "off", "--mqtt", "127.0.0.1:0", "--yes"]);
    assert!(done.status.success(), "{}", err(&done));
    let text = std::fs::read_to_string(folder.path().join("new/place/stadium.toml")).expect("it was written");
    assert!(text.contains("listen = \"127.0.0.1:0\"") && !text.contains("[mqtts]"), "{text}");
    let next = out(&done);
    assert!(next.contains("stadium serve --config ") && next.contains("new/place/stadium.toml"), "{next}");
}
