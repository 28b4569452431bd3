//! Registers devices as an importing application would: batches of a thousand over several connections.

use std::ops::Range;
use std::time::Instant;

use anyhow::{Result, bail};
use serde::Deserialize;

use super::devices;
use super::load::Load;
use super::platform::Platform;

/// Devices of a request.
const BATCH: u32 = 1_000;
/// Connections, one request under way on each.
const CONNECTIONS: usize = 8;

#[derive(Deserialize)]
struct Report<'a> {
    #[serde(borrow)]
    results: Vec<Outcome<'a>>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(borrow)]
    status: Option<&'a str>,
    error: Option<serde_json::Value>,
}

/// Registers these devices; each must be new. Returns devices a second.
pub(super) fn register(platform: &Platform, devices: Range<u32>) -> Result<f64> {
    let started = Instant::now();
    let wanted = devices.len();
    let mut starts = devices.clone().step_by(BATCH as usize);
    let mut registered = 0;
    Load::connect(&platform.target(), CONNECTIONS)?.post(
        "/api/apps/default/devices",
        || {
            let first = starts.next()?;
            Some(devices::registration(first..devices.end.min(first + BATCH)))
        },
        |answer| {
            if answer.status != 200 {
                bail!("a registration was answered {}", answer.shown());
            }
            let report: Report<'_> = serde_json::from_slice(&answer.body)?;
            let is_new = |outcome: &&Outcome<'_>| outcome.status == Some("registered");
            if let Some(outcome) = report.results.iter().find(|outcome| !is_new(outcome)) {
                bail!("a device was not registered anew: {:?}, {:?}", outcome.status, outcome.error);
            }
            registered += report.results.len();
            Ok(())
        },
    )?;
    if registered != wanted {
        bail!("{registered} of {wanted} devices were registered");
    }
    Ok(wanted as f64 / started.elapsed().as_secs_f64())
}
