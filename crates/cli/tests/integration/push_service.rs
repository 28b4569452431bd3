//! The service `push` of a running server, called as `stadium service call` does: its answers, its
//! refusals, and its access rules.
//!
//! The device at the other end is an MQTT client of the suite, so that what it gets and acknowledges is the test's own.

use crate::binary;

use std::fs;
use std::process::Output;

use binary::device::Device;
use binary::{Server, err, json, out, run, wait_for};
use serde_json::{Value, json};

/// Ids of pushes: 16 bytes, of which the last one is given.
const FIRST: &str = "AAAAAAAAAAAAAAAAAAAAAQ==";
const SECOND: &str = "AAAAAAAAAAAAAAAAAAAAAg==";

struct Scene {
    server: Server,
    rpc: String,
    admin: String,
}

impl Scene {
    fn start() -> Self {
        let server = Server::trial();
        let (rpc, admin) = (server.address("rpc"), server.data().join("admin.key").display().to_string());
        Self { server, rpc, admin }
    }

    fn call_with(&self, key: &str, route: &str, request: &Value) -> Output {
        let request = request.to_string();
        let mut all = vec!["service", "call", route, &request, "--instance", &self.rpc, "--json"];
        if !key.is_empty() {
            all.extend(["--bearer-file", key]);
        }
        binary::run_in(self.server.data(), &all)
    }

    fn call(&self, route: &str, request: Value) -> Output {
        self.call_with(&self.admin, route, &request)
    }

    fn asked(&self, route: &str, request: Value) -> Value {
        let answer = self.call(route, request);
        assert!(answer.status.success(), "{route}: {}", err(&answer));
        json(&answer)
    }

    fn refused(&self, route: &str, request: Value, code: &str) {
        let answer = self.call(route, request.clone());
        assert!(
            answer.status.code() == Some(65) && err(&answer).contains(code),
            "{route} {request}: {}",
            err(&answer)
        );
    }
}

#[test]
fn a_push_goes_out_and_is_reported() {
    let scene = Scene::start();
    let changes = |text: Value| text.to_string();
    let outcomes = scene.asked(
        "push/ChangeDevices",
        json!({"devices": [
            {"device": "phone-1", "changes": changes(json!({"tags": {"add": ["vip"]}, "attributes": {"name": "Anna"}}))},
            {"device": "phone-2"},
        ]}),
    );
    assert_eq!(outcomes["outcomes"].as_array().map(Vec::len), Some(2), "{outcomes}");
    assert_eq!(outcomes["outcomes"][0]["registered"], true, "{outcomes}");

    let selector = json!({"tag": "vip"}).to_string();
    let preview = scene.asked("push/Preview", json!({"selector": selector, "sample_max": 10}));
    assert_eq!((&preview["devices"], &preview["matched"]), (&2.into(), &1.into()), "{preview}");
    assert_eq!(preview["sample"], json!(["phone-1"]), "{preview}");

    let push =
        json!({"id": FIRST, "selector": selector, "notification": {"words": {"title": "Hello {{name}}"}}});
    scene.asked("push/Check", push.clone());
    let receipt = scene.asked("push/Send", push.clone());
    assert_ne!(receipt["duplicate"], true, "{receipt}");
    assert_eq!(scene.asked("push/Send", push)["duplicate"], true);
    let owed = scene.asked("push/FindDevice", json!({"device": "phone-1"}));
    assert_eq!(owed["inbox"][0]["push"], FIRST, "{owed}");
    let facts: Value = serde_json::from_str(owed["device"].as_str().expect("text")).expect("JSON");
    assert_eq!(facts["device"], "phone-1", "{facts}");

    let mut phone = Device::connect(&scene.server.address("mqtt"), "phone-1");
    phone.subscribe("inbox/phone-1");
    let (topic, payload) = phone.message();
    let notification: Value = serde_json::from_str(&payload).expect("a notification is JSON");
    assert_eq!(
        (topic.as_str(), &notification["title"]),
        ("inbox/phone-1", &"Hello Anna".into()),
        "{notification}"
    );
    let report = wait_for("the push is settled", || {
        let report = scene.asked("push/Find", json!({"push": FIRST}));
        (report["stage"] == "PUSH_STAGE_SETTLED").then_some(report)
    });
    assert_eq!(
        (&report["counts"]["matched"], &report["counts"]["delivered"]),
        (&1.into(), &1.into()),
        "{report}"
    );
    assert_eq!(report["push"]["id"], FIRST, "{report}");

    scene.asked("push/Opened", json!({"push": FIRST, "device": "phone-1"}));
    let trace = scene.asked("push/Trace", json!({"push": FIRST, "device": "phone-1"}));
    assert_eq!(trace["state"], "DELIVERY_STATE_OPENED", "{trace}");
    assert!(
        trace["sentence"].as_str().is_some_and(|sentence| sentence.contains("it was opened at")),
        "{trace}"
    );
    let click = |device: &str| json!({"push": FIRST, "device": device, "action": "buy"});
    scene.refused("push/Clicked", click("phone-2"), "PSH-028");
    scene.asked("push/Clicked", click("phone-1"));
    let report = scene.asked("push/Find", json!({"push": FIRST}));
    let counts = (&report["counts"]["opened"], &report["counts"]["clicked"]);
    assert_eq!(counts, (&1.into(), &1.into()), "{report}");
    assert_eq!(report["actions"], json!([{"action": "buy", "clicks": 1}]), "{report}");
    let trace = scene.asked("push/Trace", json!({"push": FIRST, "device": "phone-1"}));
    assert_eq!(trace["state"], "DELIVERY_STATE_CLICKED", "{trace}");
    let last = trace["steps"].as_array().and_then(|steps| steps.last()).expect("steps");
    assert_eq!((&last["what"], &last["action"]), (&json!("clicked"), &json!("buy")), "{trace}");
    let other = scene.asked("push/Trace", json!({"push": FIRST, "device": "phone-2"}));
    assert_eq!(other["state"], "DELIVERY_STATE_NOT_MATCHED", "{other}");
    let listed = scene.asked("push/List", json!({}));
    assert_eq!(listed["pushes"].as_array().map(Vec::len), Some(1), "{listed}");
}

