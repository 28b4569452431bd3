//! Memory of registered devices, and on the way there, with as many as that row asks for, the counting of an audience.
//!
//! The figure is the server's resident memory with all of them, less that of the server with none.

use anyhow::{Result, bail};
use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::api::Api;
use super::devices::Audience;
use super::platform::Platform;
use super::register::register;
use super::sizes::Sizes;
use super::{Numbers, named};
use crate::machine;

/// Names of the measurements.
pub(super) const REGISTRY: &str = "registry";
pub(super) const AUDIENCE: &str = "audience";
/// A gigabyte.
const GIGABYTE: f64 = 1e9;

/// Registers all devices that are not there yet, and weighs them.
pub(super) fn take(platform: &Platform, sizes: &Sizes, already: u32, empty_bytes: u64) -> Result<Numbers> {
    let per_second = register(platform, already..sizes.registered.max(already))?;
    let devices = f64::from(sizes.registered.max(already));
    let bytes = machine::settled_resident_bytes(platform.server.pid())?.saturating_sub(empty_bytes) as f64;
    if bytes == 0.0 {
        bail!("the server has not grown");
    }
    Ok(named([
        ("bytes_each", bytes / devices),
        ("devices_per_gb", GIGABYTE * devices / bytes),
        ("registered_per_second", per_second),
        ("disk_bytes_each", platform.server.disk_bytes() as f64 / devices),
    ]))
}

/// Counts audiences over five tags among so many devices, one request after the other; each count must be right.
pub(super) fn count(platform: &Platform, sizes: &Sizes, devices: u32) -> Result<Numbers> {
    let expected = Audience::expected(devices);
    let mut api = Api::connect(platform)?;
    let mut took_us = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
    let mut call_us = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)?;
    for (_, variant) in (0..sizes.previews).zip((0..Audience::VARIANTS).cycle()) {
        let body = json!({ "audience": Audience { variant }.selector(), "sample": 0 }).to_string();
        let (preview, times) = api.ask("POST", "/api/apps/default/audiences/preview", &body)?;
        let number = |name: &str| preview.get(name).and_then(Value::as_u64);
        let counted = (number("devices"), number("matched"));
        let right = (Some(u64::from(devices)), Some(expected[usize::from(variant)]));
        if counted != right {
            bail!("an audience was counted as {counted:?}, and has {right:?} (devices, matched)");
        }
        let Some(took) = number("took_us") else { bail!("a preview without took_us: {preview}") };
        took_us.saturating_record(took);
        call_us.saturating_record(u64::try_from((times.answered - times.asked).as_micros())?);
    }
    let ms = |us: &Histogram<u64>, quantile| us.value_at_quantile(quantile) as f64 / 1e3;
    Ok(named([
        ("took_ms", ms(&took_us, 0.5)),
        ("took_p99_ms", ms(&took_us, 0.99)),
        ("call_ms", ms(&call_us, 0.5)),
        ("call_p99_ms", ms(&call_us, 0.99)),
        ("matched", expected[0] as f64),
    ]))
}
