//! Simulated MQTT devices: a swarm over several processes, held by several brokers of ours, and what the swarm's own
//! processes need for each.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::peers::output;
use super::sizes::Sizes;
use crate::process::Cores;
use crate::services::Start;
use crate::services::stadium::Stadium;

pub(super) const NAME: &str = "devices";

/// Devices that arrive in a second.
const RATE: u32 = 2_000;

/// Connects all of them and holds them for some seconds.
pub(super) fn take(start: &Start<'_>, sizes: &Sizes) -> Result<Vec<(String, f64)>> {
    let brokers = (0..sizes.brokers)
        .map(|_| {
            let settings = vec!["server.loops=1".to_owned(), "shards.count=1".to_owned()];
            Stadium::start_for_devices(start, Cores::First, settings)
        })
        .collect::<Result<Vec<_>>>()?;
    let mut swarm = Cores::Second.command(Path::new(&start.places.stadium()));
    swarm.args(["--json", "load", "swarm", "--devices", &sizes.devices.to_string()]);
    swarm.args(["--rate", &RATE.to_string(), "--hold", "10s", "--subscribe", "inbox/{id}"]);
    for broker in &brokers {
        swarm.args(["--target", &broker.mqtt()?.to_string()]);
    }
    let report: Value = serde_json::from_str(&output(&mut swarm)?).context("the swarm's report")?;
    let number = |path: &str| {
        report.pointer(path).and_then(Value::as_f64).with_context(|| format!("no {path} in the report"))
    };
    let up = number("/at_end/up")?;
    ensure!(up >= f64::from(sizes.devices), "{up} of {} devices were connected at the end", sizes.devices);
    Ok([
        ("connected", up),
        ("bytes_each", number("/generator/memory_per_device")?),
        ("processes", number("/processes")?),
        ("connects_per_second", number("/connects_per_second")?),
        ("all_up_s", number("/all_up_s")?),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec())
}
