//! `stadium config`: the built binary's reports about a configuration.
//!
//! The rules of single settings are tested beside their definitions, in `stadium_node::settings`.

use crate::binary;

use binary::{err, json, out, run, run_in, stadium};

#[test]
fn check_accepts_nothing_and_the_sample() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    assert!(run_in(directory.path(), &["config", "check", "--no-ports"]).status.success());
    let sample = run(&["config", "sample"]);
    std::fs::write(directory.path().join("stadium.toml"), &sample.stdout).expect("the directory is writable");
    let checked = run_in(directory.path(), &["config", "check", "--no-ports", "--json"]);
    assert!(checked.status.success(), "{}", err(&checked));
    assert_eq!(json(&checked)["file"], "stadium.toml");
    assert_eq!(json(&checked)["changed"], 0);
}

#[test]
fn check_reports_every_mistake_with_its_line_and_exits_with_1() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let text = "[mqtt]\nlisten = \"127.0.0.1:1883\"\nbaklog = 7\n[limits]\nreceive_maximum = 0\n";
    std::fs::write(directory.path().join("my.toml"), text).expect("the directory is writable");
    let failed = run_in(directory.path(), &["config", "check", "my.toml"]);
    assert_eq!(failed.status.code(), Some(1));
    let report = err(&failed);
    assert!(report.contains("the configuration has 2 problems"), "{report}");
    assert!(
        report.contains("my.toml:3: mqtt.baklog is no setting; did you mean mqtt.backlog? (SET-002)"),
        "{report}"
    );
    assert!(
        report.contains("my.toml:5: limits.receive_maximum = 0: must be 1 to 65,535 messages (SET-004)"),
        "{report}"
    );
}

#[test]
fn a_file_that_is_named_must_exist() {
    let failed = run(&["config", "check", "nowhere.toml"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("nowhere.toml: cannot be read"), "{}", err(&failed));
}

#[test]
fn show_names_the_source_of_each_value() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    std::fs::write(directory.path().join("stadium.toml"), "[server]\nloops = 3\n")
        .expect("the directory is writable");
    let shown = stadium(&[
        "config",
        "show",
        "--json",
        "--changed",
        "--http",
        "127.0.0.1:9",
        "--set",
        "log.format=json",
    ])
    .env("STADIUM_LIMITS__CONNECTIONS_MAX", "77")
    .current_dir(directory.path())
    .output()
    .expect("the binary can be run");
    let entries = json(&shown);
    let mut report: Vec<String> = entries
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|entry| format!("{} {} {}", entry["setting"], entry["value"], entry["from"]).replace('"', ""))
        .collect();
    report.sort();
    assert_eq!(
        report,
        [
            "http.listen 127.0.0.1:9 flag --http",
            "limits.connections_max 77 environment STADIUM_LIMITS__CONNECTIONS_MAX",
            "log.format json flag --set",
            "server.loops 3 stadium.toml:2",
        ]
    );
    let text = out(&run(&["config", "show"]));
    assert!(text.contains("[mqtt]") && text.contains("listen = \"127.0.0.1:1883\""), "{text}");
}

#[test]
fn trial_mode_refuses_to_be_reachable() {
    let failed = run(&["config", "check", "--trial", "--mqtt", "0.0.0.0:1883"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("not loopback"), "{}", err(&failed));
}

#[test]
fn reference_is_the_page_in_the_repository() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/configuration.md");
    let kept = std::fs::read_to_string(page).expect("the page is in the repository");
    assert_eq!(out(&run(&["config", "reference"])).trim_end(), kept.trim_end());
}

#[test]
fn examples_are_right() {
    for example in ["stadium.toml", "cluster.toml"] {
        let example = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/{}"), example);
        let checked = run(&["config", "check", "--offline", &example]);
        assert!(checked.status.success(), "{}", err(&checked));
    }
}

