//! A device's own rights over MQTT: `me/opened`, `me/clicked` and `me/device`, in 3.1.1 and 5.0; and
//! an inbox that a device settles over HTTP in part.
//!
//! Secrets are issued over HTTP, as an application would. The server's answers are read byte by
//! byte, and the results by the operator's API.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::server::{Access, Plan, Server};
use stadium_testing::wire::{self, Connect, Kind, Publish, VERSIONS, Version};

const SUCCESS: u8 = 0x00;
const NOT_AUTHORISED: u8 = 0x87;
const TOPIC_NAME_INVALID: u8 = 0x90;
const QUOTA_EXCEEDED: u8 = 0x97;
const PAYLOAD_FORMAT_INVALID: u8 = 0x99;

fn server(settings: &str) -> Result<Server> {
    let plan = Plan { access: Access::Settings, settings: settings.to_owned(), ..Plan::default() };
    let server = Server::start(plan)?;
    let writable = json!({"device_writable": {"tags": ["news-*"], "attributes": ["language_*"]}});
    let (status, answer) = server.api().put("/api/apps/shop", &writable)?;
    ensure!(status < 300 && answer["settings"]["device_writable"]["tags"] == json!(["news-*"]), "{answer}");
    Ok(server)
}

fn path(device: &str) -> String {
    format!("/api/apps/shop/devices/{device}")
}

/// A registered device of the app `shop`, connected with its credential and reading its inbox.
fn phone(server: &Server, version: Version, name: &str) -> Result<Device> {
    let api = server.api();
    let (status, answer) = api.put(&path(name), &json!({}))?;
    ensure!(status < 300, "{status}: {answer}");
    let (status, answer) = api.post(&format!("{}/credential", path(name)), &json!({}))?;
    ensure!(status == 201, "{status}: {answer}");
    let secret = answer["secret"].as_str().context("no secret")?;
    let id = format!("shop/{name}");
    let login = Some((id.clone(), secret.to_owned()));
    let mut phone = Device::connect(server.mqtt, &Connect { login, ..Connect::new(version, &*id) })?;
    phone.subscribe(&[&format!("inbox/{id}")], 1)?;
    Ok(phone)
}

/// Publishes at QoS 1, and returns the reason of PUBACK.
fn ask(phone: &mut Device, topic: &str, payload: &str) -> Result<u8> {
    let version = phone.version();
    phone.send(&Publish::new(topic, payload.as_bytes()).qos(1, 7).encode(version))?;
    Ok(phone.expect(Kind::Puback)?.reason(version))
}

/// The reason that a client of this version gets: 3.1.1 has none but success.
fn shown(version: Version, reason: u8) -> u8 {
    if version == Version::V5 { reason } else { SUCCESS }
}

/// Pushes to a device, which takes and acknowledges it.
fn push(api: &Api, name: &str, phone: &mut Device) -> Result<String> {
    let push = json!({"audience": {"device": name}, "message": "hello"});
    let (status, answer) = api.post("/api/apps/shop/pushes", &push)?;
    ensure!(status < 300, "{status}: {answer}");
    phone.take()?;
    let id = answer["id"].as_str().context("no id")?.to_owned();
    until_true(PATIENCE, "the push to be delivered", || Ok(count(api, &id, "delivered")? == 1))?;
    Ok(id)
}

fn count(api: &Api, id: &str, of: &str) -> Result<u64> {
    let (status, push) = api.read(&format!("/api/apps/shop/pushes/{id}"))?;
    ensure!(status == 200, "{status}: {push}");
    push["counts"][of].as_u64().context("no count")
}

fn known(api: &Api, name: &str) -> Result<Value> {
    let (status, device) = api.read(&path(name))?;
    ensure!(status == 200, "{status}: {device}");
    Ok(device)
}

#[test]
fn a_device_reports_its_own_push_as_opened_and_never_another_ones() -> Result<()> {
    let server = server("")?;
    let api = server.api();
    for (place, version) in VERSIONS.into_iter().enumerate() {
        let (mine, theirs) = (format!("mine-{place}"), format!("theirs-{place}"));
        let mut phone_1 = phone(&server, version, &mine)?;
        let mut phone_2 = phone(&server, version, &theirs)?;
        let id = push(&api, &mine, &mut phone_1)?;
        let of_other = push(&api, &theirs, &mut phone_2)?;
        let body = |id: &str| json!({"push": id}).to_string();

        let refused = ask(&mut phone_1, "me/opened", &body(&of_other))?;
        ensure!(refused == shown(version, NOT_AUTHORISED), "{refused:#04x}");
        ensure!(count(&api, &of_other, "opened")? == 0);

        // The outcome is there when it is acknowledged; once more changes nothing.
        for _ in 0..2 {
            ensure!(ask(&mut phone_1, "me/opened", &body(&id))? == SUCCESS);
            ensure!(count(&api, &id, "opened")? == 1);
        }
        ensure!(count(&api, &of_other, "opened")? == 0);
    }
    Ok(())
}

