//! HTTPS pushes to single devices, each durable when it is answered: kept connections with one request under way on each.
//!
//! Taken with the server on one core and the client on the other, then with both on both. Afterwards some of the pushes are looked
//! for. The limit is the same client against a [responder](super::responder) that does nothing but TLS.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::api::Api;
use super::devices;
use super::load::{Load, Target};
use super::phones::notification;
use super::platform::Platform;
use super::sizes::Sizes;
use super::{Numbers, named};
use crate::machine;
use crate::process::{Cores, Owned, Pinned, lines};
use crate::server::free_address;
use crate::services::Start;
use crate::tls::{Identity, trusting};

/// Names of the measurements: server and client on a core each, both on both, and there each push to
/// [`BATCH`] devices.
pub(super) const NAME: &str = "ingress";
pub(super) const SHARED: &str = "ingress-both-cores";
pub(super) const BATCHES: &str = "ingress-batches";
/// Devices of a push of [`BATCHES`].
pub(super) const BATCH: u64 = 100;
/// Pushes before those that are counted.
const WARM: Duration = Duration::from_secs(1);
/// Pushes that are looked for.
const LOOKS: u64 = 50;
/// Time for the responder to listen.
const LISTEN_MAX: Duration = Duration::from_secs(10);

/// Where the two sides run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// The server on core 0, the client on core 1.
    Apart,
    /// Both on both.
    Together,
    /// The same, each push to [`BATCH`] devices.
    Batches,
}

impl Split {
    fn cores(self) -> (Cores, Cores) {
        match self {
            Self::Apart => (Cores::First, Cores::Second),
            Self::Together | Self::Batches => (Cores::Both, Cores::Both),
        }
    }

    /// Devices of each push.
    fn devices(self) -> u64 {
        match self {
            Self::Apart | Self::Together => 1,
            Self::Batches => BATCH,
        }
    }

    /// First digits of the ids of its pushes.
    fn ids(self) -> u64 {
        0x0190_a1b2_c3d4_7000 + self as u64
    }
}

/// Pushes to devices that are registered.
pub(super) fn take(platform: &Platform, sizes: &Sizes, split: Split) -> Result<Numbers> {
    let (server, client) = split.cores();
    platform.move_to(server)?;
    let pinned = Pinned::to(client)?;
    let (numbers, pushes) = measure(&platform.target(), Some(platform.server.pid()), sizes, split)?;
    drop(pinned);
    platform.move_to(Cores::Both)?;
    let mut api = Api::connect(platform)?;
    for number in (0..pushes).step_by(usize::try_from(pushes.div_ceil(LOOKS))?) {
        let found = api.look(&format!("/api/apps/default/pushes/{}", id(split, number)))?;
        let targeted = found["counts"]["targeted"].as_u64();
        if targeted != Some(split.devices()) {
            bail!("an accepted push has {targeted:?} devices: {found}");
        }
    }
    Ok(numbers)
}

/// The same load on the bare responder.
pub(super) fn limit(start: &Start<'_>, sizes: &Sizes) -> Result<Numbers> {
    let folder = start.folder("bare-tls", 0)?;
    let (certificate, key) = Identity::generate()?.write(&folder.0)?;
    let address: SocketAddr = free_address()?;
    let mut command = Cores::First.command(&start.places.bench);
    command.args(["bare-tls", "--address", &address.to_string(), "--certificate"]);
    command.arg(&certificate).arg("--key").arg(&key);
    let mut responder = Owned::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    lines(&mut responder)?.recv_timeout(LISTEN_MAX).context("the responder does not listen")?;
    let _pinned = Pinned::to(Cores::Second)?;
    let target = Target { address, key: "none", tls: Some(trusting(&certificate)?) };
    measure(&target, Some(responder.pid()), sizes, Split::Apart).map(|(numbers, _)| numbers)
}

/// A push's id.
fn id(split: Split, number: u64) -> String {
    format!("{:016x}{number:016x}", split.ids())
}

/// Pushes for the time of the row; returns the numbers, and how many pushes there are now.
fn measure(target: &Target<'_>, server: Option<u32>, sizes: &Sizes, split: Split) -> Result<(Numbers, u64)> {
    let mut load = Load::connect(target, sizes.connections)?;
    let mut number = 0;
    run(&mut load, sizes, split, &mut number, WARM)?;
    let (warm, again) = (number, load.again);
    load.answer_us.reset();
    let server_cpu = || server.map_or(Ok(Duration::ZERO), machine::cpu_time);
    let (cpu, of_server, started) = (machine::own_cpu_time()?, server_cpu()?, Instant::now());
    run(&mut load, sizes, split, &mut number, Duration::from_secs_f64(sizes.seconds))?;
    let elapsed = started.elapsed().as_secs_f64();
    let pushes = (number - warm) as f64;
    let ms = |quantile| load.answer_us.value_at_quantile(quantile) as f64 / 1e3;
    let numbers = named([
        ("per_second", pushes / elapsed),
        ("devices_per_second", pushes * split.devices() as f64 / elapsed),
        ("p50_ms", ms(0.5)),
        ("p99_ms", ms(0.99)),
        ("again", (load.again - again) as f64),
        ("server_cpu_us_each", (server_cpu()? - of_server).as_secs_f64() * 1e6 / pushes),
        ("client_cpu", (machine::own_cpu_time()? - cpu).as_secs_f64() / elapsed),
    ]);
    Ok((numbers, number))
}

/// Pushes for so long; those that were sent are answered when it returns, each with 202.
fn run(load: &mut Load, sizes: &Sizes, split: Split, number: &mut u64, span: Duration) -> Result<()> {
    let until = Instant::now() + span;
    let what = notification(0);
    load.post(
        "/api/apps/default/pushes",
        || {
            if Instant::now() >= until {
                return None;
            }
            // Scattered, and none twice before all had their turn.
            let device = |turn: u64| devices::id((turn * 7_919 % u64::from(sizes.devices)) as u32);
            let each = split.devices();
            let audience = match each {
                1 => json!({ "device": device(*number) }),
                _ => json!({ "devices": (0..each).map(|turn| device(*number * each + turn)).collect::<Vec<_>>() }),
            };
            let body = json!({ "id": id(split, *number), "audience": audience, "notification": &what });
            *number += 1;
            Some(body.to_string())
        },
        |answer| {
            // One that was sent again after an answer to wait may have been taken the first time.
            if !matches!(answer.status, 200 | 202) || answer.body.is_empty() {
                bail!("a push was answered {}", answer.shown());
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::{Split, id};

    #[test]
    fn ids_are_32_digits_and_those_of_the_two_splits_never_meet() {
        assert_eq!(id(Split::Apart, 17).len(), 32);
        assert_ne!(id(Split::Apart, 17), id(Split::Together, 17));
    }
}
