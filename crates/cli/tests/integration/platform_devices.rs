//! Devices, audiences and apps as people use them: `stadium app`, `stadium device`, `stadium audience`.
//!
//! Black box: the built binary is the server and the client; each device that connects is an MQTT
//! client of the suite.

use crate::binary;

use std::fs;
use std::process::Stdio;

use binary::device::Device;
use binary::{Server, err, json, out, stadium, wait_for};
use serde_json::{Value, json};

/// The lines of a table, each in words.
fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn apps_are_made_listed_changed_and_forgotten() {
    let server = Server::trial();
    let printed =
        server.prints(&["app", "set", "matchday", "--expiry", "1d", "--cap", "3", "--cap-within", "2h"]);
    assert_eq!(printed, "matchday: pushes expire after 1d, 100 are owed to a device at most\n");
    let changed = server.answers(&[
        "app",
        "set",
        "matchday",
        "--inbox",
        "7",
        "--remember",
        "1h",
        "--opted-in",
        "false",
    ]);
    let settings = &changed["settings"];
    assert_eq!(settings["cap"], json!({"pushes": 3, "within_s": 7_200}), "what is left out stays: {changed}");
    assert_eq!((&settings["inbox_max"], &settings["remember_s"]), (&7.into(), &3_600.into()), "{changed}");
    assert_eq!((&settings["expiry_s"], &settings["opted_in"]), (&86_400.into(), &false.into()), "{changed}");

    let writable = |values: &[&str]| {
        let flags = values.iter().flat_map(|value| ["--device-writable", value]);
        let all: Vec<&str> = ["app", "set", "matchday"].into_iter().chain(flags).collect();
        server.answers(&all)["settings"]["device_writable"].clone()
    };
    let both = json!({"tags": ["news-*", "loyalty:*"], "attributes": ["language"]});
    assert_eq!(writable(&["tag:news-*", "attribute:language", "tag:loyalty:*"]), both);
    assert_eq!(writable(&[]), both, "what is left out stays");
    assert_eq!(writable(&["none"]), json!({"tags": [], "attributes": []}));

    server.does(&["device", "set", "phone-1", "--app", "matchday"]);
    let table = server.prints(&["app", "list"]);
    let table = rows(&table);
    assert_eq!(table[0], ["app", "devices", "connected", "opted", "in", "pushes", "owed"], "{table:?}");
    assert_eq!(table[1..], [["default", "0", "0", "0", "0", "0"], ["matchday", "1", "0", "0", "0", "0"]]);
    let first = server.answers(&["app", "list", "--limit", "1"]);
    assert_eq!((&first["apps"][0]["app"], &first["next"]), (&"default".into(), &"default".into()), "{first}");
    server.fails(2, &["app", "drop", "matchday"], "use --yes");
    assert_eq!(server.prints(&["app", "drop", "matchday", "--yes"]), "matchday is forgotten\n");

    server.fails(1, &["app", "drop", "matchday", "--yes"], "PSH-020");
    server.fails(1, &["app", "drop", "default", "--yes"], "PSH-009");
    server.fails(1, &["app", "set", "Match Day"], "this is no name of an app: it holds 'M'");
    server.fails(1, &["app", "set", "a", "--inbox", "1001"], "inbox");
    server.fails(2, &["app", "set", "a", "--cap", "3"], "--cap-within");
    let list = ["--device-writable", "list:vip"];
    server.fails(
        2,
        &[&["app", "set", "a"], &list[..]].concat(),
        "it is tag:PATTERN, attribute:PATTERN or none",
    );
    let mixed = ["--device-writable", "none", "--device-writable", "tag:a"];
    server.fails(2, &[&["app", "set", "a"], &mixed[..]].concat(), "stands alone");
    server.fails(1, &["app", "set", "a", "--device-writable", "tag:a*b"], "is no pattern");
    server.fails(2, &["app", "set", "a", "--expiry", "soon"], "no span such as 250ms");
}

