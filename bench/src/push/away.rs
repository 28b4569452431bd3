//! Devices that were away and come back all at once, each with messages in its inbox: until all of them have everything and have
//! acknowledged it.
//!
//! Measured twice: with pushes of their own for each, and with pushes to everybody. An acknowledged
//! message must not be repeated.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::api::Api;
use super::devices;
use super::lights::push_to_all;
use super::load::Load;
use super::phones::{Phones, notification};
use super::platform::Platform;
use super::sizes::Sizes;
use super::{Numbers, named};
use crate::process::{Cores, Pinned};

/// Name of the measurement with pushes to single devices, and with pushes to everybody.
pub(super) const NAME: &str = "return";
pub(super) const SHARED: &str = "shared-return";
/// Connections that fill the inboxes.
const CONNECTIONS: usize = 100;
/// Devices whose inboxes are looked at.
const LOOKS: u32 = 20;
/// What should not come has come by then.
const QUIET: Duration = Duration::from_millis(500);

/// Whose pushes are in the inboxes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owed {
    /// Each device's own.
    Single,
    /// The same ones, everybody's.
    Shared,
}

/// Fills the inboxes of all devices, which are registered and away; then has all come back.
pub(super) fn take(platform: &Platform, sizes: &Sizes, owed: Owed, from: u32) -> Result<Numbers> {
    let filled = Instant::now();
    match owed {
        Owed::Single => fill(platform, sizes, from)?,
        Owed::Shared => {
            let mut api = Api::connect(platform)?;
            for number in from..from + sizes.owed {
                push_to_all(&mut api, number)?;
            }
        }
    }
    let filled = filled.elapsed().as_secs_f64();
    look(platform, sizes, u64::from(sizes.owed))?;

    platform.move_to(Cores::First)?;
    let pinned = Pinned::to(Cores::Second)?;
    let mut phones = Phones::new(platform.server.mqtt()?, 0..sizes.connected)?;
    phones.expect(from, sizes.owed);
    let started = Instant::now();
    let retries = phones.connect(sizes.connected as usize)?;
    let connected = started.elapsed();
    let heard = phones.hear_all()?;
    drop(pinned);
    platform.move_to(Cores::Both)?;

    look(platform, sizes, 0)?;
    phones.cut();
    phones.expect(0, 0);
    phones.connect(super::lights::HANDSHAKES)?;
    phones.hear_nothing(QUIET).context("after everything was acknowledged")?;
    let messages = f64::from(sizes.connected) * f64::from(sizes.owed);
    Ok(named([
        ("all_s", (heard.last.max(started + connected) - started).as_secs_f64()),
        ("connected_s", connected.as_secs_f64()),
        ("first_s", (heard.first - started).as_secs_f64()),
        ("retries", retries as f64),
        ("filled_per_second", messages / filled),
    ]))
}

/// Pushes to single devices, so that each is owed its messages.
fn fill(platform: &Platform, sizes: &Sizes, from: u32) -> Result<()> {
    let mut wanted =
        (from..from + sizes.owed).flat_map(|number| (0..sizes.connected).map(move |device| (number, device)));
    Load::connect(&platform.target(), CONNECTIONS.min(sizes.connected as usize))?.post(
        "/api/apps/default/pushes",
        || {
            let (number, device) = wanted.next()?;
            let audience = json!({ "device": devices::id(device) });
            Some(json!({ "audience": audience, "notification": notification(number) }).to_string())
        },
        |answer| {
            if answer.status != 202 {
                bail!("a push was answered {}", answer.shown());
            }
            Ok(())
        },
    )
}

/// Waits until some of the devices are owed so many messages.
fn look(platform: &Platform, sizes: &Sizes, owed: u64) -> Result<()> {
    let mut api = Api::connect(platform)?;
    let apart = sizes.connected.div_ceil(LOOKS);
    for device in (0..sizes.connected).step_by(apart as usize) {
        let path = format!("/api/apps/default/devices/{}", devices::id(device));
        api.wait_until(&path, "an inbox as it must be", |shown| shown["owed"].as_u64() == Some(owed))?;
    }
    Ok(())
}