#[test]
fn a_device_reports_its_own_push_as_clicked_once_with_its_action() -> Result<()> {
    let server = server("")?;
    let api = server.api();
    for (place, version) in VERSIONS.into_iter().enumerate() {
        let (mine, theirs) = (format!("mine-{place}"), format!("theirs-{place}"));
        let mut phone_1 = phone(&server, version, &mine)?;
        let mut phone_2 = phone(&server, version, &theirs)?;
        let id = push(&api, &mine, &mut phone_1)?;
        let of_other = push(&api, &theirs, &mut phone_2)?;
        let body = |id: &str, action: &str| json!({"push": id, "action": action}).to_string();
        for (payload, reason) in [
            (body(&of_other, "buy"), NOT_AUTHORISED),
            (body(&"0".repeat(32), "buy"), NOT_AUTHORISED),
            (body(&id, &"x".repeat(65)), PAYLOAD_FORMAT_INVALID),
            (body(&id, ""), PAYLOAD_FORMAT_INVALID),
            (json!({"push": id, "device": theirs}).to_string(), PAYLOAD_FORMAT_INVALID),
        ] {
            let answer = ask(&mut phone_1, "me/clicked", &payload)?;
            ensure!(answer == shown(version, reason), "{version:?}, {payload}: {answer:#04x}");
        }
        ensure!(count(&api, &of_other, "clicked")? == 0 && count(&api, &id, "opened")? == 0);

        for payload in [body(&id, "buy"), body(&id, "later"), json!({"push": id}).to_string()] {
            ensure!(ask(&mut phone_1, "me/clicked", &payload)? == SUCCESS);
            ensure!((count(&api, &id, "opened")?, count(&api, &id, "clicked")?) == (1, 1));
        }
        let (_, report) = api.read(&format!("/api/apps/shop/pushes/{id}"))?;
        ensure!(report["actions"] == json!([{"action": "buy", "clicks": 1}]), "{report}");
        ensure!(count(&api, &of_other, "clicked")? == 0);
    }
    Ok(())
}

