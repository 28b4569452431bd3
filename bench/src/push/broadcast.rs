//! A push to all registered devices, few of which are connected: the time to the first delivery, and how many records it costs.
//!
//! Acknowledgements are records too, so records are counted by a second push while nobody is connected.

use anyhow::{Result, bail};

use super::api::Api;
use super::lights::{HANDSHAKES, Taken, await_delivered, push_and_hear, push_to_all};
use super::phones::Phones;
use super::platform::Platform;
use super::sizes::Sizes;
use super::{Numbers, named};
use crate::process::{Cores, Pinned};

/// Name of the measurement.
pub(super) const NAME: &str = "broadcast";
/// Records appended to journals, by shard.
const RECORDS: &str = "stadium_journal_records_total";

/// Pushes to everybody. The devices are registered.
pub(super) fn take(platform: &Platform, sizes: &Sizes) -> Result<Numbers> {
    platform.move_to(Cores::First)?;
    let pinned = Pinned::to(Cores::Second)?;
    let apart = sizes.devices.div_ceil(sizes.connected);
    let connected = sizes.devices.div_ceil(apart);
    let mut phones = Phones::new(platform.server.mqtt()?, (0..sizes.devices).step_by(apart as usize))?;
    phones.connect(HANDSHAKES)?;
    let mut api = Api::connect(platform)?;
    let before = api.settled_metric(RECORDS)?;
    phones.expect(0, 1);
    let (push, times, heard) = push_and_hear(platform, &mut phones, 0)?;
    let view = await_delivered(platform, &push, u64::from(connected))?;
    let targeted = view["counts"]["targeted"].as_u64();
    if targeted != Some(u64::from(sizes.devices)) {
        bail!("the push has {targeted:?} devices instead of {}", sizes.devices);
    }
    let with_acknowledgements = api.settled_metric(RECORDS)? - before;

    phones.cut();
    let before = api.settled_metric(RECORDS)?;
    let (_, alone) = push_to_all(&mut api, 1)?;
    let records = api.settled_metric(RECORDS)? - before;
    drop(pinned);
    platform.move_to(Cores::Both)?;
    let mut numbers = Taken::numbers(&[Taken::of(times, heard)], connected);
    numbers.extend(named([
        ("records", records),
        ("records_acknowledged", with_acknowledgements),
        ("accepted_alone_ms", (alone.answered - alone.asked).as_secs_f64() * 1e3),
    ]));
    Ok(numbers)
}
