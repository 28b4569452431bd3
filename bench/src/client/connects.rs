//! Connects a second, each with CONNECT and two SUBSCRIBEs; then a storm: all cut, all back at once.
//!
//! The storm's time runs from the first reconnect to the last SUBACK, with every handshake in flight at
//! once. The server learns of the cut by a reset on each connection, while the herd is already back.

use anyhow::Result;
use serde_json::{Map, Value};

use super::{Mark, Options, crowd_of};
use crate::wire::Wire;

/// Connects all devices with `--in-flight` handshakes, cuts them, connects them all at once.
pub(super) fn run<W: Wire>(wire: W, options: &Options) -> Result<Map<String, Value>> {
    let mut crowd = crowd_of::devices(wire, options.address, &options.prefix, options.devices, 0)?;
    let mark = Mark::now(options)?;
    let connected = crowd.connect_all(options.in_flight)?;
    let spent = mark.spent(options)?;

    let mark = Mark::now(options)?;
    crowd.cut_all();
    let storm = crowd.connect_all(options.devices)?;
    let storm_spent = mark.spent(options)?;

    let devices = options.devices as f64;
    Ok(Map::from_iter([
        ("connects_per_s".to_owned(), Value::from(devices / connected.elapsed.as_secs_f64())),
        ("server_cpu_us_per_connect".to_owned(), Value::from(spent.server_cpu_s * 1e6 / devices)),
        ("client_busy".to_owned(), Value::from(spent.client_cpu_s / spent.seconds)),
        ("retries".to_owned(), Value::from(connected.retries + storm.retries)),
        ("storm_s".to_owned(), Value::from(storm.elapsed.as_secs_f64())),
        ("storm_with_cut_s".to_owned(), Value::from(storm_spent.seconds)),
    ]))
}
