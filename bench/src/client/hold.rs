//! Holds devices and reports when a push has reached all of them; many of these make a large fleet.
//!
//! Prints one line of JSON when all are connected, one for each push that every device got, and ends when
//! stdin does. Times are of the clock that all processes of the machine share.

use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::{Options, devices};
use crate::machine::shared_clock;
use crate::wire::{Incoming, Wire};

/// Connects, then counts deliveries until stdin ends.
pub(super) fn run<W: Wire>(wire: W, options: &Options) -> Result<Map<String, Value>> {
    static ENDED: AtomicBool = AtomicBool::new(false);
    let mut connections = devices::fleet(wire, options.address, &options.prefix, options.devices, 1)?;
    let connected = connections.connect_all(options.in_flight)?;
    println!("{}", json!({ "connected": options.devices, "seconds": connected.elapsed.as_secs_f64() }));
    std::thread::spawn(|| {
        // Whatever ends the read, the orchestrator is gone or done.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ENDED.store(true, Ordering::Relaxed);
    });
    let mut delivered = 0_usize;
    let mut first = Duration::ZERO;
    while !ENDED.load(Ordering::Relaxed) {
        let before = delivered;
        connections.turn(Duration::from_millis(100), |_, incoming, _| {
            if let Incoming::Delivery { .. } = incoming {
                delivered += 1;
            }
        })?;
        connections.check()?;
        if before == 0 && delivered > 0 {
            first = shared_clock()?;
        }
        if delivered >= options.devices {
            let last = shared_clock()?;
            println!("{}", json!({ "first_s": first.as_secs_f64(), "last_s": last.as_secs_f64() }));
            delivered -= options.devices;
        }
    }
    Ok(Map::new())
}
