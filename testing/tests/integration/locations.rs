//! Locations flow from a service that follows devices into the registry, and circles are asked there: a real geo-service and the
//! built binary, over a kill of the service.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until, until_true};
use stadium_testing::geo::{Event, Geo};
use stadium_testing::ports;
use stadium_testing::server::Server;

const LATITUDE: f64 = 52.52;
const LONGITUDE: f64 = 13.405;
const RADIUS_M: u32 = 500;

/// Metres of a degree of latitude.
const DEGREE_M: f64 = 111_195.0;

fn register(api: &Api, app: &str, devices: impl Iterator<Item = String>) -> Result<()> {
    let devices: Vec<Value> = devices.map(|device| json!({ "device": device })).collect();
    let (status, answer) = api.post(&format!("/api/apps/{app}/devices"), &json!({ "devices": devices }))?;
    ensure!(status == 200, "{status}: {answer}");
    Ok(())
}

fn circle() -> Value {
    json!({"location": {"latitude": LATITUDE, "longitude": LONGITUDE, "radius_m": RADIUS_M}})
}

/// How many devices of an app are within the circle.
fn within(api: &Api, app: &str) -> Result<u64> {
    let body = json!({ "audience": circle() });
    let (status, preview) = api.post(&format!("/api/apps/{app}/audiences/preview"), &body)?;
    ensure!(status == 200, "{status}: {preview}");
    preview["matched"].as_u64().with_context(|| format!("no count in {preview}"))
}

fn until_within(api: &Api, app: &str, expected: u64) -> Result<()> {
    let mut last = 0;
    until_true(PATIENCE, "the count of the circle", || {
        last = within(api, app)?;
        Ok(last == expected)
    })
    .with_context(|| format!("{last} devices of {app} are within, not {expected}"))
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// So many metres north of the centre.
fn store(geo: &mut Geo, device: &str, metres: f64) -> Result<()> {
    let latitude = LATITUDE + metres / DEGREE_M;
    geo.store(&Event { device, at_ms: now_ms(), latitude, longitude: LONGITUDE })
}

#[test]
fn a_circle_has_the_devices_that_the_service_has_seen_in_it_also_after_the_service_was_killed() -> Result<()>
{
    let address = ports::free()?;
    // The service is away when the server starts, which is ready all the same.
    let server = Server::with(&format!(
        "[discovery]\nbackend = \"static\"\nservices = [\"geo/1={address}\"]\n[shards]\ncount = 2\n\
         [push.locations]\nservice = \"geo\"\nbatch_ms = 20\n"
    ))?;
    let api = server.api();
    ensure!(api.put("/api/apps/shop", &json!({}))?.0 < 300);
    register(&api, "default", (0..30).map(|number| format!("phone-{number}")))?;
    register(&api, "shop", (0..5).map(|number| format!("till-{number}")))?;
    let mut geo = Geo::start(address)?;
    // 0, 40, 80 ... 1,160 m away: those up to 480 m are within.
    for number in 0..30 {
        store(&mut geo, &format!("phone-{number}"), f64::from(number) * 40.0)?;
    }
    for number in 0..5 {
        store(&mut geo, &format!("shop/till-{number}"), 10.0)?;
    }
    store(&mut geo, "stranger", 10.0)?;
    store(&mut geo, "no/such/device", 10.0)?;
    until_within(&api, "default", 13)?;
    until_within(&api, "shop", 5)?;
    for (outcome, expected) in [("moved", 35.0), ("unknown", 1.0), ("refused", 1.0)] {
        until_true(PATIENCE, outcome, || {
            Ok(api.metric("stadium_location_outcomes_total", outcome)? == expected)
        })?;
    }
    ensure!(within(&api, "default")? == 13, "strangers count for nobody");
    let (status, phone) = api.read("/api/apps/default/devices/phone-3")?;
    ensure!(status == 200 && phone["located_at"].is_string(), "{status}: {phone}");

    // Out of the circle, and into it.
    store(&mut geo, "phone-0", 5_000.0)?;
    until_within(&api, "default", 12)?;
    store(&mut geo, "phone-29", -100.0)?;
    until_within(&api, "default", 13)?;

    geo.kill()?;
    until_true(PATIENCE, "the source to be gone", || Ok(api.metric("stadium_location_sources", "")? == 0.0))?;
    ensure!(api.plain("/readyz")?.0 == 200 && within(&api, "default")? == 13);
    let mut geo = Geo::start(address)?;
    store(&mut geo, "phone-1", 5_000.0)?;
    until_within(&api, "default", 12)?;

    // A push to the circle reaches exactly those.
    let body = json!({"audience": circle(), "message": "hello"});
    let (status, push) = api.post("/api/apps/default/pushes", &body)?;
    ensure!(status == 202, "{status}: {push}");
    let path = format!("/api/apps/default/pushes/{}", push["id"].as_str().context("no id")?);
    // Each shard counts its own when it starts the push.
    let counts = until(PATIENCE, "the push to have started on all shards", || {
        let (_, report) = api.read(&path)?;
        Ok((report["counts"]["matched"] == 12).then(|| report["counts"].clone()))
    })?;
    ensure!(counts["owed"] == 12, "{counts}");
    Ok(())
}
