//! Pushes and schedules as people use them: `stadium push send | list | show | watch | cancel | trace | deliveries`, `stadium schedule`.
//!
//! Black box: the built binary is the server and the client; each device that gets a push is an
//! MQTT client of the suite.

use crate::binary;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use binary::device::Device;
use binary::{Server, err, out, stadium, wait_for};
use serde_json::{Value, json};

/// Sends a push that must be accepted: its id.
fn sent(server: &Server, arguments: &[&str]) -> String {
    let printed = server.prints(&[&["push", "send"], arguments].concat());
    printed.strip_prefix("accepted ").unwrap_or_else(|| panic!("{printed}")).trim().to_owned()
}

/// A device that is connected and reads its inbox.
fn reader(server: &Server, id: &str) -> Device {
    let mut device = Device::connect(&server.address("mqtt"), id);
    device.subscribe(&format!("inbox/{id}"));
    device
}

/// A command that Ctrl-C ends, also where the suite runs in the background of a shell: such a shell has its commands ignore SIGINT,
/// and theirs.
fn interruptible(command: &Command) -> Command {
    let mut whole = Command::new("env");
    whole
        .arg("--default-signal=INT")
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => whole.env(name, value),
            None => whole.env_remove(name),
        };
    }
    whole
}

/// A time so many seconds from now, as the API writes it, by the `date` of the system.
fn timestamp(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let printed = Command::new("date")
        .args(["-u", "-d", &format!("@{}", now + seconds), "+%Y-%m-%dT%H:%M:%SZ"])
        .output();
    out(&printed.expect("date can be run")).trim().to_owned()
}