#[test]
fn a_push_that_has_not_started_is_edited_and_cancelled_and_a_schedule_held() {
    let scene = Scene::start();
    let later = |title: &str| {
        json!({"id": SECOND, "selector": "\"all\"", "at_ms": 4_102_444_800_000_u64,
            "notification": {"words": {"title": title}}, "options": {"priority": 7, "per_second": 10}})
    };
    // No span is longer than a year and a day.
    scene.refused("push/Send", later("too late"), "PSH-008");
    let at_ms = u64::try_from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis(),
    )
    .expect("it fits")
        + 3_600_000;
    let soon = |title: &str| {
        let mut push = later(title);
        push["at_ms"] = at_ms.into();
        push
    };
    scene.asked("push/Send", soon("first"));
    scene.asked("push/Edit", soon("second"));
    let report = scene.asked("push/Find", json!({"push": SECOND}));
    assert_eq!(report["stage"], "PUSH_STAGE_SCHEDULED", "{report}");
    assert_eq!(report["push"]["notification"]["words"]["title"], "second", "{report}");
    assert_eq!(report["push"]["options"]["priority"], 7, "{report}");
    scene.asked("push/Cancel", json!({"push": SECOND}));
    let report = scene.asked("push/Find", json!({"push": SECOND}));
    assert_eq!(report["stage"], "PUSH_STAGE_CANCELLED", "{report}");

    let push = json!({"id": FIRST, "selector": "\"all\"", "message": {"payload": "aGk="}});
    let schedule = json!({"name": "daily", "cron": "0 9 * * *", "zone": "Europe/Berlin", "late_ms": 60_000, "push": push});
    scene.asked("push/Schedule", schedule);
    scene.asked("push/Pause", json!({"name": "daily", "paused": true}));
    let listed = scene.asked("push/Schedules", json!({}));
    let one = &listed["schedules"][0];
    assert_eq!((&one["schedule"]["name"], &one["paused"]), (&"daily".into(), &true.into()), "{listed}");
    scene.asked("push/Unschedule", json!({"name": "daily"}));
    let none = scene.asked("push/Schedules", json!({}));
    assert!(none["schedules"].as_array().is_none_or(Vec::is_empty), "{none}");
}

