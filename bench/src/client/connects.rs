//! Connects a second, each with CONNECT and two SUBSCRIBEs; then a storm: all cut, all back at once.
//!
//! The storm's time runs from the first reconnect to the last SUBACK, with every handshake in flight at
//! once. The server learns of the cut by a reset on each connection, while the herd is already back.

use anyhow::Result;
use serde_json::{Map, Value};

use super::{Mark, Options, devices};
use crate::wire::Wire;

/// Connects all devices with `--in-flight` handshakes, cuts them, connects them all at once.
pub(super) fn run<W: Wire>(wire: W, options: &Options) -> Result<Map<String, Value>> {
    let mut connections = devices::fleet(wire, options.address, &options.prefix, options.devices, 0)?;
    let mark = Mark::now(options)?;
    let connected = connections.connect_all(options.in_flight)?;
    let spent = mark.spent(options)?;

    let devices = options.devices as f64;
    let mut result = Map::from_iter([
        ("connects_per_s".to_owned(), Value::from(devices / connected.elapsed.as_secs_f64())),
        ("server_cpu_us_per_connect".to_owned(), Value::from(spent.server_cpu_s * 1e6 / devices)),
        ("client_busy".to_owned(), Value::from(spent.client_cpu_s / spent.seconds)),
    ]);
    connections.cut_all();
    match connections.connect_all(options.devices) {
        Ok(storm) => {
            result.insert("storm_s".to_owned(), Value::from(storm.elapsed.as_secs_f64()));
            result.insert("retries".to_owned(), Value::from(connected.retries + storm.retries));
        }
        // A server that does not come through a storm has still answered the connects.
        Err(error) => eprintln!("    storm failed: {error:#}"),
    }
    Ok(result)
}