#[test]
fn the_tour_of_the_readme_reaches_a_phone_that_was_away() {
    let server = Server::trial();
    server.does(&[
        "device",
        "set",
        "phone-7",
        "--platform",
        "ios",
        "--tag",
        "vip",
        "--attribute",
        "first_name=Ada",
    ]);
    let audience = r#"{"and": [{"tag": "vip"}, {"platform": "ios"}]}"#;
    assert_eq!(server.answers(&["audience", "preview", audience])["reached"], 1);
    let push = sent(&server, &["tag:vip", "--title", "Doors open, {{first_name|fan}}"]);
    let trace = server.prints(&["push", "trace", &push, "phone-7"]);
    assert!(
        trace.starts_with("phone-7 has not got it yet: it is not connected; it gets it when it comes"),
        "{trace}"
    );
    let shown = server.prints(&["push", "show", &push]);
    assert!(shown.contains("1 targeted, 0 delivered, 0 opened, 0 clicked\n  1 owed still\n"), "{shown}");
    let deliveries = server.prints(&["push", "deliveries", &push]);
    assert_eq!(
        deliveries.replace('\r', ""),
        "device,state,detail,sent_at,acknowledged_at\nphone-7,owed,,,\n"
    );
    server.fails(1, &["push", "watch", &push, "--timeout", "300ms"], "is not over after 300ms");

    let mut phone = reader(&server, "phone-7");
    let (topic, payload) = phone.message();
    let notification: Value = serde_json::from_str(&payload).expect("a notification is JSON");
    assert_eq!(topic, "inbox/phone-7");
    assert_eq!(notification, json!({"push": push, "title": "Doors open, Ada"}));
    let watched = server.prints(&["push", "watch", &push]);
    assert!(watched.starts_with(&format!("{push} settled, accepted ")), "{watched}");
    let figures = "1 of 1 devices matched, 1 targeted, 1 delivered, 0 opened, 0 clicked";
    assert!(watched.contains(figures), "{watched}");
    assert!(watched.contains("  acknowledged: first "), "{watched}");
    assert_eq!(server.answers(&["push", "watch", &push])["counts"]["delivered"], 1);

    let trace = server.answers(&["push", "trace", &push, "phone-7"]);
    assert_eq!(trace["state"], "delivered", "{trace}");
    let steps: Vec<&Value> =
        trace["steps"].as_array().expect("a list").iter().map(|step| &step["what"]).collect();
    assert_eq!(steps, ["accepted", "started", "targeted", "sent", "acknowledged"], "{trace}");
    assert!(
        server.prints(&["push", "trace", &push, "phone-7"]).contains("  sent over 0:"),
        "the connection is named"
    );
    let nobody = server.prints(&["push", "trace", &push, "nobody"]);
    assert!(nobody.starts_with("nobody did not get it: it is not registered."), "{nobody}");
    let file = server.data().join("deliveries.ndjson");
    let file = file.display().to_string();
    server.does(&["push", "deliveries", &push, "--format", "ndjson", "--output", &file]);
    let line: Value =
        serde_json::from_str(&fs::read_to_string(&file).expect("it was written")).expect("one line");
    assert_eq!((&line["device"], &line["state"]), (&"phone-7".into(), &"delivered".into()), "{line}");

    // One to somebody who is there, followed to its end.
    let watched = std::thread::scope(|scope| {
        let watch =
            scope.spawn(|| server.does(&["push", "send", "device:phone-7", "--message", "goal", "--watch"]));
        assert_eq!(phone.message(), ("inbox/phone-7".to_owned(), "goal".to_owned()));
        watch.join().expect("it ends")
    });
    assert!(err(&watched).starts_with("accepted "), "{}", err(&watched));
    assert!(
        out(&watched).contains(" settled, accepted ") && out(&watched).contains("1 delivered"),
        "{}",
        out(&watched)
    );

    let listed = server.prints(&["push", "list"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(
        lines.len() == 3
            && lines[2].starts_with(&push)
            && lines[2].ends_with("Doors open, {{first_name|fan}}"),
        "{listed}"
    );
    let first = server.answers(&["push", "list", "--limit", "1"]);
    assert_eq!(first["pushes"].as_array().map(Vec::len), Some(1), "{first}");
    assert!(first["next"].is_string(), "{first}");
}

#[test]
fn a_push_goes_on_when_nobody_follows_it_any_more() {
    let server = Server::trial();
    server.does(&["device", "set", "phone-7"]);
    let data = server.data().display().to_string();
    let follow = stadium(&["push", "send", "all", "--message", "goal", "--watch", "--data", &data]);
    let mut watch = interruptible(&follow)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let mut line = String::new();
    BufReader::new(watch.stderr.take().expect("it is piped")).read_line(&mut line).expect("it prints its id");
    let push = line.strip_prefix("accepted ").unwrap_or_else(|| panic!("{line}")).trim().to_owned();
    let sent = Command::new("kill").args(["-s", "INT", &watch.id().to_string()]).status();
    assert!(sent.expect("kill can be run").success(), "it follows the push still");
    let ended = watch.wait_with_output().expect("it ends");
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{ended:?}");

    assert_eq!(server.answers(&["push", "show", &push])["status"], "sending");
    assert_eq!(reader(&server, "phone-7").message().1, "goal");
    assert_eq!(server.answers(&["push", "watch", &push])["status"], "settled");
}

#[test]
fn a_push_is_checked_named_timed_and_cancelled() {
    let server = Server::trial();
    for device in ["a", "b", "c"] {
        server.does(&["device", "set", device, "--tag", "vip"]);
    }
    let dry = server.prints(&["push", "send", "tag:vip", "--title", "x", "--per-second", "2", "--dry-run"]);
    assert!(dry.starts_with("valid; nothing was pushed\n3 of 3 devices: 3 matched"), "{dry}");
    assert!(err(&server.does(&["push", "list"])).contains("nothing was pushed yet"));
    let dry = server.prints(&["push", "send", "tag:vip", "--title", "Hi {{nickname}}", "--dry-run"]);
    let warning = "it would reach nobody: of 3 devices that match, 3 lack a value for `nickname`";
    assert!(dry.contains(&format!("warning: {warning}\n0 of 3 devices: 3 matched")), "{dry}");
    assert!(dry.contains("3 left out: they lack a value for `nickname`, and a text needs it"), "{dry}");
    let nobody = server.prints(&["audience", "preview", "tag:gone"]);
    assert!(
        nobody.contains("warning: it would reach nobody: none of 3 registered devices matches"),
        "{nobody}"
    );

    // The same again under one name is one push; another one under that name is refused.
    let push = sent(&server, &["tag:vip", "--title", "x", "--id", "monday"]);
    let again = server.prints(&["push", "send", "tag:vip", "--title", "x", "--id", "monday"]);
    assert_eq!(again, format!("accepted before {push}\n"));
    server.fails(1, &["push", "send", "tag:vip", "--title", "y", "--id", "monday"], "PSH-025");

    let options = [
        "tag:vip",
        "--message",
        "{}",
        "--content-type",
        "application/json",
        "--expiry",
        "2h",
        "--priority",
        "9",
        "--collapse",
        "score",
        "--over",
        "1h",
        "--quiet",
        "skip",
        "--qos",
        "1",
        "--holdout",
        "10",
        "--at",
    ];
    let at = timestamp(3_600);
    let later = sent(&server, &[&options[..], &[&at]].concat());
    let shown = server.answers(&["push", "show", &later]);
    assert_eq!(shown["status"], "scheduled", "{shown}");
    assert_eq!(shown["when"]["at"], at.replace('Z', ".000Z"), "{shown}");
    let expected = json!({
        "expiry_s": 7_200, "priority": 9, "collapse_key": "score", "pace": {"over_s": 3_600}, "quiet_hours": "skip", "qos": 1,
        "holdout_percent": 10,
    });
    assert_eq!(shown["options"], expected, "{shown}");
    let local = sent(&server, &["all", "--body", "Good morning", "--local", &timestamp(86_400)[..16]]);
    assert_eq!(server.answers(&["push", "show", &local])["status"], "scheduled");

    let cancelled = server.prints(&["push", "cancel", &later]);
    assert!(cancelled.starts_with(&format!("{later} cancelled, accepted ")), "{cancelled}");
    assert_eq!(server.answers(&["push", "cancel", &push])["counts"]["cancelled"], 3);
    server.fails(1, &["push", "cancel", &push], "PSH-027");
    let trace = server.prints(&["push", "trace", &push, "a"]);
    assert!(trace.contains("cancelled"), "{trace}");

    // Variants and data come out of a file.
    let file = server.data().join("goal.json");
    fs::write(
        &file,
        json!({"title": "Goal", "languages": {"de": {"title": "Tor"}}, "data": {"score": [1, 0]}})
            .to_string(),
    )
    .expect("the directory is writable");
    server.does(&["device", "set", "a", "--language", "de-AT"]);
    sent(&server, &["device:a", "--notification", &file.display().to_string()]);
    let notification: Value = serde_json::from_str(&reader(&server, "a").message().1).expect("JSON");
    assert_eq!(
        (&notification["title"], &notification["data"]),
        (&"Tor".into(), &json!({"score": [1, 0]})),
        "{notification}"
    );
}

#[test]
fn a_push_that_makes_no_sense_is_refused_with_a_reason() {
    let server = Server::trial();
    let large = "x".repeat(65_537);
    server.fails(1, &["push", "send", "all", "--message", &large], "65536 are allowed (PSH-003)");
    let unknown = "0123456789abcdef0123456789abcdef";
    for (arguments, why) in [
        (
            &["send", "all", "--title", "Hi {{name"][..],
            "title: `{{` at byte 3 is not closed by `}}` (PSH-004)",
        ),
        (&["send", "saved:vips", "--title", "x"], "has no saved audience \"vips\" (PSH-023)"),
        (&["send", "all", "--title", "x", "--app", "nope"], "there is no app \"nope\""),
        (&["send", "all", "--title", "x", "--at", "2999-01-01T00:00:00Z"], "more than 366 days from now"),
        (&["send", "all", "--title", "x", "--at", "tomorrow"], "when.at: \"tomorrow\" is no timestamp"),
        (&["send", "all", "--title", "x", "--expiry", "2000d"], "expiry"),
        (&["show", unknown], "PSH-021"),
        (&["watch", unknown], "PSH-021"),
        (&["cancel", unknown], "PSH-021"),
        (&["trace", unknown, "phone-7"], "PSH-021"),
        (&["deliveries", unknown], "PSH-021"),
        (&["show", "goal"], "an id has 32 hexadecimal digits"),
    ] {
        server.fails(1, &[&["push"], arguments].concat(), why);
    }
    for (arguments, why) in [
        (&["send", "all"][..], "say what to push: --title"),
        (&["send", "everybody", "--title", "x"], "expected all, device:ID, tag:TAG"),
        (&["send", "all", "--title", "x", "--message", "y"], "cannot be used with"),
        (&["send", "all", "--title", "x", "--priority", "10"], "10 is not in 0..=9"),
        (&["send", "all", "--title", "x", "--qos", "2"], "2 is not in 0..=1"),
        (&["send", "all", "--title", "x", "--watch", "--dry-run"], "cannot be used with"),
        (&["send", "all", "--title", "x", "--with-data", "{"], "--with-data is no JSON"),
        (&["trace", unknown], "<DEVICE>"),
    ] {
        let failed = server.client(&[&["push"], arguments].concat());
        assert!(matches!(failed.status.code(), Some(1 | 2)), "{arguments:?}");
        assert!(err(&failed).contains(why) && out(&failed).is_empty(), "{arguments:?}: {}", err(&failed));
    }
    // An old file stays as it was where the server refuses.
    let file = server.data().join("deliveries.csv");
    fs::write(&file, "old").expect("the directory is writable");
    server.fails(1, &["push", "deliveries", unknown, "--output", &file.display().to_string()], "PSH-021");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "old");
    assert!(err(&server.does(&["push", "list"])).contains("nothing was pushed yet"), "nothing happened");
}

#[test]
fn schedules_are_set_held_and_ended_and_make_pushes() {
    let server = Server::trial();
    let set = |name: &str, cron: &str, rest: &[&str]| {
        server.prints(&[&["schedule", "set", name, cron], rest].concat())
    };
    let printed = set(
        "morning",
        "0 9 * * MON-FRI",
        &["tag:vip", "--zone", "Europe/Berlin", "--late", "1h", "--title", "Good morning"],
    );
    assert!(printed.starts_with("morning is set; next in "), "{printed}");
    set("lunch", "@daily", &["all", "--zone", "local", "--message", "lunch"]);
    let listed = server.prints(&["schedule", "list"]);
    let lines: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect()).collect();
    assert_eq!(
        lines[0].iter().map(|cell| cell.trim()).collect::<Vec<_>>(),
        ["schedule", "when", "zone", "state", "next", "made", "skipped"]
    );
    assert_eq!(
        lines[1][..4].iter().map(|cell| cell.trim()).collect::<Vec<_>>(),
        ["lunch", "@daily", "local", "active"],
        "{listed}"
    );
    assert_eq!(server.prints(&["schedule", "pause", "lunch"]), "lunch is paused\n");
    let answer = server.answers(&["schedule", "list"]);
    assert_eq!(
        (&answer["schedules"][0]["paused"], &answer["schedules"][1]["paused"]),
        (&true.into(), &false.into()),
        "{answer}"
    );
    let morning = &answer["schedules"][1];
    assert_eq!(
        (&morning["time_zone"], &morning["missed"]),
        (&"Europe/Berlin".into(), &json!({"late_s": 3_600})),
        "{answer}"
    );
    assert_eq!(morning["next"].as_array().map(Vec::len), Some(5), "{answer}");
    assert_eq!(server.prints(&["schedule", "resume", "lunch"]), "lunch is going on\n");
    assert_eq!(server.answers(&["schedule", "drop", "lunch"]), json!({"name": "lunch", "dropped": true}));
    for action in ["pause", "resume", "drop"] {
        server.fails(
            1,
            &["schedule", action, "lunch"],
            "app \"default\" has no schedule \"lunch\" (PSH-024)",
        );
    }
    let push = &["all", "--title", "x"][..];
    server.fails(
        1,
        &[&["schedule", "set", "bad", "99 9 * * *"], push].concat(),
        "\"99 9 * * *\" is no cron expression",
    );
    server.fails(
        1,
        &[&["schedule", "set", "bad", "@daily", "--zone", "Mars/Base"], push].concat(),
        "\"Mars/Base\" is no time zone",
    );
    server.fails(
        1,
        &["schedule", "set", "Bad", "@daily", "all", "--title", "x"],
        "this is no name of a schedule",
    );
    server.fails(2, &["schedule", "set", "bad", "@daily", "all"], "say what to push");
    server.fails(
        1,
        &["schedule", "set", "bad", "@daily", r#"{"tagg": "x"}"#, "--title", "x"],
        "push.audience.tagg: unknown field",
    );
    assert_eq!(server.prints(&["schedule", "drop", "morning"]), "morning is ended\n");
    assert!(err(&server.does(&["schedule", "list"])).contains("there is no schedule"));

    // An occurrence makes one push. Every second, so that nobody waits for a minute.
    let mut phone = reader(&server, "phone-7");
    set("tick", "* * * * * *", &["device:phone-7", "--message", "tick"]);
    assert_eq!((phone.message().1, phone.message().1), ("tick".to_owned(), "tick".to_owned()));
    server.does(&["schedule", "pause", "tick"]);
    let tick = wait_for("both are reported", || {
        let listed = server.answers(&["schedule", "list"]);
        (listed["schedules"][0]["made"].as_u64() >= Some(2)).then(|| listed["schedules"][0].clone())
    });
    let last = tick["last"].as_array().expect("a list");
    assert_eq!(last.len() as u64, tick["made"].as_u64().expect("a number"), "{tick}");
    let push = last[0]["push"].as_str().expect("each has its push");
    assert_eq!(server.answers(&["push", "show", push])["schedule"], "tick");
}
