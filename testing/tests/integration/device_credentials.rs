//! Device credentials and revocations at the door: MQTT over TCP and over WebSocket, in trial mode and without.
//!
//! Secrets are issued over HTTP, as an application would; the server's answers to a device are read
//! byte by byte.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::server::{Access, Plan, Server};
use stadium_testing::websocket::{WebSocket, opcode};
use stadium_testing::wire::{Connect, Kind, VERSIONS, Version};

/// Bad user name or password: MQTT 5.0, 3.2.2.2; 3.1.1, table 3.1.
const BAD_PASSWORD: [u8; 2] = [0x04, 0x86];
/// Banned; 3.1.1 has no word for it but "not authorised".
const BANNED: [u8; 2] = [0x05, 0x8A];
/// Not authorised.
const NOT_AUTHORISED: [u8; 2] = [0x05, 0x87];

/// Registers a device, and returns the secret that it was issued.
fn issue(api: &Api, app: &str, device: &str) -> Result<String> {
    let path = format!("/api/apps/{app}/devices/{device}");
    let (status, answer) = api.put(&path, &json!({}))?;
    ensure!(status < 300, "{status}: {answer}");
    let (status, answer) = api.post(&format!("{path}/credential"), &json!({}))?;
    ensure!(status == 201, "{status}: {answer}");
    Ok(answer["secret"].as_str().context("no secret")?.to_owned())
}

fn post(api: &Api, path: &str) -> Result<()> {
    let (status, answer) = api.post(path, &json!({}))?;
    ensure!(status == 204, "{status}: {answer}");
    Ok(())
}

fn showing(version: Version, id: &str, secret: Option<&str>) -> Connect {
    let login = secret.map(|secret| (id.to_owned(), secret.to_owned()));
    Connect { login, ..Connect::new(version, id) }
}

/// The reason in CONNACK; the connection goes with it.
fn answer(server: &Server, version: Version, id: &str, secret: Option<&str>) -> Result<u8> {
    let mut device = Device::dial(server.mqtt, version)?;
    device.send(&showing(version, id, secret).encode())?;
    Ok(device.expect(Kind::Connack)?.reason(version))
}

#[test]
fn a_device_that_has_a_credential_must_show_it_even_where_everybody_is_let_in() -> Result<()> {
    for access in [Access::Trial, Access::Settings] {
        let server = Server::start(Plan { access, ..Plan::default() })?;
        let api = server.api();
        ensure!(api.put("/api/apps/shop", &json!({}))?.0 < 300);
        let secret = issue(&api, "default", "phone-1")?;
        let of_shop = issue(&api, "shop", "phone-1")?;
        ensure!(secret != of_shop, "a secret is made for each device");
        for (place, version) in VERSIONS.into_iter().enumerate() {
            let ask = |id: &str, secret: Option<&str>| answer(&server, version, id, secret);
            ensure!(ask("phone-1", Some(&secret))? == 0, "{access:?}, {version:?}");
            // The app `default` need not be named, and may.
            ensure!(ask("default/phone-1", Some(&secret))? == 0, "{access:?}, {version:?}");
            ensure!(ask("shop/phone-1", Some(&of_shop))? == 0, "{access:?}, {version:?}");
            for (id, wrong) in [("phone-1", of_shop.as_str()), ("shop/phone-1", &secret), ("phone-1", "")] {
                ensure!(ask(id, Some(wrong))? == BAD_PASSWORD[place], "{access:?}, {version:?}, {id}");
            }
            ensure!(ask("phone-1", None)? == NOT_AUTHORISED[place], "{access:?}, {version:?}");
            let stranger = ask("phone-2", None)?;
            let expected = if access == Access::Trial { 0 } else { NOT_AUTHORISED[place] };
            ensure!(stranger == expected, "{access:?}, {version:?}: {stranger:#04x}");
        }
        // A secret that was issued anew takes the place of the old one.
        let newer = issue(&api, "default", "phone-1")?;
        ensure!(answer(&server, Version::V5, "phone-1", Some(&newer))? == 0);
        ensure!(answer(&server, Version::V5, "phone-1", Some(&secret))? == BAD_PASSWORD[1]);
    }
    Ok(())
}