#[test]
fn a_device_changes_of_itself_what_its_app_names() -> Result<()> {
    let server = server("")?;
    let api = server.api();
    for (place, version) in VERSIONS.into_iter().enumerate() {
        let name = format!("phone-{place}");
        let mut phone = phone(&server, version, &name)?;
        for (payload, reason) in [
            (r#"{"tags": {"add": ["vip"]}}"#, NOT_AUTHORISED),
            (r#"{"tags": {"add": ["news-local", "vip"]}}"#, NOT_AUTHORISED),
            (r#"{"attributes": {"balance": 7}}"#, NOT_AUTHORISED),
            (r#"{"tags": ["news-local"]}"#, PAYLOAD_FORMAT_INVALID),
            (r#"{"revoked": false}"#, PAYLOAD_FORMAT_INVALID),
            (r#"{"opted_in": "#, PAYLOAD_FORMAT_INVALID),
        ] {
            let answer = ask(&mut phone, "me/device", payload)?;
            ensure!(answer == shown(version, reason), "{version:?}, {payload}: {answer:#04x}");
        }
        let before = known(&api, &name)?;
        ensure!(before["opt_in"] == true && before["tags"] == json!([]), "{before}");
        ensure!(before["attributes"] == json!({}), "{before}");

        let change = json!({
            "tags": {"add": ["news-local", "news-sport"], "remove": ["news-old"]},
            "attributes": {"language_spoken": "de"},
            "opted_in": false,
        });
        ensure!(ask(&mut phone, "me/device", &change.to_string())? == SUCCESS);
        let after = known(&api, &name)?;
        ensure!(after["opt_in"] == false, "{after}");
        ensure!(after["tags"] == json!(["news-local", "news-sport"]), "{after}");
        ensure!(after["attributes"] == json!({"language_spoken": "de"}), "{after}");

        ensure!(ask(&mut phone, "me/device", r#"{"opted_in": true}"#)? == SUCCESS);
        ensure!(known(&api, &name)?["opt_in"] == true);
    }
    Ok(())
}

#[test]
fn a_push_that_is_settled_over_http_does_not_come_over_mqtt() -> Result<()> {
    let server = server("")?;
    let api = server.api();
    for (place, version) in VERSIONS.into_iter().enumerate() {
        let name = format!("phone-{place}");
        let away = phone(&server, version, &name)?;
        drop(away);
        until_true(PATIENCE, "the device to be away", || Ok(known(&api, &name)?["connected"] == false))?;
        let ids: Vec<String> = ["one", "two", "three"]
            .into_iter()
            .map(|message| {
                let push = json!({"audience": {"device": name}, "message": message});
                let (_, answer) = api.post("/api/apps/shop/pushes", &push)?;
                answer["id"].as_str().map(str::to_owned).context("no id")
            })
            .collect::<Result<_>>()?;
        let (status, answer) = api.post(&format!("{}/token", path(&name)), &json!({}))?;
        ensure!(status == 201, "{status}: {answer}");
        let token = tempfile::NamedTempFile::new()?;
        std::fs::write(token.path(), answer["token"].as_str().context("no token")?)?;
        let own = api.with_key(token.path());
        let (_, inbox) = own.read("/api/me/inbox")?;
        let messages: Vec<&Value> =
            inbox["inbox"].as_array().context("no inbox")?.iter().map(|one| &one["message"]).collect();
        ensure!(messages == ["one", "two", "three"], "{inbox}");
        let (status, answer) = own.post("/api/me/inbox/settle", &json!({"pushes": [ids[0], ids[2]]}))?;
        ensure!((status, &answer["not_owed"]) == (200, &json!([])), "{status}: {answer}");
        ensure!(count(&api, &ids[0], "delivered")? == 1 && count(&api, &ids[1], "delivered")? == 0);

        let mut back = phone(&server, version, &name)?;
        ensure!(back.take()?.payload == b"two");
        until_true(PATIENCE, "the push to be delivered", || Ok(count(&api, &ids[1], "delivered")? == 1))?;
        // Whatever came behind it would come before this one.
        push(&api, &name, &mut back)?;
        ensure!(count(&api, &ids[2], "delivered")? == 1);
    }
    Ok(())
}

#[test]
fn at_qos_2_a_request_happens_once_and_pubrec_has_its_outcome() -> Result<()> {
    let server = server("")?;
    let api = server.api();
    for (place, version) in VERSIONS.into_iter().enumerate() {
        let name = format!("phone-{place}");
        let mut phone = phone(&server, version, &name)?;
        let id = push(&api, &name, &mut phone)?;
        let body = json!({"push": id}).to_string();
        phone.send(&Publish::new("me/opened", body.as_bytes()).qos(2, 9).encode(version))?;
        ensure!(phone.expect(Kind::Pubrec)?.reason(version) == SUCCESS);
        ensure!(count(&api, &id, "opened")? == 1);
        phone.send(&wire::acknowledge(Kind::Pubrel, 9))?;
        phone.expect(Kind::Pubcomp)?;

        let unknown = json!({"push": "0".repeat(32)}).to_string();
        phone.send(&Publish::new("me/opened", unknown.as_bytes()).qos(2, 10).encode(version))?;
        let refused = phone.expect(Kind::Pubrec)?.reason(version);
        ensure!(refused == shown(version, NOT_AUTHORISED), "{refused:#04x}");
    }
    Ok(())
}

#[test]
fn the_topics_are_for_requests_alone() -> Result<()> {
    let server = server("")?;
    let mut phone_1 = phone(&server, Version::V5, "phone-1")?;
    for filter in ["me/#", "me/opened", "me/clicked", "me/+", "$share/g/me/device"] {
        phone_1.send(&wire::subscribe(Version::V5, 2, &[filter], 1))?;
        let reason = phone_1.expect(Kind::Suback)?.reason(Version::V5);
        ensure!(reason == NOT_AUTHORISED, "{filter}: {reason:#04x}");
    }
    for topic in ["me/wallet", "me/device/phone-2", "me/"] {
        let reason = ask(&mut phone_1, topic, "{}")?;
        ensure!(reason == TOPIC_NAME_INVALID, "{topic}: {reason:#04x}");
    }
    let retained = Publish::new("me/device", br#"{"opted_in": false}"#).qos(1, 8).retained();
    phone_1.send(&retained.encode(Version::V5))?;
    ensure!(phone_1.expect(Kind::Puback)?.reason(Version::V5) >= 0x80);
    ensure!(known(&server.api(), "phone-1")?["opt_in"] == true);
    Ok(())
}

#[test]
fn a_connection_that_has_not_proved_to_be_a_device_has_no_such_right() -> Result<()> {
    let server = Server::trial()?;
    let api = server.api();
    let mut stranger = Device::clean(server.mqtt, Version::V5, "phone-1")?;
    stranger.subscribe(&["inbox/phone-1"], 1)?;
    until_true(PATIENCE, "the device to be registered", || {
        Ok(api.read("/api/apps/default/devices/phone-1")?.0 == 200)
    })?;
    ensure!(ask(&mut stranger, "me/device", r#"{"opted_in": false}"#)? == NOT_AUTHORISED);
    ensure!(api.read("/api/apps/default/devices/phone-1")?.1["opt_in"] == true);
    Ok(())
}

#[test]
fn a_rule_can_take_the_right_away() -> Result<()> {
    let rules = tempfile::NamedTempFile::new()?;
    std::fs::write(
        rules.path(),
        "[[rule]]\ndeny = [\"publish\"]\ntopics = [\"me/device\"]\n\
         [[rule]]\nallow = [\"subscribe\"]\ntopics = [\"inbox/%c\"]\n",
    )?;
    let server = server(&format!("[auth]\nrules_file = {:?}\n", rules.path()))?;
    let mut phone_1 = phone(&server, Version::V5, "phone-1")?;
    ensure!(ask(&mut phone_1, "me/device", r#"{"opted_in": false}"#)? == NOT_AUTHORISED);
    let id = push(&server.api(), "phone-1", &mut phone_1)?;
    ensure!(ask(&mut phone_1, "me/opened", &json!({"push": id}).to_string())? == SUCCESS);
    ensure!(known(&server.api(), "phone-1")?["opt_in"] == true);
    Ok(())
}

#[test]
fn a_flood_is_refused_beyond_its_rate_and_costs_no_other_device() -> Result<()> {
    let server = server("")?;
    let api = server.api();
    let mut flooding = phone(&server, Version::V5, "flooding")?;
    let mut other = phone(&server, Version::V5, "other")?;
    let request = Publish::new("me/device", br#"{"opted_in": false}"#);
    let flood: Vec<u8> = (1..=200).flat_map(|id| request.clone().qos(1, id).encode(Version::V5)).collect();
    flooding.send(&flood)?;
    let mut reasons = Vec::new();
    for _ in 0..200 {
        reasons.push(flooding.expect(Kind::Puback)?.reason(Version::V5));
    }
    let taken = reasons.iter().filter(|&&reason| reason == SUCCESS).count();
    let refused = reasons.iter().filter(|&&reason| reason == QUOTA_EXCEEDED).count();
    ensure!((10..100).contains(&taken) && taken + refused == 200, "{taken} taken, {refused} refused");
    ensure!(ask(&mut other, "me/device", r#"{"opted_in": false}"#)? == SUCCESS);
    ensure!(known(&api, "other")?["opt_in"] == false);
    Ok(())
}

#[test]
fn a_request_with_a_response_topic_is_answered_there_as_json() -> Result<()> {
    let server = server("")?;
    let mut phone_1 = phone(&server, Version::V5, "phone-1")?;
    // Response Topic (3.3.2.3.5).
    let to = [&[0x08][..], &wire::text("inbox/shop/phone-1")].concat();
    let mut answered = |payload: &str| -> Result<(u8, Value)> {
        let publish = Publish { properties: &to, ..Publish::new("me/device", payload.as_bytes()).qos(1, 7) };
        phone_1.send(&publish.encode(Version::V5))?;
        let reason = phone_1.expect(Kind::Puback)?.reason(Version::V5);
        Ok((reason, serde_json::from_slice(&phone_1.take()?.payload)?))
    };
    let (reason, answer) = answered(r#"{"opted_in": false}"#)?;
    ensure!((reason, &answer["status"]) == (SUCCESS, &json!("ok")), "{reason:#04x} {answer}");
    let (reason, answer) = answered(r#"{"tags": {"add": ["vip"]}}"#)?;
    ensure!(reason == NOT_AUTHORISED && answer["code"] == "PSH-033", "{reason:#04x} {answer}");
    ensure!(answer["reason"].as_str().is_some_and(|reason| reason.contains("vip")), "{answer}");
    let (reason, answer) = answered("{")?;
    ensure!(reason == PAYLOAD_FORMAT_INVALID && answer["code"] == "ME-PAYLOAD", "{reason:#04x} {answer}");
    Ok(())
}