#[test]
fn devices_are_admitted_kept_out_and_forgotten() {
    let scene = Scene::start();
    // SHA-256 of "abc": FIPS 180-2, B.1.
    let secret =
        json!({"device": "phone-1", "secret_sha256": "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="});
    scene.asked("push/Admit", secret);
    let facts = scene.asked("push/FindDevice", json!({"device": "phone-1"}));
    assert!(
        facts["device"].as_str().is_some_and(|facts| facts.contains(r#""has_credential":true"#)),
        "{facts}"
    );
    scene.asked("push/Admit", json!({"device": "phone-1", "revoked": true, "no_credential": true}));
    let facts = scene.asked("push/FindDevice", json!({"device": "phone-1"}));
    let facts = facts["device"].as_str().expect("text");
    assert!(facts.contains(r#""revoked":true"#) && facts.contains(r#""has_credential":false"#), "{facts}");
    let removed = scene.asked("push/RemoveDevices", json!({"devices": ["phone-1", "phone-2"]}));
    assert_eq!(removed["devices"], 1, "{removed}");
    scene.refused("push/FindDevice", json!({"device": "phone-1"}), "PSH-022");
}

#[test]
fn mistakes_are_refused_with_their_place() {
    let scene = Scene::start();
    let text = json!({"payload": "aGk="});
    for (route, request, code) in [
        ("push/Send", json!({"id": FIRST, "message": text}), "for nobody"),
        ("push/Send", json!({"id": FIRST, "device": "a"}), "is empty"),
        ("push/Send", json!({"device": "a", "message": text}), "0 bytes"),
        ("push/Send", json!({"id": FIRST, "device": "a/b", "message": text}), "NODE-010"),
        ("push/Send", json!({"app": "No", "id": FIRST, "device": "a", "message": text}), "NODE-010"),
        ("push/Send", json!({"app": "nope", "id": FIRST, "device": "a", "message": text}), "PSH-020"),
        (
            "push/Send",
            json!({"id": FIRST, "selector": "{\"and\": [{\"tagg\": 1}]}", "message": text}),
            "selector: and[0]",
        ),
        ("push/Send", json!({"id": FIRST, "saved": "none", "message": text}), "PSH-023"),
        (
            "push/Send",
            json!({"id": FIRST, "device": "a", "message": text, "options": {"priority": 10}}),
            "PSH-005",
        ),
        ("push/Find", json!({"push": FIRST}), "PSH-021"),
        ("push/Schedule", json!({"name": "x", "cron": "@daily"}), "set `push`"),
        ("push/Admit", json!({"device": "a"}), "nothing is asked for"),
        ("push/Admit", json!({"device": "a", "secret_sha256": "aGk="}), "32 bytes"),
        ("push/ChangeDevices", json!({}), "PSH-001"),
        (
            "push/ChangeDevices",
            json!({"devices": [{"device": "a", "changes": "{\"tag\": 1}"}]}),
            "devices[0].changes",
        ),
        (
            "push/ChangeDevices",
            json!({"devices": [{"device": "a", "changes": "{\"revoked\": true}"}]}),
            "push/Admit",
        ),
    ] {
        scene.refused(route, request, code);
    }
}

#[test]
fn a_key_may_do_what_its_role_allows() {
    let scene = Scene::start();
    let key = |role: &str| {
        let made = json(&scene.server.client(&["key", "create", role, "--role", role, "--json"]));
        let file = scene.server.data().join(role);
        fs::write(&file, made["secret"].as_str().expect("text")).expect("the directory is writable");
        file.display().to_string()
    };
    let (reads, sends) = (key("viewer"), key("sender"));
    let push = json!({"id": FIRST, "device": "a", "message": {"payload": "aGk="}});
    let table = [
        ("", "push/List", json!({}), Some("NODE-009")),
        (reads.as_str(), "push/List", json!({}), None),
        (&reads, "push/Check", push.clone(), None),
        (&reads, "push/Send", push.clone(), Some("push.send:{app}")),
        (&sends, "push/Send", push, None),
        (&sends, "push/Admit", json!({"device": "a", "revoked": true}), Some("device.manage:{app}/{device}")),
        (&sends, "push/RemoveDevices", json!({"devices": ["a"]}), Some("device.manage:{app}/{device}")),
    ];
    for (key, route, request, refused) in table {
        let answer = scene.call_with(key, route, &request);
        match refused {
            None => assert!(answer.status.success(), "{route}: {}", err(&answer)),
            Some(why) => assert!(err(&answer).contains(why), "{route}: {}", err(&answer)),
        }
    }
    let data = scene.server.data().display().to_string();
    let log = out(&run(&["audit", "export", &data]));
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let of = |route: &str, name: &str| {
        let found = lines.iter().filter(|line| line["route"] == route && line["name"] == name);
        let outcomes = found.map(|line| format!("{} {}", line["status"], line["path"])).collect::<Vec<_>>();
        outcomes.join(", ").replace('"', "")
    };
    assert_eq!(of("RPC push/Send", "viewer"), "403 ", "{log}");
    assert!(of("RPC push/Send", "sender").starts_with("200 default/pushes/"), "{log}");
    assert_eq!(of("RPC push/Admit", "sender"), "403 ", "{log}");
    assert_eq!(of("RPC push/List", "viewer"), "", "looks are no changes: {log}");
}
