//! A named user exported and erased over HTTP, with real devices: what is found, what is gone, what
//! stays, and what a crash and a restore change about it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until};
use stadium_testing::device::Device;
use stadium_testing::killable::Killable;
use stadium_testing::server::binary;
use stadium_testing::wallets::Wallets;
use stadium_testing::wire::{Connect, Publish, Version};

const SETTINGS: &str = "\
[journal]
segment_bytes = 9437184
reserve_bytes = 262144
[shards]
count = 2
";

fn server(place: &Path, more: &str) -> Result<Killable> {
    let mut server = Killable::new(place, &place.join("data"), &[SETTINGS, more].concat())?;
    server.loops = 2;
    server.start()?;
    Ok(server)
}

pub(crate) fn accepted((status, answer): (u16, Value)) -> Result<Value> {
    ensure!(status < 300, "{status}: {answer}");
    Ok(answer)
}

/// Registers a device of a user, and logs it in with a credential of its own and a session that
/// stays.
///
/// Its will goes to `wills/USER`.
pub(crate) fn device((api, mqtt): (&Api, SocketAddr), id: &str, user: &str) -> Result<Device> {
    let path = format!("/api/apps/default/devices/{id}");
    let fields = json!({"named_user": user, "attributes": {"first_name": format!("name-of-{user}")}});
    accepted(api.put(&path, &fields)?)?;
    let secret = accepted(api.post(&format!("{path}/credential"), &json!({}))?)?;
    let secret = secret["secret"].as_str().context("no secret")?.to_owned();
    let login = Some((id.to_owned(), secret));
    let will = Some((format!("wills/{user}"), id.to_owned()));
    let connect = Connect { login, will, ..Connect::new(Version::V5, id).persistent() };
    Device::connect(mqtt, &connect)
}

/// Gives a user what a user may have: a device that is away with a message in its session and a
/// push in its inbox, a retained message, a job, a wallet.
pub(crate) fn furnish((api, mqtt): (&Api, SocketAddr), user: &str) -> Result<()> {
    let phone = format!("{user}-phone");
    let mut away = device((api, mqtt), &phone, user)?;
    away.subscribe(&["news/#", &format!("inbox/{phone}")], 1)?;
    let topic = format!("lamps/{user}");
    away.send(&Publish::new(&topic, b"on").qos(1, 7).retained().encode(Version::V5))?;
    away.expect(stadium_testing::wire::Kind::Puback)?;
    away.leave()?;
    let mut publisher = Device::clean(mqtt, Version::V5, "publisher")?;
    publisher.send(
        &Publish::new("news/1", format!("secret of {user}").as_bytes()).qos(1, 9).encode(Version::V5),
    )?;
    publisher.expect(stadium_testing::wire::Kind::Puback)?;
    let push = json!({"audience": {"device": phone}, "notification": {"title": format!("Hello {user}")}});
    accepted(api.post("/api/apps/default/pushes", &push)?)?;
    let job = json!({"jobs": [{"payload": format!("mail to {user}"), "key": user}, {"payload": "other", "key": "other"}]});
    accepted(api.post("/api/queues/mails/jobs", &job)?)?;
    Ok(())
}

pub(crate) fn export(api: &Api, user: &str) -> Result<Value> {
    let (status, document) = api.read(&format!("/api/users/{user}/export"))?;
    ensure!(status == 200 && document["complete"] == true, "{status}: {document}");
    Ok(document)
}

pub(crate) fn count(document: &Value, list: &str) -> usize {
    document[list].as_array().map_or(0, Vec::len)
}

/// Waits for the end of an erasure, and returns its receipt.
pub(crate) fn receipt(api: &Api, id: &str) -> Result<Value> {
    let mut last = Value::Null;
    until(PATIENCE, "the end of the erasure", || {
        last = accepted(api.read(&format!("/api/erasures/{id}"))?)?;
        Ok((last["state"] == "finished").then(|| last["receipt"].clone()))
    })
    .with_context(|| last.to_string())
}

pub(crate) fn removed(receipt: &Value, kind: &str) -> u64 {
    let all = receipt["receipt"]["removed"].as_array().into_iter().flatten();
    all.filter(|one| one["kind"] == kind).filter_map(|one| one["count"].as_u64()).sum()
}

pub(crate) fn kept(receipt: &Value, kind: &str) -> bool {
    receipt["receipt"]["kept"].as_array().into_iter().flatten().any(|one| one["kind"] == kind)
}