#[test]
fn a_device_is_described_shown_changed_and_forgotten() {
    let server = Server::trial();
    let described = [
        "device",
        "set",
        "phone-7",
        "--platform",
        "ios",
        "--app-version",
        "2.3.1",
        "--language",
        "de-AT",
        "--country",
        "AT",
        "--zone",
        "Europe/Vienna",
        "--user",
        "ada",
        "--quiet",
        "22:00-07:00",
        "--tag",
        "vip",
        "--tag",
        "loyalty:gold",
        "--attribute",
        "first_name=Ada",
        "--attribute",
        "score=12",
        "--attribute",
        "born=date:1990-05-17T00:00:00Z",
    ];
    assert_eq!(server.prints(&described), "phone-7 registered\n");
    let shown = server.prints(&["device", "show", "phone-7"]);
    for part in [
        "platform    ios",
        "named_user  ada",
        "quiet_hours 22:00-07:00",
        "tags        vip loyalty:gold",
        "0 owed",
    ] {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    let changes = [
        "device",
        "set",
        "phone-7",
        "--platform",
        "",
        "--untag",
        "vip",
        "--attribute",
        "score=",
        "--opt-in",
        "false",
    ];
    assert_eq!(server.prints(&changes), "phone-7 updated\n");
    let shown = &server.answers(&["device", "show", "phone-7"])["registered"];
    assert_eq!((&shown["platform"], &shown["opt_in"]), (&Value::Null, &false.into()), "{shown}");
    assert_eq!(shown["tags"], json!(["loyalty:gold"]), "{shown}");
    assert_eq!(
        shown["attributes"],
        json!({"first_name": "Ada", "born": {"date": "1990-05-17T00:00:00Z"}}),
        "{shown}"
    );
    assert!(server.prints(&["device", "show", "phone-7"]).contains(", opted out"));

    server.does(&["device", "set", "tablet", "--user", "ada", "--platform", "android"]);
    let listed = server.prints(&["device", "list", "--registered"]);
    assert_eq!(
        rows(&listed)[1..].iter().map(|row| row[0]).collect::<Vec<_>>(),
        ["phone-7", "tablet"],
        "{listed}"
    );
    for (which, expected) in [
        (["--user", "ada"], json!(["phone-7", "tablet"])),
        (["--audience", "tag:loyalty:gold"], json!(["phone-7"])),
        (["--audience", r#"{"not": {"platform": "android"}}"#], json!(["phone-7"])),
        (["--audience", "user:eve"], json!([])),
    ] {
        let found = server.answers(&[&["device", "list"][..], &which].concat());
        let found: Vec<&Value> =
            found["devices"].as_array().expect("a list").iter().map(|one| &one["device"]).collect();
        assert_eq!(json!(found), expected, "{which:?}");
    }
    assert_eq!(server.prints(&["device", "remove", "tablet"]), "tablet is forgotten\n");
    server.fails(1, &["device", "remove", "tablet"], "PSH-022");
    server.fails(1, &["device", "show", "tablet"], "no registered device has the id \"tablet\"");
    server.fails(1, &["device", "list", "--registered", "--app", "nope"], "there is no app \"nope\"");
    server.fails(1, &["device", "set", "a/b"], "it holds '/'");
    server.fails(
        1,
        &["device", "set", "a", "--quiet", "25:00-07:00"],
        "quiet_hours.from: it is no time of day",
    );
    server.fails(
        1,
        &["device", "set", "a", "--zone", "Mars/Base"],
        "time_zone: this is no name of a time zone",
    );
    server.fails(2, &["device", "set", "a", "--attribute", "score"], "is not NAME=VALUE");
    server.fails(2, &["device", "list", "--audience", "vip"], "expected all, device:ID, tag:TAG");
    server.fails(1, &["device", "kick", "nobody"], "HTTP-011");
}

#[test]
fn a_device_is_revoked_and_restored_and_has_a_credential() {
    let server = Server::trial();
    let mut phone = Device::connect(&server.address("mqtt"), "phone-7");
    phone.subscribe("inbox/phone-7");
    wait_for("the device registers", || {
        let found = server.client(&["device", "list", "--registered", "--json"]);
        (found.status.success() && json(&found)["devices"][0]["connected"] == true).then_some(())
    });
    let made = server.does(&["device", "credential", "phone-7"]);
    assert_eq!(out(&made).trim().len(), 43, "32 bytes as base64: {}", out(&made));
    assert!(err(&made).contains("the MQTT password of client id phone-7"), "{}", err(&made));
    assert!(server.prints(&["device", "show", "phone-7"]).contains("has a credential"));
    let again = server.answers(&["device", "credential", "phone-7"]);
    assert_ne!(again["secret"], out(&made).trim(), "{again}");
    assert_eq!(
        server.prints(&["device", "credential", "phone-7", "--withdraw"]),
        "phone-7 is without a credential\n"
    );
    assert!(phone.receive().is_none_or(|packet| packet.first == 0xe0), "who loses its credential is cut");

    assert_eq!(server.prints(&["device", "revoke", "phone-7"]), "phone-7 is revoked\n");
    assert!(server.prints(&["device", "show", "phone-7"]).contains("REVOKED"));
    assert!(server.prints(&["device", "list", "--registered"]).contains("revoked"));
    let (_, reason) = Device::try_connect(&server.address("mqtt"), "phone-7", None);
    assert_ne!(reason, 0, "a revoked device is let in");
    assert_eq!(server.answers(&["device", "restore", "phone-7"])["status"], "restored");
    wait_for("it is let in again", || {
        (Device::try_connect(&server.address("mqtt"), "phone-7", None).1 == 0).then_some(())
    });
    for action in ["revoke", "restore", "credential"] {
        server.fails(1, &["device", action, "ghost"], "PSH-022");
    }
}

#[test]
fn files_are_imported_with_a_report_of_bad_lines_and_exported_as_they_were() {
    let server = Server::trial();
    let file = |name: &str, text: &str| {
        let path = server.data().join(name);
        fs::write(&path, text).expect("the directory is writable");
        path.display().to_string()
    };
    let fans = file(
        "fans.csv",
        "device,platform,language,tags,number:score,quiet_hours,opt_in\n\
         a1,ios,de,vip;loyalty:gold,12,22:00-07:00,true\n\
         a2,android,nolanguage!,vip,7,,\n\
         a3,ios,en,,many,,\n\
         \"a,4\",web,,,,,false\n\
         a/5,web,,,,,\n\
         a6,ios\n",
    );
    let done = server.client(&["device", "import", &fans]);
    assert_eq!(done.status.code(), Some(1), "{}", err(&done));
    assert_eq!(out(&done), "6 records: 2 registered, 0 updated, 4 wrong\n");
    for line in [
        "line 3: language: ",
        "line 4: score: \"many\" is no number",
        "line 6: device: ",
        "line 7: it has 2 cells, and the heading 7",
    ] {
        assert!(err(&done).contains(line), "{line:?} is not in {}", err(&done));
    }
    assert!(
        err(&done).ends_with("error: 4 records were skipped; all others are registered\n"),
        "{}",
        err(&done)
    );
    // The same again changes what is there.
    let again = server.client(&["device", "import", &fans, "--json"]);
    let report: Value = serde_json::from_str(out(&again).lines().next().expect("a report")).expect("JSON");
    assert_eq!((&report["updated"], &report["failed"]), (&2.into(), &4.into()), "{report}");
    assert_eq!(
        report["mistakes"][1],
        json!({"line": 4, "reason": "score: \"many\" is no number"}),
        "{report}"
    );

    // Lines of JSON, from standard input.
    let mut import = stadium(&[
        "device",
        "import",
        "-",
        "--format",
        "ndjson",
        "--data",
        &server.data().display().to_string(),
    ]);
    let lines = file(
        "lines",
        "{\"device\": \"n1\", \"tags\": [\"x\"]}\n{\"device\": \"n2\", \"platfrom\": \"ios\"}\n{\"dev\n\n{\"device\": \"n3\"}\n",
    );
    import.stdin(Stdio::from(fs::File::open(lines).expect("it is there")));
    let done = import.output().expect("the binary can be run");
    assert_eq!(out(&done), "4 records: 2 registered, 0 updated, 2 wrong\n", "{}", err(&done));
    for line in ["line 2: platfrom: unknown field; did you mean \"platform\"?", "line 3: it is no JSON"] {
        assert!(err(&done).contains(line), "{line:?} is not in {}", err(&done));
    }

    // An export can be read back: into another app it makes the same devices.
    server.does(&["app", "set", "copy"]);
    for format in ["csv", "ndjson"] {
        let path = server.data().join(format!("devices.{format}"));
        let path = path.display().to_string();
        let written = server.does(&["device", "export", "--format", format, "--output", &path]);
        assert!(err(&written).contains("bytes in"), "{}", err(&written));
        server.does(&["device", "import", &path, "--app", "copy"]);
        let devices = |app: &str| {
            let listed = server.answers(&["device", "list", "--registered", "--app", app]);
            let mut devices = listed["devices"].clone();
            for device in devices.as_array_mut().expect("a list") {
                device["registered_at"] = Value::Null;
            }
            devices
        };
        assert_eq!(devices("default").as_array().map(Vec::len), Some(4));
        assert_eq!(devices("copy"), devices("default"), "{format}");
        server.does(&["app", "drop", "copy", "--yes"]);
        server.does(&["app", "set", "copy"]);
    }
    let some = server.prints(&["device", "export", "--audience", "tag:vip"]);
    assert!(
        some.starts_with("device,platform,") && some.lines().count() == 2 && some.contains("\na1,ios,"),
        "{some}"
    );
    let one: Value =
        serde_json::from_str(&server.prints(&["device", "export", "--audience", "tag:vip", "--json"]))
            .expect("a line");
    assert_eq!(one["attributes"], json!({"score": 12}), "{one}");

    let bad = file("bad.csv", "devise,platform\nx,ios\n");
    server.fails(1, &["device", "import", &bad], "there is no column \"devise\"");
    server.fails(1, &["device", "import", "nofile.csv"], "nofile.csv: No such file");
    server.fails(
        1,
        &["device", "export", "--audience", r#"{"tagg": "x"}"#],
        "audience.tagg: unknown field; did you mean \"tag\"?",
    );
}

#[test]
fn audiences_are_counted_saved_and_forgotten() {
    let server = Server::trial();
    let mut devices = String::from("device,platform,tags,number:score\n");
    for number in 0..2_000 {
        let platform = if number % 2 == 0 { "ios" } else { "android" };
        let tag = if number % 5 == 0 { "vip" } else { "" };
        devices.push_str(&format!("seat-{number},{platform},{tag},{number}\n"));
    }
    let file = server.data().join("seats.csv");
    fs::write(&file, devices).expect("the directory is writable");
    server.does(&["device", "import", &file.display().to_string()]);
    server.does(&["device", "set", "seat-0", "--opt-in", "false"]);

    let audience =
        r#"{"and": [{"tag": "vip"}, {"platform": "ios"}, {"attribute": "score", "less_than": 1000}]}"#;
    let preview = server.answers(&["audience", "preview", audience, "--sample", "3", "--per-second", "10"]);
    // Every tenth seat below 1,000: one of those is not opted in.
    assert_eq!((&preview["devices"], &preview["matched"]), (&2_000.into(), &100.into()), "{preview}");
    assert_eq!((&preview["reached"], &preview["opted_out"]), (&99.into(), &1.into()), "{preview}");
    assert_eq!(preview["sample"].as_array().map(Vec::len), Some(3), "{preview}");
    assert!(preview["took_us"].as_u64().is_some_and(|took| took > 0), "{preview}");
    let out_of: Vec<u64> = preview["clauses"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|clause| clause["keeps_out"].as_u64().expect("a number"))
        .collect();
    assert_eq!(
        out_of,
        [0, 1_600, 200, 100],
        "what clauses keep out sums up to who is not matched: {preview}"
    );
    let text = server.prints(&["audience", "preview", audience, "--sample", "2", "--per-second", "10"]);
    assert!(
        text.starts_with("99 of 2,000 devices: 100 matched, 1 of those not opted in; 0 connected now\n"),
        "{text}"
    );
    let table = rows(&text);
    assert!(table.contains(&vec!["400", "1,600", "tag", "\"vip\"", "and[0]"]), "{text}");
    assert!(text.lines().last().is_some_and(|line| line.starts_with("such as seat-")), "{text}");

    assert_eq!(server.prints(&["audience", "save", "vips", "tag:vip"]), "vips is saved\n");
    assert_eq!(server.prints(&["audience", "list"]), "audience  selector\nvips      {\"tag\":\"vip\"}\n");
    assert_eq!(
        server.answers(&["audience", "list"]),
        json!({"audiences": [{"name": "vips", "audience": {"tag": "vip"}}]})
    );
    assert_eq!(server.answers(&["audience", "preview", "saved:vips"])["matched"], 400);
    // A tag that nobody has means nobody, and is no mistake.
    assert_eq!(server.answers(&["audience", "preview", "tag:nobody"])["matched"], 0);
    assert_eq!(server.prints(&["audience", "drop", "vips"]), "vips is forgotten\n");
    server.fails(1, &["audience", "drop", "vips"], "PSH-023");
    server.fails(
        1,
        &["audience", "preview", "saved:vips"],
        "app \"default\" has no saved audience \"vips\" (PSH-023)",
    );
    assert!(err(&server.does(&["audience", "list"])).contains("no audience is saved"));

    for (selector, why) in [
        (
            r#"{"and": [{"tag": "vip"}, {"platfrom": "ios"}]}"#,
            "audience.and[1].platfrom: unknown field; did you mean \"platform\"?",
        ),
        (
            r#"{"or": [{"not": {"country": "Germany"}}]}"#,
            "audience.or[0].not.country: this is no name of a country",
        ),
        (r#"{"attribute": "score"}"#, "audience"),
        (r#"{"and": []}"#, "audience.and"),
    ] {
        server.fails(1, &["audience", "preview", selector], why);
        server.fails(1, &["audience", "save", "bad", selector], why);
        server.fails(1, &["push", "send", selector, "--title", "x"], why);
    }
    server.fails(2, &["audience", "preview", r#"{"and": "#], "it is no JSON");
    server.fails(1, &["audience", "preview", "all", "--sample", "101"], "sample: it is 0 to 100, not 101");
}

#[test]
fn devices_are_removed_by_prefix_and_audience_and_a_swarm_removes_its_own() {
    let server = Server::trial();
    for id in ["bus-1", "bus-2", "tram-1"] {
        server.does(&["device", "set", id, "--tag", "city"]);
    }
    server.fails(2, &["device", "remove", "--prefix", "bus-"], "--yes");
    server.fails(2, &["device", "remove"], "required");
    server.fails(2, &["device", "remove", "bus-1", "--prefix", "bus-"], "cannot be used with");
    let removal = ["device", "remove", "--yes", "--prefix", "bus-", "--audience", "tag:city"];
    assert_eq!(server.prints(&removal), "2 devices are forgotten\n");
    assert_eq!(server.answers(&removal)["removed"], 0);

    let registered = |prefix: &str| -> usize {
        let listed =
            server.answers(&["device", "list", "--registered", "--prefix", prefix, "--limit", "2000"]);
        listed["devices"].as_array().expect("a list").len()
    };
    let mqtt = server.address("mqtt");
    let swarm = ["load", "swarm", "--target", &mqtt, "--devices", "1200", "--rate", "0", "--hold", "1s"];
    let kept = server.does(&[&swarm[..], &["--keep-devices", "--id-prefix", "kept-"]].concat());
    assert!(!err(&kept).contains("removed"), "{}", err(&kept));
    assert_eq!(registered("kept-"), 1_200, "more than one request removes");
    let done = server.does(&swarm);
    assert!(
        err(&done).contains("1,200 devices that the server had registered are removed"),
        "{}",
        err(&done)
    );
    assert_eq!(registered("swarm-"), 0);
    assert_eq!((registered("kept-"), registered("tram-")), (1_200, 1), "others stay");
    // A server that was not named is not guessed: the swarm prints how to clean up.
    let unnamed = stadium(&["load", "swarm", "--target", &mqtt, "--devices", "3", "--hold", "1s"]).output();
    let unnamed = unnamed.expect("the binary can be run");
    assert!(unnamed.status.success() && err(&unnamed).contains("stadium device remove --prefix swarm-"));
    let log = std::fs::read_to_string(server.data().join("audit.ndjson")).expect("the audit log");
    assert!(log.contains("DELETE /api/apps/{app}/devices\"") && log.contains("prefix=swarm-"), "{log}");
}
