//! Registered devices as a client sees them: apps, changes, credentials, files, audiences, the audit log, answered by real shards.
//!
//! The behaviour of the registry is tested in its own crate; these tests are about JSON, CSV and
//! HTTP.

use crate::support;

use serde_json::{Value, json};
use support::Fixture;
use support::work::post;

const DEVICES: &str = "/api/apps/default/devices";

#[test]
fn a_device_is_registered_changed_replaced_and_removed() {
    let fixture = Fixture::with_queues();
    let body = json!({"platform": "ios", "language": "de-AT", "named_user": "u1", "tags": ["vip", "loyalty:gold"],
                      "attributes": {"score": 12, "team": "blue"}, "quiet_hours": {"from": "22:00", "to": "07:00"}});
    let made = fixture.put(&format!("{DEVICES}/phone-7"), &body.to_string());
    assert_eq!(made.status, 201, "{}", made.text);
    let device = made.json();
    assert_eq!(
        (&device["device"], &device["connected"], &device["owed"]),
        (&"phone-7".into(), &false.into(), &0.into())
    );
    for field in ["platform", "language", "named_user", "quiet_hours", "attributes"] {
        assert_eq!(device[field], body[field], "{field}");
    }

    let changed = fixture.send(
        "PATCH",
        &format!("{DEVICES}/phone-7"),
        r#"{"tags": {"add": ["late"], "remove": ["vip"]}, "country": "AT"}"#,
    );
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert_eq!(changed.json()["tags"], json!(["late", "loyalty:gold"]));
    assert_eq!(changed.json()["platform"], "ios", "what is left out stays");

    let replaced = fixture.put(&format!("{DEVICES}/phone-7"), r#"{"attributes": {"team": "red"}}"#);
    assert_eq!(replaced.status, 200, "{}", replaced.text);
    let device = replaced.json();
    assert_eq!(
        (&device["platform"], &device["country"], &device["tags"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
    assert_eq!(device["attributes"], json!({"team": "red"}));

    assert_eq!(fixture.delete(&format!("{DEVICES}/phone-7")).status, 204);
    fixture.get(&format!("{DEVICES}/phone-7")).problem(404, "PSH-022");
    fixture.delete(&format!("{DEVICES}/phone-7")).problem(404, "PSH-022");
    fixture.send("PATCH", &format!("{DEVICES}/phone-7"), "{}").problem(404, "PSH-022");
}

#[test]
fn devices_are_removed_by_prefix_and_audience_page_by_page_and_logged() {
    let fixture = Fixture::with_queues();
    let devices: Vec<Value> = (0..25)
        .map(|number| json!({"device": format!("swarm-{number:02}"), "tags": [if number < 5 { "kept" } else { "old" }]}))
        .chain([json!({"device": "phone-7"})])
        .collect();
    let made = fixture.post(DEVICES, &json!({ "devices": devices }).to_string());
    assert_eq!(made.status, 200, "{}", made.text);

    fixture.delete(DEVICES).problem(400, "HTTP-017");
    fixture.delete(&format!("{DEVICES}?prefix=")).problem(400, "HTTP-017");
    let query = "prefix=swarm-&audience=%7B%22tag%22:%22old%22%7D&limit=8";
    let mut counts = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("{DEVICES}?{query}{after}");
        let answer = fixture.delete(&path);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let answer = answer.json();
        counts.push(answer["removed"].as_u64().expect("a number"));
        if counts.len() == 1 {
            // As after an answer that was lost on its way.
            assert_eq!(
                fixture.delete(&format!("{path}&after={}", answer["next"].as_str().expect("more"))).status,
                200
            );
        }
        match answer["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(counts.iter().sum::<u64>(), 12, "eight more went with the request in between: {counts:?}");
    let left = fixture.get(&format!("{DEVICES}?limit=100")).json();
    let left: Vec<&str> = left["devices"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|device| device["device"].as_str().unwrap())
        .collect();
    assert_eq!(left, ["phone-7", "swarm-00", "swarm-01", "swarm-02", "swarm-03", "swarm-04"]);
    let log = fixture.get("/api/audit?limit=50").json();
    let entries = log["entries"].as_array().expect("a list");
    let removals: Vec<&Value> =
        entries.iter().filter(|entry| entry["route"] == "DELETE /api/apps/{app}/devices").collect();
    assert!(removals.len() >= 3, "{log}");
    assert!(
        removals.iter().any(|entry| entry["path"].as_str().is_some_and(|path| path.contains(query))),
        "{log}"
    );
}

#[test]
fn a_change_with_a_parameter_that_it_does_not_take_is_refused_and_not_run() {
    let fixture = Fixture::with_queues();
    assert_eq!(fixture.put(&format!("{DEVICES}/phone-7"), "{}").status, 201);
    fixture.delete(&format!("{DEVICES}/phone-7?dry_run=true")).problem(400, "HTTP-017");
    assert_eq!(fixture.get(&format!("{DEVICES}/phone-7")).status, 200, "nothing was removed");
    let log = fixture.get("/api/audit").json();
    assert_eq!(log["entries"][0]["path"], format!("{DEVICES}/phone-7?dry_run=true"), "{log}");
    assert_eq!(log["entries"][0]["code"], "HTTP-017");
}

#[test]
fn only_changes_that_can_be_checked_take_dry_run() {
    let fixture = Fixture::with_queues();
    let api: Value = fixture.get("/openapi.json").json();
    let mut refused = 0;
    for (path, item) in api["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("operations") {
            let mut parameters = operation["parameters"].as_array().into_iter().flatten();
            let with_key = operation["security"].is_null();
            if method == "get" || !with_key || parameters.any(|parameter| parameter["name"] == "dry_run") {
                continue;
            }
            let one: Vec<_> =
                path.split('/').map(|part| if part.starts_with('{') { "a" } else { part }).collect();
            let path = format!("{}?dry_run=true", one.join("/"));
            fixture.send(&method.to_uppercase(), &path, "{}").problem(400, "HTTP-017");
            refused += 1;
        }
    }
    assert!(refused > 30, "{refused}");
}

#[test]
fn only_a_dry_run_of_a_push_is_not_in_the_audit_log() {
    let fixture = Fixture::with_queues();
    let push = r#"{"audience": "all", "message": "hello"}"#;
    assert_eq!(fixture.post("/api/apps/default/pushes?dry_run=true", push).status, 200);
    assert_eq!(fixture.get("/api/audit").json()["entries"], json!([]));
    assert_eq!(fixture.post("/api/apps/default/pushes?dry_run=false", push).status, 202);
    assert_eq!(fixture.get("/api/audit").json()["entries"].as_array().map(Vec::len), Some(1));
}

#[test]
fn each_mistake_has_its_path_and_nothing_happens() {
    let fixture = Fixture::with_queues();
    let table = [
        (r#"{"devices": [{"device": "a"}, {"device": "b", "opt_in": "yes"}]}"#, "devices[1].opt_in"),
        (r#"{"devices": [{"device": "a", "platfrom": "ios"}]}"#, "devices[0].platfrom"),
        (
            r#"{"devices": [{"device": "a", "location": {"latitude": 91, "longitude": 0}}]}"#,
            "devices[0].location.latitude",
        ),
        (r#"{"devices": [{"device": "a/b"}]}"#, "devices[0].device"),
        (r#"{"devices": [{}]}"#, "devices[0].device"),
        (r#"{"devices": [{"device": "a", "revoked": true}]}"#, "devices[0].revoked"),
        (r#"{"devices": []}"#, "devices"),
    ];
    for (body, path) in table {
        assert_eq!(fixture.post(DEVICES, body).problem(422, "HTTP-005")["path"], path, "{body}");
    }
    assert_eq!(fixture.get(DEVICES).json()["devices"], json!([]));
    let selector = "%7B%22and%22%3A%5B%7B%22tga%22%3A%22vip%22%7D%5D%7D"; // {"and":[{"tga":"vip"}]}
    let problem = fixture.get(&format!("{DEVICES}?audience={selector}")).problem(422, "HTTP-005");
    assert!(problem["path"].as_str().is_some_and(|path| path.starts_with("audience.and[0]")), "{problem}");
    fixture.get("/api/apps/nobody/devices").problem(404, "PSH-020");
    fixture.get("/api/apps/Nobody/devices").problem(422, "HTTP-028");
}

#[test]
fn an_export_holds_no_formula_and_is_imported_unchanged() {
    let fixture = Fixture::with_queues();
    let formula = "=HYPERLINK(\"http://evil.example\", \"click\")";
    let body = json!({"attributes": {"name": formula, "debt": -5, "note": "'=1"}});
    assert_eq!(fixture.put(&format!("{DEVICES}/phone-1"), &body.to_string()).status, 201);
    let bearer = format!("Bearer {}", fixture.admin);
    let csv = [("authorization", bearer.as_str()), ("accept", "text/csv")];
    let export = fixture.ask("GET", &format!("{DEVICES}/export"), &csv, None);
    assert_eq!(export.status, 200, "{}", export.text);
    assert!(!export.text.contains(",=") && !export.text.contains("\"="), "{}", export.text);
    assert!(export.text.contains("'=HYPERLINK") && export.text.contains("''=1"), "{}", export.text);

    assert_eq!(fixture.delete(&format!("{DEVICES}/phone-1")).status, 204);
    let headers = [("authorization", bearer.as_str()), ("content-type", "text/csv")];
    let import = fixture.ask("POST", &format!("{DEVICES}/import"), &headers, Some(&export.text));
    assert_eq!(import.status, 200, "{}", import.text);
    let device = fixture.get(&format!("{DEVICES}/phone-1")).json();
    assert_eq!(device["attributes"], body["attributes"]);
}

#[test]
fn devices_are_listed_page_by_page_and_by_audience() {
    let fixture = Fixture::with_queues();
    let devices: Vec<Value> = (0..25)
        .map(|n| json!({"device": format!("d{n:02}"), "named_user": format!("u{}", n % 5), "tags": if n % 2 == 0 { json!(["even"]) } else { json!([]) }}))
        .collect();
    let results = post(&fixture, DEVICES, json!({"devices": devices}))["results"].clone();
    assert_eq!(results[0], json!({"device": "d00", "status": "registered"}));
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = fixture.get(&format!("{DEVICES}?limit=10{after}")).json();
        seen.extend(
            page["devices"].as_array().expect("a list").iter().map(|device| device["device"].clone()),
        );
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, devices.iter().map(|device| device["device"].clone()).collect::<Vec<_>>());
    let count = |query: &str| {
        fixture.get(&format!("{DEVICES}?{query}")).json()["devices"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(count("prefix=d1"), 10);
    assert_eq!(count("audience=%7B%22tag%22%3A%22even%22%7D"), 13);
    assert_eq!(count("named_user=u1&audience=%7B%22tag%22%3A%22even%22%7D"), 2, "d06 and d16");
}

#[test]
fn an_app_has_settings_and_devices_of_its_own() {
    let fixture = Fixture::with_queues();
    let made =
        fixture.put("/api/apps/matchday", r#"{"inbox_max": 20, "cap": {"pushes": 3, "within_s": 86400}}"#);
    assert_eq!(made.status, 200, "{}", made.text);
    let changed = fixture.put("/api/apps/matchday", r#"{"expiry_s": 3600}"#).json();
    assert_eq!(changed["settings"]["inbox_max"], 20, "what is left out stays");
    assert_eq!(
        (&changed["settings"]["expiry_s"], &changed["settings"]["cap"]["pushes"]),
        (&3_600.into(), &3.into())
    );
    assert_eq!(
        fixture.put("/api/apps/matchday", r#"{"inbox_max": 0}"#).problem(422, "HTTP-005")["path"],
        "inbox_max"
    );
    post(
        &fixture,
        "/api/apps/matchday/devices",
        json!({"devices": [{"device": "a"}, {"device": "b", "opt_in": false}]}),
    );
    let app = fixture.get("/api/apps/matchday").json();
    assert_eq!((&app["devices"], &app["opted_in"]), (&2.into(), &1.into()), "{app}");
    assert_eq!(fixture.get(DEVICES).json()["devices"], json!([]), "the default app has none of them");
    let names: Vec<Value> = fixture.get("/api/apps").json()["apps"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|app| app["app"].clone())
        .collect();
    assert_eq!(names, ["default", "matchday"]);
    assert_eq!(fixture.delete("/api/apps/matchday").status, 204);
    fixture.get("/api/apps/matchday").problem(404, "PSH-020");
    fixture.delete("/api/apps/default").problem(409, "PSH-009");
}

#[test]
fn a_credential_is_shown_once_and_a_revoked_device_can_be_restored() {
    let fixture = Fixture::with_queues();
    fixture.post(&format!("{DEVICES}/phone-7/credential"), "").problem(404, "PSH-022");
    post(&fixture, DEVICES, json!({"devices": [{"device": "phone-7"}]}));
    let issued = fixture.post(&format!("{DEVICES}/phone-7/credential"), "");
    assert_eq!(issued.status, 201, "{}", issued.text);
    let secret = issued.json()["secret"].as_str().expect("a secret").to_owned();
    assert_eq!((secret.len(), &issued.json()["client_id"]), (43, &"phone-7".into()));
    let device = fixture.get(&format!("{DEVICES}/phone-7"));
    assert_eq!(device.json()["has_credential"], true);
    assert!(!device.text.contains(&secret));
    assert_eq!(fixture.delete(&format!("{DEVICES}/phone-7/credential")).status, 204);
    assert_eq!(fixture.post(&format!("{DEVICES}/phone-7/revoke"), "").status, 204);
    let device = fixture.get(&format!("{DEVICES}/phone-7")).json();
    assert_eq!((&device["has_credential"], &device["revoked"]), (&false.into(), &true.into()));
    assert_eq!(fixture.post(&format!("{DEVICES}/phone-7/restore"), "").status, 204);
    assert_eq!(fixture.get(&format!("{DEVICES}/phone-7")).json()["revoked"], false);
}

/// Sends a file as the admin.
fn import(fixture: &Fixture, app: &str, format: &str, text: &str) -> support::Answer {
    let bearer = format!("Bearer {}", fixture.admin);
    let path = format!("/api/apps/{app}/devices/import?format={format}");
    fixture.ask("POST", &path, &[("authorization", &bearer), ("content-type", "text/csv")], Some(text))
}

#[test]
fn a_file_is_imported_past_its_mistakes() {
    let fixture = Fixture::with_queues();
    let mut text = "device,platform,tags,number:score,opt_in,quiet_hours\r\n".to_owned();
    for n in 0..1_500 {
        text.push_str(&format!("p{n:04},ios,vip;loyalty:gold,{n},true,22:00-07:00\r\n"));
    }
    text.push_str("\"odd, but \"\"fine\"\"\",web,,,,\r\nno/slashes,ios,,,,\r\np0000,android,,not,,\r\nshort\r\n\r\np0001,android,,,,\r\n");
    let report = import(&fixture, "default", "csv", &text);
    assert_eq!(report.status, 200, "{}", report.text);
    let report = report.json();
    assert_eq!(
        (&report["records"], &report["registered"], &report["updated"], &report["failed"]),
        (&1_505.into(), &1_501.into(), &1.into(), &3.into()),
        "{report}"
    );
    let lines: Vec<_> =
        report["mistakes"].as_array().expect("a list").iter().map(|one| one["line"].clone()).collect();
    assert_eq!(lines, [1_503, 1_504, 1_505], "{report}");
    let device = fixture.get(&format!("{DEVICES}/p0001")).json();
    assert_eq!((&device["platform"], &device["attributes"]["score"]), (&"android".into(), &1.into()));
    assert_eq!(
        device["tags"].as_array().map(Vec::len),
        Some(2),
        "an empty cell leaves what is known: {device}"
    );

    import(&fixture, "default", "csv", "phone,platform\r\n").problem(422, "HTTP-005");
    import(&fixture, "default", "csv", "device,platfrom\r\n").problem(422, "HTTP-005");
    import(&fixture, "nobody", "csv", "device\r\na\r\n").problem(404, "PSH-020");
}

#[test]
fn an_export_can_be_imported_elsewhere() {
    let fixture = Fixture::with_queues();
    post(
        &fixture,
        DEVICES,
        json!({"devices": [
            {"device": "a, b", "platform": "ios", "language": "de-AT", "country": "AT", "time_zone": "Europe/Vienna", "named_user": "u1",
             "app_version": "2.3.1", "opt_in": false, "quiet_hours": {"from": "22:00", "to": "07:00"}, "location": {"latitude": 48.2, "longitude": 16.37},
             "tags": ["vip", "loyalty:gold"], "attributes": {"score": 1.5, "team": "blue; \"red\"", "born": {"date": "1960-05-17T00:00:00Z"}}},
            {"device": "plain"},
        ]}),
    );
    assert_eq!(fixture.put("/api/apps/default/lists/beta/devices", r#"{"devices": ["plain"]}"#).status, 200);
    let facts = |app: &str| {
        let devices = fixture.get(&format!("/api/apps/{app}/devices")).json()["devices"].clone();
        let mut devices = devices.as_array().expect("a list").clone();
        for device in &mut devices {
            let fields = device.as_object_mut().expect("an object");
            fields.retain(|name, _| !["registered_at", "last_seen", "located_at"].contains(&name.as_str()));
        }
        devices
    };
    for format in ["csv", "ndjson"] {
        assert_eq!(fixture.put(&format!("/api/apps/{format}"), "{}").status, 200);
        let file = fixture.get(&format!("{DEVICES}/export?format={format}"));
        assert_eq!(file.status, 200);
        assert!(
            file.header("content-disposition")
                .is_some_and(|name| name.ends_with(&format!("devices-default.{format}\"")))
        );
        let report = import(&fixture, format, format, &file.text).json();
        assert_eq!(
            (&report["registered"], &report["failed"]),
            (&2.into(), &0.into()),
            "{report}\n{}",
            file.text
        );
        assert_eq!(facts(format), facts("default"), "{}", file.text);
    }
}

#[test]
fn audiences_are_saved_previewed_and_lists_kept() {
    let fixture = Fixture::with_queues();
    let devices: Vec<Value> = (0..20)
        .map(|n| json!({"device": format!("d{n:02}"), "platform": if n < 12 { "ios" } else { "android" }, "tags": if n % 2 == 0 { json!(["vip"]) } else { json!([]) }, "opt_in": n != 0}))
        .collect();
    post(&fixture, DEVICES, json!({"devices": devices}));
    let selector = json!({"and": [{"tag": "vip"}, {"platform": "ios"}]});
    let preview = post(
        &fixture,
        "/api/apps/default/audiences/preview",
        json!({"audience": selector, "sample": 3, "pace": {"per_second": 5}}),
    );
    assert_eq!(
        (
            &preview["devices"],
            &preview["matched"],
            &preview["opted_out"],
            &preview["reached"],
            &preview["connected"]
        ),
        (&20.into(), &6.into(), &1.into(), &5.into(), &0.into()),
        "{preview}"
    );
    assert_eq!(preview["sample"].as_array().map(Vec::len), Some(3), "{preview}");
    let clauses = preview["clauses"].as_array().expect("a list");
    assert!(clauses.iter().any(|clause| clause["path"] == "and[0]" && clause["matches"] == 10), "{preview}");

    let saved = fixture.put("/api/apps/default/audiences/vips", &json!({"audience": selector}).to_string());
    assert_eq!(saved.status, 200, "{}", saved.text);
    let by_name =
        post(&fixture, "/api/apps/default/audiences/preview", json!({"audience": {"saved": "vips"}}));
    assert_eq!(by_name["matched"], 6);
    assert_eq!(
        fixture.get("/api/apps/default/audiences").json()["audiences"],
        json!([{"name": "vips", "audience": selector}])
    );
    let wrong = fixture.put(
        "/api/apps/default/audiences/bad",
        r#"{"audience": {"and": [{"tag": "x"}, {"not": {"tga": "y"}}]}}"#,
    );
    assert!(
        wrong.problem(422, "HTTP-005")["path"]
            .as_str()
            .is_some_and(|path| path.starts_with("audience.and[1].not")),
        "{}",
        wrong.text
    );
    assert_eq!(fixture.delete("/api/apps/default/audiences/vips").status, 204);
    fixture
        .post("/api/apps/default/audiences/preview", r#"{"audience": {"saved": "vips"}}"#)
        .problem(404, "PSH-023");

    let list =
        fixture.put("/api/apps/default/lists/beta/devices", r#"{"devices": ["d01", "d02", "ghost"]}"#).json();
    assert_eq!(list["results"][0]["error"]["code"], "PSH-022", "{list}");
    let on_it = post(&fixture, "/api/apps/default/audiences/preview", json!({"audience": {"list": "beta"}}));
    assert_eq!(on_it["matched"], 2, "{on_it}");
    fixture.send("DELETE", "/api/apps/default/lists/beta/devices", r#"{"devices": ["d01"]}"#);
    assert_eq!(
        post(&fixture, "/api/apps/default/audiences/preview", json!({"audience": {"list": "beta"}}))["matched"],
        1
    );
}

#[test]
fn changes_are_logged_with_their_key_and_roles_are_kept() {
    let fixture = Fixture::with_queues();
    let key = |name: &str, role: &str| {
        let made = fixture.post("/api/keys", &json!({"name": name, "roles": [role]}).to_string()).json();
        made["secret"].as_str().expect("a secret").to_owned()
    };
    let (looks, sends) = (key("looks", "viewer"), key("campaigns", "sender"));
    let ask = |secret: &str, method: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {secret}");
        fixture.ask(
            method,
            path,
            &[("authorization", &bearer), ("content-type", "application/json")],
            Some(body),
        )
    };
    let phone = format!("{DEVICES}/phone-7");
    ask(&looks, "PUT", &phone, "{}").problem(403, "HTTP-003");
    assert_eq!(ask(&sends, "PUT", &phone, "{}").status, 201);
    ask(&sends, "DELETE", &phone, "").problem(403, "HTTP-003");
    ask(&sends, "POST", &format!("{phone}/credential"), "").problem(403, "HTTP-003");
    ask(&sends, "PUT", "/api/apps/other", "{}").problem(403, "HTTP-003");
    ask(&sends, "GET", "/api/audit", "").problem(403, "HTTP-003");
    ask(&looks, "POST", "/api/apps/default/audiences/preview", r#"{"audience": "all"}"#);

    let entries = fixture.get("/api/audit?limit=6").json()["entries"].clone();
    let short: Vec<_> = entries
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| format!("{} {} {}", entry["name"], entry["path"], entry["status"]).replace('"', ""))
        .collect();
    assert_eq!(
        short,
        [
            "campaigns /api/apps/other 403".to_owned(),
            format!("campaigns {phone}/credential 403"),
            format!("campaigns {phone} 403"),
            format!("campaigns {phone} 201"),
            format!("looks {phone} 403"),
            short.last().cloned().expect("six entries"),
        ],
        "a preview changes nothing: {entries}"
    );
    assert!(short[5].ends_with("/api/keys 201"), "{entries}");
    assert_eq!(entries[0]["code"], "HTTP-003");
    assert_eq!(entries[3]["route"], "PUT /api/apps/{app}/devices/{device}");
    assert!(fixture.data.path().join("audit.ndjson").exists());
}