pub(crate) fn stadium(arguments: &[&str]) -> Result<(bool, String)> {
    let output = Command::new(binary()?).args(arguments).output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn a_user_is_exported_and_erased_and_other_users_stay() -> Result<()> {
    let place = tempfile::tempdir()?;
    let server = server(place.path(), "")?;
    furnish((&server.api(), server.mqtt), "ada")?;
    furnish((&server.api(), server.mqtt), "bob")?;
    // Connected all the time, as is the one who would hear of its will.
    let api = server.api();
    let mut watcher = Device::clean(server.mqtt, Version::V5, "watcher")?;
    watcher.subscribe(&["wills/#"], 0)?;
    let mut connected = device((&api, server.mqtt), "ada-watch", "ada")?;
    let wallets = Wallets::of(server.api())?;
    wallets.open(&["ada".to_owned(), "bob".to_owned(), "{ada}:points".to_owned()])?;
    wallets.book(1, "@bank", "ada", 60)?;

    let document = export(&server.api(), "ada")?;
    let found: Vec<usize> =
        ["devices", "pushes", "sessions", "retained_messages", "jobs", "accounts", "entries"]
            .iter()
            .map(|list| count(&document, list))
            .collect();
    assert_eq!(found, [2, 1, 2, 1, 1, 2, 1], "{document}");
    assert_eq!(document["devices"][0]["attributes"]["first_name"], "name-of-ada");
    assert_eq!(document["pushes"][0]["title"], "Hello ada");
    assert_eq!(document["pushes"][0]["deliveries"][0]["state"], "owed", "{document}");
    let sessions = document["sessions"].as_array().context("no list")?;
    let messages = sessions.iter().filter_map(|session| session["messages"].as_array()).flatten();
    assert!(messages.into_iter().any(|message| message["payload"] == "secret of ada"), "{document}");
    assert_eq!(document["retained_messages"][0]["payload"], "on");
    assert_eq!(document["jobs"][0]["payload"], "mail to ada");
    assert!(count(&document, "audit") >= 2, "its device was registered, and got a credential");
    assert!(!document.to_string().contains("bob-phone"), "{document}");

    // Nothing is removed without being asked for, nor while there is a balance.
    let (status, plan) = server.api().post("/api/users/ada/erase?dry_run=true", &json!({}))?;
    assert_eq!((status, &plan["found"]["devices"], count(&plan, "balances")), (200, &json!(2), 1), "{plan}");
    let (status, refused) = server.api().post("/api/users/ada/erase", &json!({}))?;
    assert_eq!((status, refused["code"].as_str()), (409, Some("ERA-001")), "{refused}");
    assert_eq!(count(&export(&server.api(), "ada")?, "devices"), 2);
    wallets.book(2, "ada", "@bank", 60)?;

    let (status, begun) = server.api().post_keyed("/api/users/ada/erase", "forget-ada", &json!({}))?;
    assert_eq!(status, 202, "{begun}");
    let id = begun["id"].as_str().context("no id")?.to_owned();
    let signed = receipt(&server.api(), &id)?;
    let counts = ["devices", "sessions", "retained_messages", "jobs", "wallet_accounts_closed"];
    assert_eq!(counts.map(|kind| removed(&signed, kind)), [2, 2, 1, 1, 2], "{signed}");
    connected.closed(PATIENCE)?;
    watcher.ping().context("a will of the user was published")?;
    assert!(removed(&signed, "session_messages") >= 1, "{signed}");
    assert!(kept(&signed, "wallet_entries") && kept(&signed, "audit_lines"), "{signed}");

    let document = export(&server.api(), "ada")?;
    for list in ["devices", "pushes", "sessions", "retained_messages", "jobs"] {
        assert_eq!(count(&document, list), 0, "{list}: {document}");
    }
    assert_eq!(count(&document, "entries"), 2, "the books stay");
    let (status, refused) =
        server.api().post("/api/transfers", &stadium_testing::wallets::transfer(3, "@bank", "ada", 1))?;
    assert_eq!(status, 409, "the account is closed: {refused}");
    let other = export(&server.api(), "bob")?;
    let found = ["devices", "sessions", "retained_messages", "jobs"].map(|list| count(&other, list));
    assert_eq!(found, [1, 1, 1, 1], "{other}");

    // The same request is the same erasure; the audit log has its id and not the name.
    let (status, again) = server.api().post_keyed("/api/users/ada/erase", "forget-ada", &json!({}))?;
    assert_eq!((status, again["id"].as_str()), (202, Some(id.as_str())), "{again}");
    let (status, refused) = server.api().post_keyed("/api/users/bob/erase", "forget-ada", &json!({}))?;
    assert_eq!((status, refused["code"].as_str()), (422, Some("HTTP-015")), "{refused}");
    let audit = std::fs::read_to_string(place.path().join("data/audit.ndjson"))?;
    assert!(audit.contains(&format!("/api/erasures/{id}")), "{audit}");
    assert!(!audit.contains("/api/users/ada"), "neither where it was refused: {audit}");

    // Its receipt is checked without the server.
    let file = place.path().join("receipt.json");
    let shown = file.display().to_string();
    std::fs::write(&file, signed.to_string())?;
    let listed = accepted(server.api().read("/api/erasures")?)?;
    let key = listed["public_key"].as_str().context("no key")?.to_owned();
    let (genuine, text) = stadium(&["user", "receipt", "verify", &shown, "--key", &key, "--user", "ada"])?;
    assert!(genuine && text.contains("genuine"), "{text}");
    let (genuine, text) = stadium(&["user", "receipt", "verify", &shown, "--user", "bob"])?;
    assert!(!genuine && text.contains("ERA-006"), "{text}");
    std::fs::write(&file, signed.to_string().replace("\"count\":1", "\"count\":0"))?;
    let (genuine, text) = stadium(&["user", "receipt", "verify", &shown])?;
    assert!(!genuine && text.contains("ERA-006"), "{text}");
    Ok(())
}

#[test]
fn an_erasure_goes_on_after_a_sigkill_in_its_middle() -> Result<()> {
    const DEVICES: usize = 150;
    const JOBS: usize = 300;
    let place = tempfile::tempdir()?;
    let mut server = server(place.path(), "")?;
    let mut caught = 0;
    for round in 0..6 {
        let user = format!("user-{round}");
        let fields = |n: usize| json!({"device": format!("{user}-{n}"), "named_user": user});
        let devices: Vec<Value> = (0..DEVICES).map(fields).collect();
        accepted(server.api().post("/api/apps/default/devices", &json!({"devices": devices}))?)?;
        let jobs: Vec<Value> = (0..JOBS).map(|n| json!({"payload": n.to_string(), "key": user})).collect();
        accepted(server.api().post("/api/queues/mails/jobs", &json!({"jobs": jobs}))?)?;
        let (status, begun) = server.api().post(&format!("/api/users/{user}/erase"), &json!({}))?;
        assert_eq!(status, 202, "{begun}");
        server.kill()?;
        let running = std::fs::read_to_string(place.path().join("data/erasing.json"))?;
        caught += u32::from(running.contains(&user));
        server.start()?;
        let id = begun["id"].as_str().context("no id")?;
        let (_, answer) = server.api().read(&format!("/api/erasures/{id}"))?;
        assert_eq!(answer["state"], "finished", "before it serves: {answer}");
        let signed = receipt(&server.api(), id)?;
        let counts = ["devices", "jobs"].map(|kind| removed(&signed, kind));
        assert_eq!(counts, [DEVICES as u64, JOBS as u64], "round {round}: {signed}");
        let document = export(&server.api(), &user)?;
        assert_eq!((count(&document, "devices"), count(&document, "jobs")), (0, 0), "{document}");
        let left = std::fs::read_to_string(place.path().join("data/erasing.json"))?;
        assert!(!left.contains(&user), "{left}");
    }
    ensure!(caught > 0, "no kill came in the middle of an erasure");
    Ok(())
}

#[test]
fn a_restore_of_an_older_state_erases_again_before_it_serves() -> Result<()> {
    let place = tempfile::tempdir()?;
    let url = format!("file://{}/backups", place.path().display());
    let backup = format!("[backup]\nto = \"{url}\"\nevery_s = 1\n");
    let mut server = server(place.path(), &backup)?;
    furnish((&server.api(), server.mqtt), "ada")?;
    furnish((&server.api(), server.mqtt), "bob")?;
    let newest = || -> Result<u64> {
        let (_, text) = stadium(&["backup", "list", &url, "--json"])?;
        let listed: Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(listed["backups"].as_array().and_then(|all| all.last()?["number"].as_u64()).unwrap_or(0))
    };
    // The next backup may have begun before.
    let backed_up = || -> Result<u64> {
        let before = newest()?;
        until(PATIENCE, "a backup", || Ok(Some(newest()?).filter(|number| *number >= before + 2)))
    };
    let with_ada = backed_up()?;
    let (status, begun) = server.api().post("/api/users/ada/erase", &json!({}))?;
    assert_eq!(status, 202, "{begun}");
    receipt(&server.api(), begun["id"].as_str().context("no id")?)?;
    let number = backed_up()?;
    assert!(number > with_ada);
    server.kill()?;

    let restored = place.path().join("restored");
    std::fs::create_dir(&restored)?;
    let data = restored.join("data").display().to_string();
    let (done, text) =
        stadium(&["restore", &url, "--data", &data, "--backup", &with_ada.to_string(), "--json"])?;
    ensure!(done, "{text}");
    let report: Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
    assert_eq!(report["backup"], with_ada, "{report}");
    // No backup without a key of its own has the secret of the administrator.
    std::fs::copy(server.admin_key(), restored.join("data/admin.key"))?;
    let mut again = Killable::new(&restored, Path::new(&data), SETTINGS)?;
    again.loops = 2;
    again.start()?;
    let document = export(&again.api(), "ada")?;
    for list in ["devices", "sessions", "retained_messages", "jobs"] {
        assert_eq!(count(&document, list), 0, "{list}: {document}");
    }
    let other = export(&again.api(), "bob")?;
    let found = ["devices", "sessions", "retained_messages", "jobs"].map(|list| count(&other, list));
    assert_eq!(found, [1, 1, 1, 1], "{other}");
    let listed = accepted(again.api().read("/api/erasures")?)?;
    let repeated = &listed["erasures"][0]["receipt"];
    assert_eq!(repeated["receipt"]["after_restore"], true, "{listed}");
    assert_eq!(removed(repeated, "jobs"), 1, "{listed}");
    assert_eq!(count(&listed, "erasures"), 2);
    // A user of the same name who comes now is another one: the next start erases nothing.
    furnish((&again.api(), again.mqtt), "ada")?;
    again.kill()?;
    again.start()?;
    assert_eq!(count(&export(&again.api(), "ada")?, "devices"), 1);
    Ok(())
}