#[test]
fn a_device_of_an_app_reads_its_inbox_under_the_usual_rules() -> Result<()> {
    let server = Server::start(Plan { access: Access::Settings, ..Plan::default() })?;
    let api = server.api();
    ensure!(api.put("/api/apps/shop", &json!({}))?.0 < 300);
    let secret = issue(&api, "shop", "phone-1")?;
    let mut phone = Device::connect(server.mqtt, &showing(Version::V5, "shop/phone-1", Some(&secret)))?;
    phone.subscribe(&["inbox/shop/phone-1", "channels/news"], 1)?;
    let push = json!({"audience": {"device": "phone-1"}, "message": "hello"});
    let (status, accepted) = api.post("/api/apps/shop/pushes", &push)?;
    ensure!(status < 300, "{status}: {accepted}");
    let received = phone.take()?;
    ensure!(received.topic == "inbox/shop/phone-1" && received.payload == b"hello", "{received:?}");
    for other in ["inbox/shop/phone-2", "inbox/shop/+", "inbox/shop/#", "inbox/shop"] {
        ensure!(phone.subscribe(&[other], 1).is_err(), "{other} is not its own");
    }
    Ok(())
}

#[test]
fn a_revoked_device_is_cut_and_stays_out_until_it_is_restored() -> Result<()> {
    for access in [Access::Trial, Access::Settings] {
        let server = Server::start(Plan { access, ..Plan::default() })?;
        let api = server.api();
        let secret = issue(&api, "default", "phone-1")?;
        for (place, version) in VERSIONS.into_iter().enumerate() {
            for reads_its_inbox in [true, false] {
                let mut phone = Device::connect(server.mqtt, &showing(version, "phone-1", Some(&secret)))?;
                if reads_its_inbox {
                    phone.subscribe(&["inbox/phone-1"], 1)?;
                }
                post(&api, "/api/apps/default/devices/phone-1/revoke")?;
                phone.end(PATIENCE).context("a revoked device is cut")?;
                // Only a device that proves who it is learns that it is revoked.
                for (secret, expected) in
                    [(Some(secret.as_str()), BANNED), (Some("wrong"), BAD_PASSWORD), (None, NOT_AUTHORISED)]
                {
                    let reason = answer(&server, version, "phone-1", secret)?;
                    ensure!(reason == expected[place], "{access:?}, {version:?}: {reason:#04x}");
                }
                post(&api, "/api/apps/default/devices/phone-1/restore")?;
                ensure!(answer(&server, version, "phone-1", Some(&secret))? == 0, "{access:?}, {version:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_device_that_never_had_a_credential_can_be_revoked_too() -> Result<()> {
    let server = Server::trial()?;
    let api = server.api();
    let mut phone = Device::clean(server.mqtt, Version::V5, "phone-9")?;
    phone.subscribe(&["inbox/phone-9"], 1)?;
    until_true(PATIENCE, "the device to be registered", || {
        Ok(api.read("/api/apps/default/devices/phone-9")?.0 == 200)
    })?;
    post(&api, "/api/apps/default/devices/phone-9/revoke")?;
    phone.end(PATIENCE).context("a revoked device is cut")?;
    ensure!(answer(&server, Version::V5, "phone-9", None)? == NOT_AUTHORISED[1]);
    ensure!(answer(&server, Version::V5, "phone-8", None)? == 0, "others come in as before");
    Ok(())
}

#[test]
fn websockets_are_asked_the_same() -> Result<()> {
    let server = Server::trial()?;
    let secret = issue(&server.api(), "default", "phone-1")?;
    for (shown, expected) in [(secret.as_str(), 0), ("wrong", BAD_PASSWORD[1])] {
        let mut socket = WebSocket::open(server.http, "/mqtt")?;
        socket.send(opcode::BINARY, &showing(Version::V5, "phone-1", Some(shown)).encode())?;
        let frame = socket.next_frame()?.context("an answer")?;
        ensure!(frame.payload.get(3) == Some(&expected), "{:02x?}", frame.payload);
    }
    Ok(())
}

#[test]
fn a_registry_that_is_off_keeps_nobody_out() -> Result<()> {
    let server = Server::with("[auth.registry]\nenabled = false\n")?;
    let api = server.api();
    let _ = issue(&api, "default", "phone-1")?;
    post(&api, "/api/apps/default/devices/phone-1/revoke")?;
    ensure!(answer(&server, Version::V5, "phone-1", Some("anything"))? == 0);
    Ok(())
}