/// A certificate and its key, PEM, valid between these years.
fn certificate(from: i32, until: i32) -> (String, String) {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    parameters.not_before = rcgen::date_time_ymd(from, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
    (parameters.self_signed(&key).expect("a certificate").pem(), key.serialize_pem())
}

#[test]
fn check_opens_parses_and_tries_what_the_settings_name_and_reports_all_at_once() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let put = |name: &str, text: &str| {
        std::fs::write(directory.path().join(name), text).expect("the directory is writable");
    };
    let (good, key) = certificate(2020, 2400);
    let (expired, expired_key) = certificate(2001, 2002);
    let (_, other_key) = certificate(2020, 2400);
    for (name, text) in [
        ("good.pem", &good),
        ("good.key", &key),
        ("old.pem", &expired),
        ("old.key", &expired_key),
        ("other.key", &other_key),
    ] {
        put(name, text);
    }
    put("empty.pem", "no certificate\n");
    put("passwords", "ada:not-a-hash\n");
    put("rules.toml", "[[rules]]\nalow = 1\n");
    put("short.key", "");
    put("jwks.json", "{}x");
    put("data", "a file");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = listener.local_addr().expect("an address");
    let text = format!(
        r#"[server]
data = "data"
[mqtt]
listen = "{taken}"
[mqtts]
listen = "127.0.0.1:0"
certificate = "good.pem"
key = "other.key"
client_ca = "empty.pem"
client_certificates = "optional"
[wss]
listen = "127.0.0.1:0"
certificate = "old.pem"
key = "old.key"
[http]
listen = "127.0.0.1:0"
certificate = "missing.pem"
key = "good.key"
[http.oidc]
issuer = "http://localhost:9"
client_id = "stadium"
client_secret_file = "no-secret"
redirect_url = "https://push.example.org/auth/callback"
roles = {{ "/team/a b" = ["operator"] }}
[rpc]
listen = "203.0.113.7:7800"
open = true
[auth]
rules_file = "rules.toml"
[auth.password]
file = "passwords"
[auth.token]
keys = ["eddsa k1 short.key"]
key_sets = ["jwks.json"]
"#
    );
    put("stadium.toml", &text);
    let checked = run_in(directory.path(), &["config", "check", "--json"]);
    assert_eq!(checked.status.code(), Some(1), "{}", err(&checked));
    let report = json(&checked);
    assert_eq!(report["ok"], false);
    let findings = report["findings"].as_array().expect("a list");
    for (setting, file, part) in [
        ("server.data", "data", "no folder"),
        ("mqtt.listen", "", "taken by another process"),
        ("mqtts.key", "other.key", "no pair"),
        ("mqtts.client_ca", "empty.pem", "certificate"),
        ("wss.certificate", "old.pem", "ended on"),
        ("http.certificate", "missing.pem", "cannot be read"),
        ("http.oidc.client_secret_file", "no-secret", "cannot read no-secret"),
        ("rpc.listen", "", "no address of this machine"),
        ("auth.password.file", "passwords", "passwords"),
        ("auth.rules_file", "rules.toml", "rules.toml"),
        ("auth.token.keys", "short.key", "short.key"),
        ("auth.token.key_sets", "jwks.json", "jwks.json"),
    ] {
        let found = findings.iter().find(|finding| finding["setting"] == setting);
        let found = found.unwrap_or_else(|| panic!("{setting} is not in {report:#}"));
        assert_eq!(found["severity"], "error", "{found}");
        assert_eq!(found["file"].as_str().unwrap_or_default(), file, "{found}");
        assert!(found["message"].as_str().is_some_and(|message| message.contains(part)), "{found}");
        assert!(found["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{found}");
        assert!(found["from"].as_str().is_some_and(|from| from.starts_with("stadium.toml:")), "{found}");
    }
    assert_eq!(findings.iter().filter(|finding| finding["severity"] == "error").count(), 12, "{report:#}");
    let text = run_in(directory.path(), &["config", "check"]);
    assert_eq!(text.status.code(), Some(1));
    assert!(err(&text).contains("mqtts.key = \"other.key\""), "{}", err(&text));
    assert!(err(&text).contains("the configuration has 12 errors"), "{}", err(&text));
    // Elsewhere, the settings alone are right.
    assert!(run_in(directory.path(), &["config", "check", "--offline"]).status.success());
    let without = json(&run_in(directory.path(), &["config", "check", "--no-ports", "--json"]));
    let ports = without["findings"].as_array().expect("a list").iter();
    assert_eq!(ports.filter(|finding| finding["code"] == "SET-007").count(), 0, "{without:#}");
    drop(listener);
}

#[test]
fn check_of_a_configuration_that_fits_changes_nothing_and_warnings_do_not_fail() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let (good, key) = certificate(2020, 2400);
    let (expired, _) = certificate(2001, 2002);
    for (name, text) in [("good.pem", &good), ("good.key", &key), ("old.pem", &expired)] {
        std::fs::write(directory.path().join(name), text).expect("the directory is writable");
    }
    let text = "[mqtt]\nlisten = \"127.0.0.1:0\"\n[rpc]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\n\
                certificate = \"good.pem\"\nkey = \"good.key\"\n[mqtts]\ncertificate = \"old.pem\"\nkey = \"good.key\"\n";
    std::fs::write(directory.path().join("stadium.toml"), text).expect("the directory is writable");
    let before = std::fs::read_dir(directory.path()).expect("a folder").count();
    let checked = run_in(directory.path(), &["config", "check", "--json"]);
    assert!(checked.status.success(), "{} {}", out(&checked), err(&checked));
    let report = json(&checked);
    let warnings: Vec<&str> = report["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|finding| finding["severity"] == "warning")
        .map(|finding| finding["setting"].as_str().expect("a text"))
        .collect();
    assert_eq!(warnings, ["mqtts.certificate", "mqtts.key"], "a listener that is off: {report:#}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("a folder").count(), before, "nothing is made");
}

#[test]
fn check_reports_two_settings_with_one_port_and_a_running_server() {
    let server = binary::Server::trial();
    let data = server.data().display().to_string();
    let (mqtt, http) = (server.address("mqtt"), server.address("http"));
    let rpc = server.address("rpc");
    let arguments = [
        "config", "check", "--trial", "--data", &data, "--mqtt", &mqtt, "--http", &http, "--rpc", &rpc,
        "--json",
    ];
    let checked = run(&arguments);
    assert!(checked.status.success(), "its own ports are not taken: {}", out(&checked));
    let report = json(&checked);
    let note =
        report["findings"].as_array().expect("a list").iter().find(|finding| finding["code"] == "SET-008");
    assert!(note.is_some_and(|note| note["severity"] == "note"), "{report:#}");
    // Another server's data folder: the ports are taken.
    let other = tempfile::tempdir().expect("a temporary directory can be made");
    let other = other.path().display().to_string();
    let arguments =
        ["config", "check", "--trial", "--data", &other, "--mqtt", &mqtt, "--http", &http, "--json"];
    let report = json(&run(&arguments));
    let taken =
        report["findings"].as_array().expect("a list").iter().filter(|finding| finding["code"] == "SET-007");
    assert!(taken.clone().any(|finding| finding["setting"] == "mqtt.listen"), "{report:#}");
    assert!(taken.clone().any(|finding| finding["setting"] == "http.listen"), "{report:#}");
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let free = free.expect("a port").to_string();
    let failed = run(&[
        "config", "check", "--trial", "--data", &other, "--mqtt", &free, "--http", &free, "--rpc", "off",
    ]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(err(&failed).contains("is taken by mqtt.listen of this configuration"), "{}", err(&failed));
}
